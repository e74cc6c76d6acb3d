package ntttcp

import (
	"net/netip"
	"runtime"
	"testing"
	"time"

	"windtunnel/traffic"
)

// TestALobbyHasRoomForAnyTest: `ntttcp -s ADDR -P 64 -n 16 -l 10` of ntttcp-for-linux's help has 10240 connections, all of which stand
// before it says that it is ready.
func TestALobbyHasRoomForAnyTest(t *testing.T) {
	h := newHall(Server{}, traffic.ServerConfig{})
	if want := min(maxConnections, mostFiles()/2); h.lobby.most < want {
		t.Errorf("room for %d connections of %d", h.lobby.most, want)
	}
}

// TestALobbyOfOneTestHasAlmostAllFiles: 896 connections, as of `-P 16 -n 56`, work where a process may have 1024 files open (`ulimit -n`).
func TestALobbyOfOneTestHasAlmostAllFiles(t *testing.T) {
	one := &Test{Threads: make([]Thread, 16)}
	for files, want := range map[int]int{1024: 1024 - 2*16 - runtime.NumCPU() - 64, 100: 75, 1 << 20: maxConnections} {
		if most := mostGuests(files, one.otherFiles()); most < want {
			t.Errorf("of %d files %d are for connections, want %d", files, most, want)
		}
	}
}

// TestWhoMakesWayIsTold, and not for each of a flood.
func TestWhoMakesWayIsTold(t *testing.T) {
	l := newLobby(1)
	var told []netip.Addr
	l.crowded = func(out netip.Addr) {
		l.present() // as whoever is told may ask
		told = append(told, out)
	}
	for n := range byte(4) {
		ours, theirs := loopback(t)
		l.arrive(guest{conn: theirs, from: netip.AddrFrom4([4]byte{192, 0, 2, n}), came: time.Now()})
		defer ours.Close()
	}
	if len(told) != 1 || told[0] != netip.MustParseAddr("192.0.2.0") {
		t.Errorf("told of %v", told)
	}
	if left := l.present(); len(left) != 1 || left[0].from != netip.MustParseAddr("192.0.2.3") {
		t.Errorf("%v are left", left)
	}
	l.close()
}
