package ntttcp

import (
	"fmt"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"windtunnel/traffic"
)

// TestConnectionsGoWhereTheirThreadsAre: each CPU of -m has its own hot thread.
func TestConnectionsGoWhereTheirThreadsAre(t *testing.T) {
	test := &Test{Threads: []Thread{{CPU: 0}, {CPU: 1}, {CPU: -1}, {CPU: 0}}}
	conns := []dialled{{thread: 3}, {thread: 1}, {thread: 2}, {thread: 0}, {thread: 1}}
	var got [][]int
	for _, group := range test.byCPU(conns) {
		var threads []int
		for _, d := range group {
			threads = append(threads, d.thread)
		}
		got = append(got, threads)
	}
	if fmt.Sprint(got) != "[[0 3] [1 1] [2]]" {
		t.Errorf("grouped as %v", got)
	}
	if hot, cpus := test.hotThreads(2, 1), test.cpus(1); hot != 1 || !slices.Equal(cpus, []int{1}) {
		t.Errorf("CPU 1 has %d hot threads on %v", hot, cpus)
	}
	if cpus := test.cpus(-1); len(cpus) != 0 {
		t.Errorf("any CPU became %v", cpus)
	}
}

// TestNobodyJoinsAFleetThatHasHalted, and what comes is closed.
func TestNobodyJoinsAFleetThatHasHalted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	f := newFleet(&Test{Role: traffic.Receive, Message: 1000, Threads: []Thread{{CPU: -1}}})
	f.start()
	f.halt()
	if err := f.add([]dialled{{0, conn}}); err != nil || len(f.all()) != 0 {
		t.Errorf("%v: %d crews", err, len(f.all()))
	}
	if _, err := conn.Write([]byte("x")); err == nil {
		t.Error("the connection is open")
	}
	f.close()
}

// lateComers is a fleet that has started, with a receiver that lets anybody join it.
func lateComers(t *testing.T) (f *fleet, r *Receiver, join func() error) {
	t.Helper()
	r = &Receiver{test: &Test{Role: traffic.Receive, Message: 1000, Threads: []Thread{{CPU: -1}}}, lobby: newLobby(1)}
	f = newFleet(r.test)
	f.start()
	stop, left := make(chan struct{}), make(chan error, 1)
	go func() { left <- r.joinLate(f, anybody, stop) }()
	return f, r, func() error { close(stop); return <-left }
}

// TestLateConnectionsJoinOneByOne, however many, and have a thread each and no more.
func TestLateConnectionsJoinOneByOne(t *testing.T) {
	const many = 40
	f, r, join := lateComers(t)
	defer f.close()
	for n := range many {
		_, theirs := loopback(t)
		r.lobby.arrive(guest{conn: theirs})
		for limit := time.Now().Add(10 * time.Second); len(f.all()) <= n; time.Sleep(time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("of %d connections %d are in: %v", n+1, len(f.all()), join())
			}
		}
	}
	if err := join(); err != nil {
		t.Error(err)
	}
	if sum := f.count(); sum.flows != many || sum.spent.Threads != many {
		t.Errorf("%d connections have %d threads", sum.flows, sum.spent.Threads)
	}
}

// TestWhoComesLateHasTheThreadsThatAreLeft, one at least.
func TestWhoComesLateHasTheThreadsThatAreLeft(t *testing.T) {
	f, _, join := lateComers(t)
	defer f.close()
	defer join()
	for range 3 {
		var batch []dialled
		for range runtime.NumCPU() + 1 {
			_, theirs := loopback(t)
			batch = append(batch, dialled{0, theirs})
		}
		if err := f.add(batch); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.count().spent.Threads; n != runtime.NumCPU()+2 {
		t.Errorf("%d CPUs and 3 batches have %d threads", runtime.NumCPU(), n)
	}
}

// TestAFleetGathersLongerAsItsCrewsAreUsedUp: it has room for days, and for the first half it makes nobody wait.
func TestAFleetGathersLongerAsItsCrewsAreUsedUp(t *testing.T) {
	f := newFleet(&Test{})
	var sum time.Duration
	for range maxCrews {
		f.crews = append(f.crews, crew{})
		if pause := f.pause(); pause < lateBatch || len(f.crews) < maxCrews/2 && pause > lateBatch {
			t.Fatalf("%s with %d crews", pause, len(f.crews))
		}
		sum += f.pause()
	}
	if sum < 24*time.Hour {
		t.Errorf("the crews are used up after %s", sum)
	}
}

// TestWhoCouldNotJoinIsTold, by the report.
func TestWhoCouldNotJoinIsTold(t *testing.T) {
	f, r, join := lateComers(t)
	f.mu.Lock()
	f.crews, f.latest = make([]crew, maxCrews), time.Time{}
	f.mu.Unlock()
	ours, theirs := loopback(t)
	r.lobby.arrive(guest{conn: theirs})
	closed(t, "one too many", ours)
	if join() == nil {
		t.Error("nobody is missing")
	}
}
