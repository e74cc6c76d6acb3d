package vrouter_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"hash"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// churnRate is how many routes change a second, in so many requests.
const (
	churnRate     = 10_000
	churnRequests = 50
)

// churnTime is a few seconds; CHURN=30s makes it longer.
func churnTime(t *testing.T) time.Duration {
	text := os.Getenv("CHURN")
	if text == "" {
		return 3 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("CHURN: %v", err)
	}
	return d
}

// preload gives a node so many routes more, to addresses where the stream is not; ROUTES=1000000 is for
// a soak.
func preload(t *testing.T, n *node, count int, via config.Via) {
	random, begin := rand.New(rand.NewPCG(3, 4)), time.Now()
	for sent := 0; sent < count; {
		var changes []config.Change
		for range min(20_000, count-sent) {
			address := netip.AddrFrom4([4]byte{byte(11 + random.IntN(200)), byte(random.IntN(256)), byte(random.IntN(256)), byte(random.IntN(256))})
			prefix, _ := address.Prefix(16 + random.IntN(17))
			changes = append(changes, config.Change{Network: "network1", Prefix: prefix, Via: &via})
		}
		if err := n.changeRoutes(changes); err != nil {
			t.Fatalf("after %d routes: %v", sent, err)
		}
		sent += len(changes)
	}
	t.Logf("%d routes were added in %v", count, time.Since(begin).Round(time.Millisecond))
}

func routesBefore(t *testing.T) int {
	count, err := strconv.Atoi(cmp.Or(os.Getenv("ROUTES"), "10000"))
	if err != nil {
		t.Fatalf("ROUTES: %v", err)
	}
	return count
}

// TestRouteChurn: while 10,000 routes change a second, beside, above and below the one that a TCP stream
// takes, and that one itself, and the daemon is killed and started again, no packet of the stream is lost to
// the tables, nor is a byte of it, and its sender has nothing to send again but what a link lost.
func TestRouteChurn(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.a.config.Limits.Routes = 100_000 + routesBefore(t)
	b.a.privateBPF()
	b.a.config.Name = ownName("churn")
	b.run2("", "--lease")
	defer b.a.deletes()
	preload(t, b.a, routesBefore(t), b.a.config.Routes[0].Via)
	gre := b.a.config.Routes[0].Via
	gre.Encapsulation = config.MPLSoGRE
	here := config.Change{Network: "network1", Prefix: b.a.config.Routes[0].Prefix, Via: &gre}
	b.a.Must("changing a route", b.a.changeRoutes([]config.Change{here}))
	lab.Await(t, "both tunnels are resolved", func() bool { return len(ask[control.Status](b.a, "status").Unresolved) == 0 })
	tcp(t, b.a1, b.b1, 1<<16) // the sender learns the way's MTU
	before, s := b.lost(), startStream(t, b.a1, b.b1)
	random, begin, done, restarts := rand.New(rand.NewPCG(1, 2)), time.Now(), 0, []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGKILL}
	for time.Since(begin) < churnTime(t) || len(restarts) > 0 {
		changes := churnChanges(random, b.a.config.Routes[0], gre)
		if err := b.a.changeRoutes(changes); err != nil {
			t.Fatalf("after %d changes: %v", done, err)
		}
		if done += len(changes); len(restarts) > 0 && time.Since(begin) > churnTime(t)/time.Duration(1+len(restarts)) {
			b.a.signal(restarts[0])
			b.a.run()
			restarts = restarts[1:]
		}
		time.Sleep(time.Until(begin.Add(time.Duration(done) * time.Second / churnRate)))
	}
	rate := float64(done) / time.Since(begin).Seconds()
	lost := func() int { return b.lost() - before }
	bytes, went := s.end(t, lost)
	if went.missed > lost() {
		t.Errorf("%+v, and the links lost %d", went, lost())
	}
	t.Logf("%.0f routes changed a second, beside %.1f Gbit/s", rate, float64(bytes)*8/1e9/time.Since(begin).Seconds())
	for _, n := range []*node{b.a, b.b} {
		if drops := n.addsUp().Drops; len(drops) != 0 {
			t.Errorf("%s dropped %v", n.config.Name, drops)
		}
	}
	b.a.signal(syscall.SIGTERM)
}

// churnChanges are changes at once: routes of all lengths that come, go, and lead elsewhere, nearly all
// of them to addresses that share their first bits with the stream's.
func churnChanges(random *rand.Rand, stream config.Route, other config.Via) []config.Change {
	ways := []config.Via{stream.Via, other}
	changes := []config.Change{{Network: stream.Network, Prefix: stream.Prefix, Via: &ways[random.IntN(2)]}}
	for len(changes) < churnRate/churnRequests {
		address := netip.AddrFrom4([4]byte{10, byte(random.IntN(2)), byte(random.IntN(64)), byte(random.IntN(256))})
		prefix, _ := address.Prefix(random.IntN(33))
		if prefix.IsSingleIP() && stream.Prefix.Addr().As4()[2] == address.As4()[2] {
			continue // ports, the gateway and the stream itself are here
		}
		change := config.Change{Network: stream.Network, Prefix: prefix, Via: &ways[random.IntN(2)]}
		if random.IntN(3) == 0 {
			change.Via, change.Remove = nil, true
		}
		changes = append(changes, change)
	}
	return changes
}

// A stream is TCP as fast as it goes, from one container to another, until it is ended.
type stream struct {
	conn     net.Conn
	came     *lab.Payload
	stop     chan struct{}
	sent     chan error
	sentSum  hash.Hash
	bytes    int
	received chan [32]byte
}

func startStream(t *testing.T, from, to *container) *stream {
	t.Helper()
	s := &stream{came: lab.NewPayload(to.Namespace), stop: make(chan struct{}), sent: make(chan error, 1), sentSum: sha256.New(), received: make(chan [32]byte, 1)}
	var listener net.Listener
	to.Do(func() (err error) {
		listener, err = net.Listen("tcp4", to.address.String()+":0")
		return err
	})
	go func() {
		defer listener.Close()
		h := sha256.New()
		if err := receive(listener, h); err != nil {
			s.received <- [32]byte{}
			return
		}
		s.received <- [32]byte(h.Sum(nil))
	}()
	from.Do(func() (err error) {
		s.conn, err = (&net.Dialer{Timeout: patience, Control: cubic}).DialContext(context.Background(), "tcp4", listener.Addr().String())
		return err
	})
	go func() { s.sent <- s.send() }()
	return s
}

func (s *stream) send() error {
	random, buffer := rand.NewChaCha8([32]byte{1}), make([]byte, 1<<18)
	for {
		select {
		case <-s.stop:
			return nil
		default:
		}
		random.Read(buffer)
		s.sentSum.Write(buffer)
		s.conn.SetDeadline(time.Now().Add(patience))
		if _, err := s.conn.Write(buffer); err != nil {
			return err
		}
		s.bytes += len(buffer)
	}
}

// end stops the stream, checks that it arrived as it was sent, and tells its bytes and how it went.
func (s *stream) end(t *testing.T, lost func() int) (int, sent) {
	t.Helper()
	defer s.conn.Close()
	close(s.stop)
	if err := <-s.sent; err != nil {
		t.Fatalf("sending over TCP: %v", err)
	}
	went := counted(t, s.conn, s.came, lost)
	s.conn.(*net.TCPConn).CloseWrite()
	if sum := <-s.received; sum != [32]byte(s.sentSum.Sum(nil)) {
		t.Error("TCP delivered other bytes than were sent")
	}
	return s.bytes, went
}
