package ntttcp

import (
	"fmt"
	"net"
	"slices"
	"testing"

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
