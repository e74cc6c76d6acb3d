package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"windtunnel/traffic/ntttcp"
)

// freeBase is a first port such that sync, data and token ports were free a
// moment ago. They lie above those of the tests of ntttcp, which run beside these.
func freeBase(t *testing.T) string {
	t.Helper()
	for base := 21001 + int(time.Now().UnixNano()/1000%7000); base < 31000; base += 11 {
		if free(base-1) && free(base) && free(base+1) && free(base+1000) && free(base+1001) {
			return strconv.Itoa(base)
		}
	}
	t.Fatal("no free ports")
	return ""
}

func free(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		l.Close()
	}
	return err == nil
}

// end is one end's run.
type end struct {
	code      int
	out, errs bytes.Buffer
	listens   chan struct{} // closed when ntttcp-for-linux's receiver says so
}

// Write takes the tool's output.
func (e *end) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("threads created")) {
		close(e.listens)
	}
	return e.out.Write(b)
}

// runEnds runs a receiver and a sender. Windows' sender may come first: it tries
// again. ntttcp-for-linux's waits here for the receiver.
func runEnds(t *testing.T, receive, send string) (r, s *end) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	r, s = &end{listens: make(chan struct{})}, &end{listens: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.code = Run(ctx, strings.Fields(receive), nil, r, &r.errs)
	}()
	if !strings.Contains(send, "-m ") {
		select {
		case <-r.listens:
		case <-ended:
		}
	}
	s.code = Run(ctx, strings.Fields(send), nil, s, &s.errs)
	<-ended
	if r.code != 0 || s.code != 0 {
		t.Fatalf("receiver %d:\n%s%s\nsender %d:\n%s%s", r.code, &r.out, &r.errs, s.code, &s.out, &s.errs)
	}
	return r, s
}

// totals is the first line of figures below the totals' title.
var totals = regexp.MustCompile(`(?m)^=+ =+ =+ =+\n\s*([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)$`)

func megabytes(t *testing.T, e *end) float64 { return total(t, e, 1) }
func realtime(t *testing.T, e *end) float64  { return total(t, e, 2) }

func total(t *testing.T, e *end, column int) float64 {
	t.Helper()
	found := totals.FindStringSubmatch(e.out.String())
	if found == nil {
		t.Fatalf("no totals:\n%s", &e.out)
	}
	n, err := strconv.ParseFloat(found[column], 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPublishedCommandLinesRun runs the document's pairs as they stand, but for
// the address and, by flags behind them that win, the time and the port.
func TestPublishedCommandLinesRun(t *testing.T) {
	for _, pair := range [][2]string{
		{published[0], published[1]}, {published[2], published[3]}, {published[4], published[5]},
	} {
		t.Run(pair[0], func(t *testing.T) {
			port := freeBase(t)
			here := func(line string) string {
				return regexp.MustCompile(`172\.16\.0\.\d+`).ReplaceAllString(line, "127.0.0.1") + " -t 1 -p " + port
			}
			r, s := runEnds(t, here(pair[1]), here(pair[0]))
			sent, received := megabytes(t, s), megabytes(t, r)
			if sent == 0 || received > 1.5*sent || sent > 1.5*received {
				t.Errorf("sent %g MB, received %g", sent, received)
			}
			if strings.Contains(pair[0], "-a 2") && (!strings.Contains(s.errs.String(), "2 x 131072 bytes") || !strings.Contains(r.errs.String(), "-a 16")) {
				t.Errorf("-a is not explained:\n%s%s", &s.errs, &r.errs)
			}
		})
	}
}

func TestWindowsXMLFileInsteadOfTheTable(t *testing.T) {
	port, folder := freeBase(t), t.TempDir()
	path := filepath.Join(folder, "out.xml")
	os.WriteFile(path, []byte("older"), 0o644)
	r, s := runEnds(t, "-r -ns -m 1,*,127.0.0.1 1,*,127.0.0.1 -t 1 -p "+port, "-s -ns -m 2,*,127.0.0.1 -t 1 -p "+port+" -xml "+path)
	if strings.Contains(s.out.String(), "Totals") || !strings.Contains(r.out.String(), "#####  Totals:  #####") {
		t.Errorf("sender:\n%s\nreceiver:\n%s", &s.out, &r.out)
	}
	text, _ := os.ReadFile(path)
	older, _ := os.ReadFile(path + ".1")
	if !strings.HasPrefix(string(text), "<ntttcps ") || string(older) != "older" || !strings.Contains(s.errs.String(), "out.xml.1 now") {
		t.Errorf("%q, older %q, said %q", text, older, &s.errs)
	}
}

func TestLinuxFiles(t *testing.T) {
	port, folder := freeBase(t), t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	send := fmt.Sprintf("-s 127.0.0.1 -P 2 -n 1 -l 2 -t 1 -V -x%s -j %s -O%s -p %s", at("s.xml"), at("s.json"), at("s.log"), port)
	r, s := runEnds(t, "-r 127.0.0.1 -P 2 -t 1 -Q -p "+port, send)
	for _, want := range []string{"INFO: 4 connections created in", "INFO: Network activity progressing...", "INFO: #####  Totals:  #####", "tcpi rtt"} {
		if !strings.Contains(s.out.String(), want) {
			t.Errorf("no %q in\n%s", want, &s.out)
		}
	}
	if !strings.Contains(s.out.String(), "Real-time throughput: ") || strings.Contains(r.out.String(), "Real-time") {
		t.Errorf("-Q: sender\n%s\nreceiver\n%s", &s.out, &r.out)
	}
	xml, _ := os.ReadFile(at("s.xml"))
	text, _ := os.ReadFile(at("s.json"))
	log, _ := os.ReadFile(at("s.log"))
	if !bytes.HasPrefix(xml, []byte("<ntttcps ")) || !json.Valid(text) || !bytes.Contains(log, []byte("INFO: test duration\t:")) {
		t.Errorf("xml %q\njson %q\nlog %q", xml, text, log)
	}
}

func TestUDPBothTools(t *testing.T) {
	for name, c := range map[string][2]string{
		"windows":      {"-r -m 1,*,127.0.0.1 -u -l 1000 -t 1 -rb 1M", "-s -m 1,*,127.0.0.1 -u -l 1000 -thr 1000 -t 1"},
		"windows, cut": {"-r -m 1,*,127.0.0.1 -u -uro -l 14000 -t 1", "-s -m 1,*,127.0.0.1 -u -l 14000 -uso 1400 -thr 1000 -t 1"},
		"linux":        {"-r 127.0.0.1 -P 1 -u -t 1", "-s 127.0.0.1 -P 1 -n 1 -u -b 1000 -B 8M -t 1"},
	} {
		t.Run(name, func(t *testing.T) {
			port := freeBase(t)
			r, s := runEnds(t, c[0]+" -p "+port, c[1]+" -p "+port)
			if name != "linux" {
				if sent, received := megabytes(t, s), megabytes(t, r); received < sent/2 || sent == 0 || sent > 1.2*realtime(t, s) {
					t.Errorf("sent %g MB at 1000 KB/s, received %g", sent, received)
				}
			} else if !regexp.MustCompile(`throughput\t:[1-8]\.\d\dMbps`).MatchString(s.out.String()) {
				t.Errorf("at most 8 Mbit/s were asked for:\n%s", &s.out)
			}
		})
	}
}

// TestAFileThatCannotBeWrittenIsToldFirst, before the test whose figures would be lost.
func TestAFileThatCannotBeWrittenIsToldFirst(t *testing.T) {
	folder := t.TempDir()
	for args, says := range map[string]string{
		"-s -m 1,*,127.0.0.1 -t 1 -xml " + folder + "/no/such": "could not be written",
		"-s -m 1,*,127.0.0.1 -t 1 -xml " + folder:              "no plain file",
		"--as linux -s127.0.0.1 -t 1 -x" + folder + "/no/such": "could not be written",
		"--as linux -s127.0.0.1 -t 1 -j " + folder:             "no plain file",
		"-s -m 1,*,127.0.0.1 -u -l 1000 -uso 300 -n 10":        "take -l 900 or 1200",
		"-s -m 1,*,127.0.0.1 -u -l 200 -uso 300 -n 10":         "send: take -l 300\n",
	} {
		var out, errs bytes.Buffer
		if code := Run(t.Context(), strings.Fields(args), nil, &out, &errs); code == 0 || !strings.Contains(errs.String(), says) {
			t.Errorf("%q: exit %d, %q", args, code, &errs)
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestFewBuffersTellNoCPU: the clock of CPU time may not have ticked.
func TestFewBuffersTellNoCPU(t *testing.T) {
	port := freeBase(t)
	_, s := runEnds(t, "--as windows -r -m 1,*,127.0.0.1 -n 5 -p "+port, "--as windows -s -m 1,*,127.0.0.1 -n 5 -p "+port)
	if !strings.Contains(s.errs.String(), "CPU use and cycles a byte are no figures") {
		t.Errorf("%q", &s.errs)
	}
}

func TestExitCodes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for args, want := range map[string]int{
		"--help":                            0,
		"-h":                                0,
		"":                                  0,
		"-s -m 1,*,127.0.0.1":               2,
		"--as linux -s 127.0.0.1 -p 2 -t 1": 1,
		"--as linux -r 127.0.0.1 -P 1 -p " + freeBase(t): 130,
		"--as windows -r -m 1,*,192.0.2.1 -t 1":          1,
		"--as windows -r -m 1,*,127.0.0.1 -p 70000":      2,
		"--as windows -s -m 1,*,127.0.0.1 -l 32M":        2,
		"--as windows -s -m 1,8191,127.0.0.1":            2,
		"--as linux -r -p 65535":                         2,
	} {
		run := t.Context()
		if want == 130 {
			run = ctx
		}
		var out, errs bytes.Buffer
		if got := Run(run, strings.Fields(args), nil, &out, &errs); got != want {
			t.Errorf("%q: %d, want %d\n%s%s", args, got, want, &out, &errs)
		}
		if strings.Contains(args, "192.0.2.1") && !strings.Contains(errs.String(), "must be this machine's") {
			t.Errorf("%q says no next step: %s", args, &errs)
		}
	}
}

// TestAnInterruptInTheWarmUpIsNoFailure: there is nothing to report, and the code is the one of an interrupt.
func TestAnInterruptInTheWarmUpIsNoFailure(t *testing.T) {
	port := freeBase(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var receiving sync.WaitGroup
	var rOut, rErrs bytes.Buffer
	receiving.Go(func() {
		Run(ctx, strings.Fields("--as windows -r -ns -m 1,*,127.0.0.1 -t 1 -p "+port), nil, &rOut, &rErrs)
	})
	defer receiving.Wait()
	s := &end{listens: make(chan struct{})}
	time.AfterFunc(time.Second, cancel)
	if code := Run(ctx, strings.Fields("--as windows -s -ns -m 1,*,127.0.0.1 -wu 20 -t 1 -p "+port), nil, s, &s.errs); code != 130 {
		t.Errorf("%d\n%s%s", code, &s.out, &s.errs)
	}
	cancel()
}

// TestACutTestIsAFailure, whose figures are printed all the same: a gate must not take half a test for a whole one.
func TestACutTestIsAFailure(t *testing.T) {
	for _, args := range []string{"--as windows -s -ns -m 1,*,127.0.0.1 -t 20 -p ", "--as linux -s127.0.0.1 -N -t 20 -P 1 -n 1 -p "} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		go func() { // takes a megabyte and goes
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			io.CopyN(io.Discard, conn, 1<<20)
			conn.Close()
		}()
		var out, errs bytes.Buffer
		port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
		code := Run(t.Context(), strings.Fields(args+port), nil, &out, &errs)
		if code != 1 || !strings.Contains(errs.String(), "the test ended before its time") || !strings.Contains(strings.ToLower(out.String()), "throughput") {
			t.Errorf("%s: %d\n%s%s", args, code, &out, &errs)
		}
	}
}

// TestFiguresOfNotAllAreAFailure, beside them: of a part of the time, or of the connections.
func TestFiguresOfNotAllAreAFailure(t *testing.T) {
	for name, c := range map[string]struct {
		report ntttcp.Report
		fails  bool
	}{
		"all": {ntttcp.Report{}, false}, "cut": {ntttcp.Report{Cut: true}, true}, "missed": {ntttcp.Report{Missed: errInterrupted}, true},
	} {
		if err := cutShort(c.report); (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestFiguresThatNobodyCanReadAreAFailure, on the screen or in the log (-O); that nobody reads them is none.
func TestFiguresThatNobodyCanReadAreAFailure(t *testing.T) {
	var errs bytes.Buffer
	if code := Run(t.Context(), []string{"-h"}, nil, full{}, &errs); code != failed || !strings.Contains(errs.String(), "not all of the output could be written: no space left on device") {
		t.Errorf("exit code %d: %s", code, &errs)
	}
	r := linuxRun{out: io.Discard, now: wallClock, log: &shared{w: full{}}}
	r.info("total bytes")
	errs.Reset()
	if code := r.log.exit(done, "the log", &errs); code != failed || !strings.Contains(errs.String(), "not all of the log could be written: no space left on device") {
		t.Errorf("exit code %d: %s", code, &errs)
	}
	for name, s := range map[string]*shared{"no log": {}, "nobody reads": {w: leftPipe{}}} {
		io.WriteString(s, "total bytes")
		if code := s.exit(done, "it", &errs); code != done {
			t.Errorf("%s: exit code %d", name, code)
		}
	}
}

// leftPipe is one that nobody reads any more.
type leftPipe struct{}

func (leftPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// TestWhoHasNoWayIsNotAskedForItsAddress: only one that was asked for can be wrong.
func TestWhoHasNoWayIsNotAskedForItsAddress(t *testing.T) {
	for _, c := range []struct {
		dialling net.OpError
		asks     bool
	}{
		{net.OpError{Op: "dial", Net: "tcp6"}, false}, {net.OpError{Op: "dial", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}}, true},
		{net.OpError{Op: "listen", Net: "tcp"}, true},
	} {
		c.dialling.Err = os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)
		if says := explain(&c.dialling).Error(); strings.Contains(says, "must be this machine's") != c.asks {
			t.Error(says)
		}
	}
}
