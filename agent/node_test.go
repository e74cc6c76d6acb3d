//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"windtunnel/agent/proto"
	"windtunnel/testbed"
	"windtunnel/testbed/netns"
	"windtunnel/traffic"
)

// plain is a backend without testbeds: its workers run where the agent does.
type plain struct{}

func (plain) Place(context.Context, testbed.Graph) (map[string]string, error) { return nil, nil }
func (plain) Apply(context.Context, testbed.Graph, map[string]string) error   { return nil }
func (plain) Verify(context.Context, testbed.Graph) error                     { return nil }
func (plain) Restore(context.Context, string) error                           { return nil }
func (plain) Start(_, _ string, cmd *exec.Cmd) error                          { return cmd.Start() }
func (plain) Do(_, _ string, f func() error) error                            { return f() }
func (plain) Pull(_, _, _ string, _ bool) error                               { return nil }
func (plain) LetPoll(string) error                                            { return nil }
func (plain) Receivers(string) []int                                          { return nil }
func (plain) Rules(string) []netns.Rule                                       { return nil }
func (plain) Switches(string) []Switch                                        { return nil }
func (plain) Machines(string) []Machine                                       { return nil }
func (plain) Port(_, _ string) *traffic.Port                                  { return nil }
func (plain) Sysfs(_, _ string) string                                        { return "/sys" }
func (plain) Inside(_, _ string) Inside                                       { return nil }
func (plain) Found(context.Context, string) (string, error)                   { return "", nil }
func (plain) Close() error                                                    { return nil }

// TestMain lets this program be a worker, or something that only looks like one.
func TestMain(m *testing.M) {
	switch os.Getenv("AGENT_TEST_AS") {
	case "worker":
		if err := ServeWorker(context.Background(), os.Stdin, os.Stdout, "test", nil); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case "complainer":
		os.Stdout.Close()
		time.Sleep(50 * time.Millisecond)
		os.Stderr.WriteString("there is no more memory")
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// testProgram is the command that runs this program in another role.
func testProgram(t *testing.T, as string) []string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"env", "AGENT_TEST_AS=" + as, self}
}

// serveNode starts a node agent on pipes, with the graph of one cell applied.
func serveNode(t *testing.T) (p *peer, served <-chan error) {
	t.Helper()
	return serveOn(t, plain{})
}

func serveOn(t *testing.T, backend Backend) (p *peer, served <-chan error) {
	t.Helper()
	t.Parallel()
	toNode, fromUs := io.Pipe()
	toUs, fromNode := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- ServeNode(context.Background(), toNode, fromNode, NodeConfig{
			Name: "a", Dir: filepath.Join(t.TempDir(), "a"), Worker: testProgram(t, "worker"), Backend: backend})
		fromNode.Close()
	}()
	p, err := connect(toUs, fromUs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fromUs.Close(); <-p.ended })
	g := testbed.Graph{Cell: "A", Nodes: []testbed.Node{{Name: "a", CPUs: []int{0}}}}
	ask(t, p, proto.Request{Do: proto.DoApply, Graph: &g})
	return p, done
}

// TestAnAgentEndsWithoutAWord: a conductor that is stopped ends no stream, and
// its agents must not hold the testbed for ever.
func TestAnAgentEndsWithoutAWord(t *testing.T) {
	_, served := serveNode(t)
	select {
	case err := <-served:
		if err == nil || !strings.Contains(err.Error(), "no word from the conductor") {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(heartbeatLimit + 5*time.Second):
		t.Error("the agent stays")
	}
}

// slow is a backend that is not done with a cell until it is told to stop.
type slow struct {
	plain
	began chan struct{}
}

func (s slow) Apply(ctx context.Context, g testbed.Graph, _ map[string]string) error {
	if g.Cell != "slow" || len(g.Nodes) == 0 {
		return nil
	}
	close(s.began)
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestStopEndsABuilding: else the teardown would wait behind what nobody waits for any more.
func TestStopEndsABuilding(t *testing.T) {
	s := slow{began: make(chan struct{})}
	p, _ := serveOn(t, s)
	built := make(chan error, 1)
	go func() {
		_, err := p.ask(context.Background(), proto.Request{Do: proto.DoApply, Cell: "slow",
			Graph: &testbed.Graph{Cell: "slow", Nodes: []testbed.Node{{Name: "a", CPUs: []int{0}}}}})
		built <- err
	}()
	<-s.began
	ask(t, p, proto.Request{Do: proto.DoStop, Cell: "A"}) // another cell's
	select {
	case err := <-built:
		t.Errorf("the building of one cell ended with the stop of another: %v", err)
	default:
	}
	ask(t, p, proto.Request{Do: proto.DoStop, Cell: "slow"})
	ask(t, p, proto.Request{Do: proto.DoApply, Cell: "slow", Graph: &testbed.Graph{Cell: "slow"}})
	if err := <-built; err == nil || !strings.Contains(err.Error(), errStopped.Error()) {
		t.Errorf("it ended with %v", err)
	}
}

// TestAHangingWorkerIsReplaced stops a worker's process: the trial has no result
// of it, and the next one has a new worker.
func TestAHangingWorkerIsReplaced(t *testing.T) {
	p, _ := serveNode(t)
	prepare := proto.Request{Do: proto.DoPrepare, Cell: "A", Place: "a", Order: order(traffic.Receive, "127.0.0.1")}
	ask(t, p, prepare)
	for _, pid := range children(t) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	ask(t, p, proto.Request{Do: proto.DoStop, Cell: "A"})
	ask(t, p, prepare)
	if took := time.Since(began); took > workerPatience+3*time.Second {
		t.Errorf("it took %s", took)
	}
}

// children are the processes that this one has started.
func children(t *testing.T) []int {
	t.Helper()
	var pids []int
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		text, _ := os.ReadFile(path)
		var pid, parent int
		var name, state string // of this program, whose name has no space
		if _, err := fmt.Sscan(string(text), &pid, &name, &state, &parent); err == nil && parent == os.Getpid() {
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		t.Fatal("no worker was started")
	}
	return pids
}

func TestLastWordsAreNotLost(t *testing.T) {
	_, err := Spawn("a", testProgram(t, "complainer"))
	if err == nil || !strings.Contains(err.Error(), "there is no more memory") {
		t.Errorf("got %v", err)
	}
}

// TestAnAnswerTooLongIsAnAnswer: who asks hears of it, rather than wait.
func TestAnAnswerTooLongIsAnAnswer(t *testing.T) {
	var said strings.Builder
	stream := newLines(strings.NewReader(""), &said)
	if err := stream.reply(proto.Reply{ID: 7, Address: strings.Repeat("x", proto.MaxMessage)}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), `"id":7`) || !strings.Contains(said.String(), errTooLong.Error()) {
		t.Errorf("it said %.200q", said.String())
	}
}

func TestATeardownThatHangsIsGivenUp(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	err := within(time.Millisecond, "hanging", func() error { <-hang; return nil })
	if err == nil || !strings.Contains(err.Error(), "hanging took longer") {
		t.Errorf("got %v", err)
	}
	if err := within(time.Minute, "x", func() error { return io.EOF }); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}
