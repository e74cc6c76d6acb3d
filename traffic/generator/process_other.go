//go:build !linux

package generator

import (
	"errors"
	"os"
	"os/exec"
	"time"

	"windtunnel/result"
)

var errNotHere = errors.New("programs of others make loads on Linux only")

func confine(*exec.Cmd, []int) error { return errNotHere }

func kill(p *os.Process) error { return p.Kill() }

func awaitPort(*process, task, time.Duration) error { return errNotHere }

// watch reads nothing here.
type watch struct{}

type sight struct{}

func (watch) look() (sight, error)                       { return sight{}, errNotHere }
func (watch) fill(_ *result.PairEnd, _, _ sight, _ task) {}

func (watch) choose(string) error { return errNotHere }

func newWatch(*process, task, bool) watch { return watch{} }
