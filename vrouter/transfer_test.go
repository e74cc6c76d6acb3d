package vrouter_test

import (
	"context"
	"math"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// tcp sends so many random bytes and checks what arrived. It gives the size of the segments that the
// connection began with, in bytes of payload.
func tcp(t *testing.T, from, to *container, size int) (mss int) {
	t.Helper()
	return transfer(t, from, to, size, anyLoss).mss
}

// sent is how a connection went: what its sender sent, and what of that came.
type sent struct {
	mss    int // at the beginning, bytes of payload
	again  int // segments that were sent again
	missed int // that did not come, of all that were sent
}

// anyLoss is for transfers of which it does not matter what was lost on the way.
func anyLoss() int { return math.MaxInt }

// transfer is tcp, and looks at what was sent and what came.
func transfer(t *testing.T, from, to *container, size int, lost func() int) sent {
	t.Helper()
	var listener net.Listener
	to.Do(func() (err error) {
		listener, err = net.Listen("tcp", netip.AddrPortFrom(to.address, 0).String())
		return err
	})
	defer listener.Close()
	payload := randomBytes(size)
	left, received := expected(payload), make(chan error, 1)
	go func() { received <- receive(listener, &left) }()
	var conn *net.TCPConn
	from.Do(func() error {
		c, err := (&net.Dialer{Timeout: patience, Control: cubic}).DialContext(context.Background(), "tcp", listener.Addr().String())
		if err == nil {
			conn = c.(*net.TCPConn)
		}
		return err
	})
	defer conn.Close()
	mss, came := maxSegment(t, conn), lab.NewPayload(to.Namespace)
	conn.SetDeadline(time.Now().Add(4 * patience))
	if _, err := conn.Write(payload); err != nil {
		t.Fatalf("sending over TCP: %v", err)
	}
	s := counted(t, conn, came, lost)
	s.mss = mss
	conn.CloseWrite()
	select {
	case err := <-received:
		if err != nil || len(left) != 0 {
			t.Errorf("TCP delivered not what was sent: %v; %d bytes of %d did not come", err, len(left), size)
		}
	case <-time.After(4 * patience):
		t.Fatal("TCP did not deliver in time")
	}
	return s
}

// randomBytes are the same ones for each test, which reads them only: to make them takes longer than to send them.
func randomBytes(size int) []byte {
	most := payload()
	if size <= len(most) {
		return most[:size:size]
	}
	b := make([]byte, size)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

var payload = sync.OnceValue(func() []byte {
	b := make([]byte, bulk)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
})

// counted waits until all is acknowledged, and a moment longer if there is more missing than was lost: it may be
// on its way. Bytes are
// compared, which aggregates have as segments do: what TCP says of duplicates is less than there were, as a
// segment that was not lost is sent again when a busy machine lets a timer run out (RFC 8985, section 7),
// and one acknowledgement is for all that came joined. All was sent since the payload is counted.
func counted(t *testing.T, conn net.Conn, came *lab.Payload, lost func() int) (s sent) {
	t.Helper()
	var info *unix.TCPInfo
	lab.Await(t, "all is acknowledged", func() bool {
		info = tcpInfo(t, conn)
		return info.Unacked == 0 && info.Notsent_bytes == 0
	})
	for end := time.Now().Add(time.Second); ; time.Sleep(time.Millisecond) {
		mss, less := int(info.Snd_mss), int(info.Bytes_sent)-came.Bytes()
		s = sent{again: int(info.Total_retrans), missed: (less + mss - 1) / mss}
		switch {
		case less < 0:
			t.Errorf("%d bytes more came than were sent", -less)
			return s
		case s.missed <= lost() || time.Now().After(end):
			return s
		}
		info = tcpInfo(t, conn)
	}
}

func maxSegment(t *testing.T, conn net.Conn) (mss int) {
	t.Helper()
	return int(tcpInfo(t, conn).Snd_mss)
}

func tcpInfo(t *testing.T, conn net.Conn) (info *unix.TCPInfo) {
	t.Helper()
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err == nil {
		raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	}
	if err != nil {
		t.Fatalf("asking how the connection goes: %v", err)
	}
	return info
}

// bulk sends enough for aggregates of full size, and wants no segment to be sent again but those that a
// link lost and counted: a veth holds 256 packets (VETH_RING_SIZE) where its other end has GRO or XDP, and
// drops what comes beyond, unless it has a queue (Linux 6.16, commit dc82a33297fc).
func (b *bed) bulk(t *testing.T, from, to *container) {
	t.Helper()
	tcp(t, from, to, 1<<16) // the sender learns the way's MTU, at the cost of a segment
	before := b.lost()
	lost := func() int { return b.lost() - before }
	if s := transfer(t, from, to, bulk, lost); s.missed > lost() {
		t.Errorf("from %s to %s: %d segments did not come, %d were sent again, and links and queues lost %d", from.address, to.address, s.missed, s.again, lost())
	}
}

// lost is how many segments the links, the queues of poll mode, and the machine's CPUs have dropped until now,
// from some number on. What a CPU dropped counts among a link's as one packet, and may have been an aggregate.
func (b *bed) lost() (packets int) {
	b.a.t.Helper()
	packets = int(lab.Dropped(b.a.t)) * aggregate
	for _, n := range []*node{b.a, b.b} {
		if n != nil && slices.Contains(n.mode, control.ModePoll) {
			packets += n.lostInQueues()
		}
	}
	for _, n := range b.namespaces() {
		n.Do(func() error {
			links, err := netlink.LinkList()
			for _, l := range links {
				s := l.Attrs().Statistics
				packets += int(s.TxDropped + s.RxDropped)
			}
			return err
		})
	}
	return packets
}

// aggregate is how many segments one may have.
const aggregate = 1<<16/1280 + 1

// lostInQueues is what poll mode had no room for, on its way in and out. What was missed on the way in may
// have been aggregates.
func (n *node) lostInQueues() (segments int) {
	n.t.Helper()
	for _, d := range ask[[]control.Drop](n, "drops") {
		if d.Reason == "tx_full" || d.Reason == "no_buffers" {
			segments += int(d.Segments)
		}
	}
	for _, c := range ask[control.Status](n, "status").Poll.Cores {
		segments += int(c.Missed) * aggregate
	}
	return segments
}

// TestWireQueue: a wire that cuts aggregates into more packets than a veth holds loses none of them, and TCP
// sends none again, if it has a queue.
func TestWireQueue(t *testing.T) {
	lab.NeedLinux(t, 6, 16)
	for _, encapsulation := range encapsulations {
		t.Run(string(encapsulation), func(t *testing.T) {
			b := newBed(t, encapsulation).withIPv6()
			b.asNIC()
			for _, n := range []*node{b.a, b.b} {
				queue := netlink.QdiscAttrs{LinkIndex: n.Link("wire0").Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}
				n.Do(func() error { return netlink.QdiscAdd(&netlink.GenericQdisc{QdiscType: "pfifo", QdiscAttrs: queue}) })
			}
			b.run("--lease")
			before, full := b.lost(), lab.Dropped(t)
			for from, to := range map[*container]*container{b.a1: b.b1, b.b1.six(): b.a2.six()} {
				b.bulk(t, from, to)
			}
			if lost := b.lost() - before; lost != 0 && lab.Dropped(t) == full {
				t.Errorf("the links lost %d packets", lost)
			}
		})
	}
}
