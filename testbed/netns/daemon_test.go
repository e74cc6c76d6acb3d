package netns

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"windtunnel/testbed"
)

func TestFirstLineOverSeveralWrites(t *testing.T) {
	f := &firstLine{line: make(chan string, 1)}
	for _, part := range []string{`{"ready"`, ":true}\nmore", "\nand more\n"} {
		if n, err := f.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("wrote %d of %d: %v", n, len(part), err)
		}
	}
	if got := <-f.line; got != `{"ready":true}` {
		t.Errorf("first line %q", got)
	}
}

func TestFirstLineThatNeverEnds(t *testing.T) {
	f := &firstLine{line: make(chan string, 1)}
	for range 40 {
		f.Write([]byte(strings.Repeat("x", 4096)))
	}
	if got := <-f.line; len(got) > 80<<10 {
		t.Errorf("a first line of %d bytes was kept", len(got))
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var kept Tail
	for range 30 {
		kept.Write([]byte(strings.Repeat("x", 4<<10)))
	}
	kept.Write([]byte("the end"))
	if len(kept.text) > maxTail || !strings.HasSuffix(kept.Quoted(), "the end") {
		t.Errorf("kept %d bytes that end in %q", len(kept.text), kept.text[len(kept.text)-10:])
	}
}

// daemonGraph is one node with one daemon, played by this binary.
func daemonGraph(t *testing.T, role string, args ...string) testbed.Graph {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return testbed.Graph{
		Cell: "D", Nodes: []testbed.Node{{Name: "a", CPUs: []int{0}}},
		Daemons: []testbed.Daemon{{
			Name: "switch", Node: "a", Program: filepath.Base(own), Args: append([]string{role}, args...),
			Files: map[string]string{"config": "hello"}, Probe: "some", Socket: "{dir}/socket",
		}},
	}
}

func TestDaemonLivesWithItsCell(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	b, ctx := New("a", nil, dir), context.Background()
	defer b.Close()
	g := daemonGraph(t, "play-daemon", "{dir}/config")
	if err := b.Apply(ctx, g, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Verify(ctx, g); err != nil {
		t.Fatal(err)
	}
	if err := b.Ending(ctx, "D"); err != nil {
		t.Errorf("a daemon that lives ends: %v", err)
	}
	d := b.Daemons("D")[0]
	if d.Name != "switch" || d.Probe != "some" || d.Socket != d.Dir+"/socket" || !strings.HasPrefix(d.Dir, dir) {
		t.Errorf("%+v", d)
	}
	if info, err := os.Stat(d.Dir); err != nil || info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("the daemon's folder: %v %v", info, err)
	}
	if err := syscall.Kill(d.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := b.Ending(ctx, "D"); err == nil || !strings.Contains(err.Error(), "switch has ended (signal: killed)") {
		t.Errorf("a daemon that was killed a moment ago: %v", err)
	}
	if err := b.Verify(ctx, g); err == nil || !strings.Contains(err.Error(), "switch has ended") {
		t.Errorf("Verify with a dead daemon: %v", err)
	}
	if err := b.Restore(ctx, "D"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(d.Dir); err == nil {
		t.Error("the daemon's folder is left")
	}
}

func TestDaemonThatFails(t *testing.T) {
	needRoot(t)
	b := New("a", nil, t.TempDir())
	defer b.Close()
	err := b.Apply(context.Background(), daemonGraph(t, "play-broken"), nil)
	if err == nil || !strings.Contains(err.Error(), "no luck today") {
		t.Errorf("a daemon that fails: %v", err)
	}
	if len(b.cells) != 0 {
		t.Error("the cell still stands")
	}
}

func TestDaemonThatIsMissing(t *testing.T) {
	needRoot(t)
	b := New("a", nil, t.TempDir())
	defer b.Close()
	g := daemonGraph(t, "")
	g.Daemons[0].Program = "no-such-program"
	if err := b.Apply(context.Background(), g, nil); err == nil || !strings.Contains(err.Error(), "no-such-program is neither") {
		t.Errorf("a program that is missing: %v", err)
	}
}

func TestStubbornDaemonIsKilled(t *testing.T) {
	needRoot(t)
	b, ctx := New("a", nil, t.TempDir()), context.Background()
	defer b.Close()
	if err := b.Apply(ctx, daemonGraph(t, "play-stubborn"), nil); err != nil {
		t.Fatal(err)
	}
	pid := b.Daemons("D")[0].PID
	if err := b.Restore(ctx, "D"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("process %d: %v", pid, err)
	}
}

func TestInterruptedWhileADaemonStarts(t *testing.T) {
	needRoot(t)
	b := New("a", nil, t.TempDir())
	defer b.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	err := b.Apply(ctx, daemonGraph(t, "play-silent"), nil)
	if !errors.Is(err, context.DeadlineExceeded) || len(b.cells) != 0 {
		t.Errorf("%v, %d cells stand", err, len(b.cells))
	}
}
