//go:build unix

package command

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"windtunnel/traffic/iperf3"
)

// unable is the port on which the test's daemon cannot listen.
const unable = 9

// TestMain is the program that -D starts again, when it is called as that.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "iperf3" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	e := engine{serve: func(ctx context.Context, o iperf3.ServerOptions, _ func(uint64, string) iperf3.Observer) error {
		if o.Port == unable {
			return errors.New("the address is in use")
		}
		o.Ready("[::]:5201")
		<-ctx.Done()
		return nil
	}}
	os.Exit(e.command(ctx, os.Args[2:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}

func TestDaemon(t *testing.T) {
	pidfile := filepath.Join(t.TempDir(), "pid")
	var errs bytes.Buffer
	if code := Run(t.Context(), []string{"-sD", "-I", pidfile}, nil, &errs, &errs, nil); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	pid := readPid(pidfile)
	if pid == 0 || pid == os.Getpid() || !lives(pid) {
		t.Fatalf("no daemon: process %d of %s", pid, pidfile)
	}
	if session := sessionOf(t, pid); session != pid {
		t.Errorf("process %d is in session %d: it has not left the terminal", pid, session)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(pidfile); errors.Is(err, os.ErrNotExist) {
			return
		}
	}
	t.Errorf("process %d did not end with its signal", pid)
}

// sessionOf reads a process's session, the fourth number after its name.
func sessionOf(t *testing.T, pid int) int {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		t.Skipf("no /proc to look up the session: %v", err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	session, _ := strconv.Atoi(strings.Fields(after)[3])
	return session
}

func TestDaemonThatCannotListen(t *testing.T) {
	var errs bytes.Buffer
	code := Run(t.Context(), []string{"-s", "-D", "-p", strconv.Itoa(unable)}, nil, &errs, &errs, nil)
	if code != exitFailed || !strings.Contains(errs.String(), "the address is in use") {
		t.Errorf("exit %d: %s", code, errs.String())
	}
	errs.Reset()
	code = Run(t.Context(), []string{"-s", "-D", "--logfile", filepath.Join(t.TempDir(), "no", "such")}, nil, &errs, &errs, nil)
	if code != exitFailed || !strings.Contains(errs.String(), "log file") {
		t.Errorf("exit %d: %s", code, errs.String())
	}
}
