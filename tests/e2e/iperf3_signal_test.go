//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/traffic/iperf3"
)

// TestIperf3EndsInOrder: with its terminal gone it says what there was, to the server
// too, and leaves no file of its process; where only its reader is gone it goes on.
func TestIperf3EndsInOrder(t *testing.T) {
	besideOthers(t)
	hangups := make(chan os.Signal, 1) // so that the program has the signal, too, where these tests run under nohup
	signal.Notify(hangups, unix.SIGHUP)
	defer signal.Stop(hangups)
	port, sessions := ourIperf3(t, iperf3.ServerOptions{})
	pidfile := filepath.Join(t.TempDir(), "pid")
	start := func(seconds string, errs io.Writer) (cmd *exec.Cmd, out io.ReadCloser) {
		cmd = exec.CommandContext(t.Context(), filepath.Join(bin, "windtunnel"), "iperf3", "-c", "127.0.0.1", "-p", port, "-t", seconds, "-b", "10M", "--pidfile", pidfile)
		cmd.Stderr = errs
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		return cmd, out
	}

	var errs bytes.Buffer
	cmd, out := start("60", &errs)
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "sec") {
	}
	cmd.Process.Signal(unix.SIGHUP)
	var rest strings.Builder
	for lines.Scan() {
		rest.WriteString(lines.Text() + "\n")
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(rest.String(), "sender") || !strings.Contains(errs.String(), "terminated by signal hangup") {
		t.Errorf("after SIGHUP: %v\n%s%s", err, rest.String(), errs.String())
	}
	if _, err := os.Stat(pidfile); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its file stays: %v", err)
	}
	cut := <-sessions
	<-cut.over
	if !errors.Is(cut.failed, iperf3.ErrClientTerminated) {
		t.Errorf("the server heard %v", cut.failed)
	}

	cmd, out = start("1", &errs)
	out.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("without a reader: %v", err)
	}
	if (<-sessions).result(t).Streams[0].Received.Bytes == 0 {
		t.Error("the server's test was cut short")
	}
}

// TestIperf3SaysWhoStoodStill: a program that is stopped for a while knows it, tells the other end, and both say that this was the limit.
func TestIperf3SaysWhoStoodStill(t *testing.T) {
	besideOthers(t)
	port, sessions := ourIperf3(t, iperf3.ServerOptions{})
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "windtunnel"), "iperf3", "-c", "127.0.0.1", "-p", port, "-t", "3", "-b", "50M", "--json-stream")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	stopped := false
	for lines := bufio.NewScanner(out); lines.Scan(); said.WriteString(lines.Text() + "\n") {
		if !stopped && strings.Contains(lines.Text(), `"event":"interval"`) {
			stopped = true
			time.Sleep(50 * time.Millisecond) // it waits for what is next, and does not write any more, which may take its time
			cmd.Process.Signal(unix.SIGSTOP)
			time.Sleep(time.Second)
			cmd.Process.Signal(unix.SIGCONT)
		}
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(said.String(), `"stood_seconds":`) || !strings.Contains(said.String(), `"verdict":"`+result.GeneratorLimited) {
		t.Errorf("%v: %s", err, said.String())
	}
	end := (<-sessions).result(t)
	if stood := end.RemoteStood.Seconds(); stood < 0.7 || stood > 2 || end.Limit.Verdict != result.GeneratorLimited {
		t.Errorf("the server says that the client stood still for %v s: %+v", stood, end.Limit)
	}
}
