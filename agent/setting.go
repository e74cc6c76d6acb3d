//go:build linux

package agent

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Setting is a file of the host's that was changed, and how.
type Setting struct {
	File string `json:"file"`
	Was  string `json:"was"`
	Set  string `json:"set"`
}

// undo puts the old value back, unless somebody has changed it since.
func (s Setting) undo() (changed bool, err error) {
	now, err := readSetting(s.File)
	if err != nil || now != s.Set {
		return false, err
	}
	if err := os.WriteFile(s.File, []byte(s.Was), 0o644); err != nil {
		return false, fmt.Errorf("putting %s back to %s: %w", s.File, s.Was, err)
	}
	return true, nil
}

func readSetting(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading a setting of the host: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// raise brings a number in a file up to least, if it is lower, and notes it in
// the journal first.
func (j *journal) raise(file string, least int) error {
	was, err := readSetting(file)
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(was); err != nil || n >= least {
		return err
	}
	s := Setting{File: file, Was: was, Set: strconv.Itoa(least)}
	if err := j.write(entry{Setting: s}); err != nil {
		return err
	}
	j.changed = append(j.changed, s)
	if err := os.WriteFile(file, []byte(s.Set), 0o644); err != nil {
		return fmt.Errorf("raising a setting of the host: %w", err)
	}
	return nil
}

// The queue of packets that another CPU hands over. A wire whose receive work is
// steered (RPS) uses it as its ring, and the kernel's 1000 packets are less than
// one stream has under way: the stream is then bound by what it loses there and
// by the pauses after, and no CPU is full. With room, raw was 1.9 times as fast as
// a bridge, and 1.4 times without.
const (
	backlogFile    = "/proc/sys/net/core/netdev_max_backlog"
	backlogPackets = 10000
)
