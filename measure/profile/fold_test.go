package profile

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"windtunnel/result"
)

const (
	inSend = 0xffffffff81000060
	inPush = 0xffffffff81000100 // where a call in tcp_sendmsg returns to, as well
	inVeth = 0xffffffffc0200010
)

// functions are by the addresses that the stacks below have.
var functions = func() map[uint64]string {
	named := map[uint64]string{inVeth: "veth_xmit", inVeth - 1: "veth_xmit", inPush: "tcp_push.isra.0", inPush - 1: "tcp_sendmsg", inSend: "tcp_sendmsg", inSend - 1: "tcp_sendmsg"}
	for i := range uint64(9000) {
		named[0x1000+i] = fmt.Sprint("function", i)
	}
	return named
}()

func TestStacksAreFolded(t *testing.T) {
	who := func(id int, thread string) process {
		return process{name: fmt.Sprint("p", id), whose: result.OfCell}
	}
	p := fold(result.Profile{WindowSeconds: 1, PeriodSeconds: 0.001, CPUs: []int{0}, Lost: 2}, []Seen{
		{Process: 1, Kernel: []uint64{inVeth, inPush}, Count: 5},
		{Process: 1, Kernel: []uint64{inSend}, Count: 1},
		{Process: 1, Kernel: []uint64{inPush, inSend}, Count: 3},
		{Process: 2, User: []uint64{0x1234, 0x5678}, Count: 4},
		{Process: 1, Count: 1},
		{Process: 2, Late: true, Count: 2},
	}, functions, who)
	want := []result.ProfileTask{
		{Name: "p1", Whose: result.OfCell, Frames: []result.ProfileFrame{{-1, 0, 1}, {-1, 1, 1}, {1, 2, 3}, {1, 3, 5}}},
		{Name: "p2", Whose: result.OfCell, Frames: []result.ProfileFrame{{-1, 4, 2}, {-1, 5, 4}}},
	}
	names := []string{result.UnknownFrame, "tcp_sendmsg", "tcp_push.isra.0", "veth_xmit", result.LateFrame, "user/" + result.UnknownFrame}
	if err := p.Check(); err != nil || p.Taken != 18 || p.Cut != 0 || !reflect.DeepEqual(p.Tasks, want) || !reflect.DeepEqual(p.Names, names) {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestManyStacksFitARecord: rare ones are shortened, none is lost.
func TestManyStacksFitARecord(t *testing.T) {
	var seen []Seen
	taken := uint64(0)
	for i := range 9000 {
		count := uint64(1 + i%7*i)
		taken += count
		seen = append(seen, Seen{Process: 1 + i, Kernel: []uint64{uint64(0x1000 + i), inVeth, inSend}, Count: count})
	}
	one := func(int, string) process { return process{name: "one", whose: result.OfCell} }
	each := func(id int, _ string) process { return process{name: fmt.Sprint(id), whose: result.OfOthers} }
	for name, who := range map[string]func(int, string) process{"one program": one, "many programs": each} {
		p := fold(result.Profile{WindowSeconds: 1e6, PeriodSeconds: 0.001, CPUs: []int{0}}, seen, functions, who)
		if err := p.Check(); err != nil || p.Taken != taken || p.Cut == 0 || p.Cut == p.Taken {
			t.Errorf("%s: %d taken, %d cut, %d tasks, %d names: %v", name, p.Taken, p.Cut, len(p.Tasks), len(p.Names), err)
		}
	}
}

func TestWhoseProcessesAre(t *testing.T) {
	own, err := Network()
	if err != nil {
		t.Skip("no network namespaces to tell apart: ", err)
	}
	self := os.Getpid()
	mounts, err := Mounts(self)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, here, receiver := newProcesses(Cell{}), newProcesses(Cell{Networks: map[uint64]bool{own: true}}), newProcesses(Cell{Tasks: map[int]bool{self: true}})
	contained := newProcesses(Cell{Mounts: map[uint64]bool{mounts: true}})
	for name, c := range map[string]struct {
		of    *processes
		id    int
		whose string
	}{
		"this program":             {elsewhere, self, result.OfUs},
		"one in the cell's stack":  {here, self, result.OfCell},
		"one in its container":     {contained, self, result.OfCell},
		"one that receives for it": {receiver, self, result.OfCell},
		"idle":                     {elsewhere, 0, result.OfIdle},
		"nobody":                   {elsewhere, 1 << 30, result.OfEnded},
	} {
		if got := c.of.of(c.id, "thread"); got.whose != c.whose || got.name == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestOurOwnFunctionsHaveNames(t *testing.T) {
	pc, _, _, _ := runtime.Caller(0)
	if got := userName(uint64(pc)); fixed() && !strings.Contains(got, "TestOurOwnFunctionsHaveNames") || !fixed() && got != "" {
		t.Errorf("%q", got)
	}
	if got := userName(0x10); got != "" {
		t.Errorf("%q", got)
	}
}
