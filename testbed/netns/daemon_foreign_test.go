package netns

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"windtunnel/testbed"
)

// play is a command that this binary plays.
func play(t *testing.T, role string, args ...string) testbed.Command {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return testbed.Command{Program: filepath.Base(own), Args: append([]string{role}, args...)}
}

// Two foreign programs: one is up by its socket, the other by what it says, and speaks
// of the first one's folder.
func foreignGraph(t *testing.T, notes string) testbed.Graph {
	t.Helper()
	g := daemonGraph(t, "play-listener", "{dir}/s")
	g.Daemons[0].Socket, g.Daemons[0].Up, g.Daemons[0].Ends = "", testbed.Up{Socket: "{dir}/s"}, testbed.EndsBySignal
	second := daemonGraph(t, "play-foreign", notes, "{dir:switch}/s").Daemons[0]
	second.Name, second.Up, second.Ends = "second", testbed.Up{Says: "all is well"}, testbed.EndsBySignal
	second.Environment = []string{"COLOUR=blue"}
	second.Before = []testbed.Command{play(t, "play-writer", "{dir}/log", "one"), play(t, "play-writer", "{dir}/log", "two")}
	second.After = []testbed.Command{play(t, "play-writer", "{dir}/log", "{dir:switch}")}
	g.Daemons = append(g.Daemons, second)
	return g
}

func TestForeignDaemons(t *testing.T) {
	needRoot(t)
	dir, ctx := t.TempDir(), context.Background()
	notes := filepath.Join(dir, "notes")
	b := New("a", nil, filepath.Join(dir, "b"))
	defer b.Close()
	if err := b.Apply(ctx, foreignGraph(t, notes), nil); err != nil {
		t.Fatal(err)
	}
	first, second := b.Daemons("D")[0], b.Daemons("D")[1]
	log, err := os.ReadFile(second.Dir + "/log")
	if want := "one blue\ntwo blue\n" + first.Dir + " blue\n"; err != nil || string(log) != want {
		t.Errorf("the commands left %q (%v), not %q", log, err, want)
	}
	said := b.cells["D"].daemons["second"].stderr.Quoted()
	if !strings.Contains(said, "well blue ["+notes+" "+first.Dir+"/s]") {
		t.Errorf("it was given %q", said)
	}
	began := time.Now()
	if err := b.Restore(ctx, "D"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > stopWithin {
		t.Errorf("it took %s to end what ends by a signal", took)
	}
	if text, err := os.ReadFile(notes); string(text) != "ended by a signal" {
		t.Errorf("the second left %q (%v)", text, err)
	}
}

// What polls in one cell does not do so while another has its turn, and ends all the same.
func TestOneCellPollsAtATime(t *testing.T) {
	needRoot(t)
	b, ctx := New("a", nil, t.TempDir()), context.Background()
	defer b.Close()
	for _, cell := range []string{"D", "E"} {
		g := foreignGraph(t, filepath.Join(t.TempDir(), "notes"))
		g.Cell, g.Daemons[1].Polls = cell, true
		if err := b.Apply(ctx, g, nil); err != nil {
			t.Fatal(err)
		}
	}
	stopped := func(cell string, daemon int) bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.Daemons(cell)[daemon].PID))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), ") T ")
	}
	for _, turn := range []string{"D", "E", "D"} {
		if err := b.LetPoll(turn); err != nil {
			t.Fatal(err)
		}
		for _, cell := range []string{"D", "E"} {
			err := await(ctx, 5*time.Second, func() error {
				if stopped(cell, 1) != (cell != turn) || stopped(cell, 0) {
					return fmt.Errorf("in the turn of %s: %s stopped %v, its other daemon %v", turn, cell, stopped(cell, 1), stopped(cell, 0))
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
	began := time.Now()
	if err := b.Restore(ctx, "E"); err != nil || time.Since(began) > stopWithin {
		t.Errorf("a stopped daemon took %s to end (%v)", time.Since(began), err)
	}
}

// Commands without a program are the settings of a switch in the kernel.
func TestCommandsAlone(t *testing.T) {
	needRoot(t)
	b, ctx, notes := New("a", nil, t.TempDir()), context.Background(), filepath.Join(t.TempDir(), "notes")
	defer b.Close()
	g := daemonGraph(t, "")
	g.Daemons[0] = testbed.Daemon{Name: "rules", Node: "a", Before: []testbed.Command{play(t, "play-writer", notes, "set")}}
	if err := b.Apply(ctx, g, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Verify(ctx, g); err != nil || len(b.Daemons("D")) != 0 {
		t.Errorf("%v, processes %v", err, b.Daemons("D"))
	}
	g.Nodes[0].CPUs = []int{1}
	if err := b.Apply(ctx, g, nil); err != nil {
		t.Errorf("pinning a node with commands alone: %v", err)
	}
	if err := b.Restore(ctx, "D"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(notes); string(text) != "set \n" {
		t.Errorf("the command left %q (%v)", text, err)
	}
}

func TestForeignDaemonsThatFail(t *testing.T) {
	needRoot(t)
	for name, c := range map[string]struct {
		spoil func(*testbed.Daemon)
		want  string
	}{
		"before":  {func(d *testbed.Daemon) { d.Before = append(d.Before, play(t, "play-broken")) }, "before second starts"},
		"after":   {func(d *testbed.Daemon) { d.After = []testbed.Command{play(t, "play-broken")} }, "no luck today"},
		"missing": {func(d *testbed.Daemon) { d.After[0].Program = "no-such-program" }, "no-such-program is neither"},
		"ended":   {func(d *testbed.Daemon) { d.Args = []string{"play-broken"} }, "no luck today"},
	} {
		t.Run(name, func(t *testing.T) {
			b := New("a", nil, t.TempDir())
			defer b.Close()
			g := foreignGraph(t, filepath.Join(t.TempDir(), "notes"))
			c.spoil(&g.Daemons[1])
			if err := b.Apply(context.Background(), g, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, not %q", err, c.want)
			}
			if len(b.cells) != 0 {
				t.Error("the cell still stands")
			}
		})
	}
}

func TestWaitedTextOverSeveralWrites(t *testing.T) {
	heard := make(chan string, 1)
	w := &waited{Writer: io.Discard, text: "Press enter to exit", heard: heard}
	for _, part := range []string{strings.Repeat("x", 4096), "\nPress ent", "er to", " exit\n", "Press enter to exit\n"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("wrote %d of %d: %v", n, len(part), err)
		}
	}
	if got := <-heard; got != "Press enter to exit" || len(heard) != 0 {
		t.Errorf("heard %q", got)
	}
}
