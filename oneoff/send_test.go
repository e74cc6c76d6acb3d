package oneoff

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"windtunnel/traffic/lobby"
)

// TestWhoseFaultAConnectionIs: a socket that could not be made, or set, says nothing of a port.
func TestWhoseFaultAConnectionIs(t *testing.T) {
	none, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	none.Close()
	_, refused := lobby.Dial(t.Context(), none.Addr().String(), 1, nil)
	_, unset := lobby.Dial(t.Context(), none.Addr().String(), 1, func(string, string, syscall.RawConn) error { return errors.New("it has no such option") })
	late := &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
	for what, c := range map[string]struct {
		err error
		may bool
	}{
		"a closed port":       {refused, true},
		"no answer":           {late, true},
		"no answer in time":   {context.DeadlineExceeded, true},
		"no descriptor":       {&net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}, false},
		"an option":           {unset, false},
		"something of a kind": {errors.New("the receiver already serves another sender"), false},
	} {
		if c.err == nil || (mayPass(fmt.Errorf("connecting: %w", c.err)) != "") != c.may {
			t.Errorf("%s (%v): %q", what, c.err, mayPass(c.err))
		}
	}
}

// TestAnInterruptionIsHeardToTheEnd: also by who waits for the result of a receiver that is silent. It went unheard for up to 20 s.
func TestAnInterruptionIsHeardToTheEnd(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	defer there.Close()
	heard := make(chan string, 1)
	go func() {
		line := make([]byte, 100)
		n, _ := there.Read(line)
		heard <- string(line[:n])
	}()
	ctx, cancel := context.WithCancel(t.Context())
	s := &sending{wire: newWire(here, longestReply)}
	r := &remote{wire: s.wire, broken: func(error) {}}
	var listening sync.WaitGroup
	listening.Go(r.listen)
	time.AfterFunc(100*time.Millisecond, cancel)
	began := time.Now()
	s.await(ctx, false, r, &listening)
	if took := time.Since(began); took > stopPatience+2*time.Second {
		t.Errorf("it took %s", took)
	}
	select {
	case line := <-heard:
		if !strings.Contains(line, doStop) {
			t.Errorf("the receiver heard %q", line)
		}
	default:
		t.Error("the receiver was not told to stop")
	}
}

// TestWhoHasNoWayIsToldThat, and not to look at a receiver that it cannot reach.
func TestWhoHasNoWayIsToldThat(t *testing.T) {
	refused := func(why syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", why)}
	}
	for why, says := range map[syscall.Errno]string{
		syscall.ENETUNREACH:   "no route there",
		syscall.EADDRNOTAVAIL: "no route there",
		syscall.ECONNREFUSED:  "is `windtunnel recv` running there",
		syscall.EHOSTUNREACH:  "is `windtunnel recv` running there", // which a firewall may say, too
	} {
		if hint := notReached(refused(why), 5210); !strings.Contains(hint, says) {
			t.Errorf("%v: %s", why, hint)
		}
	}
}
