package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"windtunnel/agent/proto"
	"windtunnel/traffic"
)

// The probe's sizes and patience.
const (
	probeBytes      = 256 << 10 // over TCP: several windows of full segments
	probeLife       = 30 * time.Second
	probeDeadline   = 5 * time.Second
	probeTries      = 10 // datagrams; the first may wait for address resolution
	probeTryTimeout = 300 * time.Millisecond
	ipAndUDPHeader  = 20 + 8
)

// runProbe opens the receiving end of a probe, or tries a path as its sending
// end.
func (w *worker) runProbe(ctx context.Context, ask proto.Request) proto.Reply {
	if ask.Probe == nil {
		return refuse("probe needs its role and address")
	}
	if ask.Probe.Port != nil {
		return w.probePort(ctx, *ask.Probe)
	}
	if ask.Probe.Role == traffic.Send {
		if err := tryPath(ctx, ask.Probe.Address, ask.Probe.MTU); err != nil {
			return refuse("%v", err)
		}
		return proto.Reply{}
	}
	server, err := openProbe(ask.Probe.Address)
	if err != nil {
		return refuse("opening the probe's sockets: %v", err)
	}
	w.keepProbe(server)
	return proto.Reply{Address: server.tcp.Addr().String()}
}

// keepProbe has one receiving end at a time.
func (w *worker) keepProbe(probe interface{ close() }) {
	w.mu.Lock()
	old := w.probe
	w.probe = probe
	w.mu.Unlock()
	if old != nil {
		old.close()
	}
}

// probeServer answers what it receives, over TCP and UDP on one port, with the
// SHA-256 of it: a payload that was damaged on the way shows at the sender.
type probeServer struct {
	tcp     *net.TCPListener
	udp     *net.UDPConn
	serving sync.WaitGroup
}

// openProbe listens at an IP, or at an IP:port where the caller wants the port.
func openProbe(address string) (*probeServer, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		ip, _ := netip.ParseAddr(address) // an address that is none is refused by the socket
		at = netip.AddrPortFrom(ip, 0)
	}
	tcp, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return nil, err
	}
	port := tcp.Addr().(*net.TCPAddr).Port
	udp, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(at.Addr(), uint16(port))))
	if err != nil {
		tcp.Close()
		return nil, err
	}
	s := &probeServer{tcp: tcp, udp: udp}
	end := time.Now().Add(probeLife)
	_ = tcp.SetDeadline(end)
	_ = udp.SetDeadline(end)
	s.serving.Go(s.serveTCP)
	s.serving.Go(s.serveUDP)
	return s, nil
}

func (s *probeServer) serveTCP() {
	for {
		conn, err := s.tcp.Accept()
		if err != nil {
			return
		}
		_ = conn.SetDeadline(time.Now().Add(probeDeadline))
		sum := sha256.New()
		if _, err := io.CopyN(sum, conn, probeBytes); err == nil {
			_, _ = conn.Write(sum.Sum(nil))
		}
		conn.Close()
	}
}

func (s *probeServer) serveUDP() {
	payload := make([]byte, 64<<10)
	for {
		n, from, err := s.udp.ReadFromUDP(payload)
		if err != nil {
			return
		}
		sum := sha256.Sum256(payload[:n])
		_, _ = s.udp.WriteToUDP(sum[:], from)
	}
}

func (s *probeServer) close() {
	s.tcp.Close()
	s.udp.Close()
	s.serving.Wait()
}

// tryPath checks that TCP and UDP payloads reach address unharmed, and that an
// IP packet of mtu bytes passes whole; without an mtu, TCP alone is tried.
func tryPath(ctx context.Context, address string, mtu int) error {
	if err := tryTCP(ctx, address); err != nil {
		return fmt.Errorf("TCP does not pass to %s: %w", address, err)
	}
	if mtu == 0 {
		return nil
	}
	if err := tryUDP(address, mtu-ipAndUDPHeader); err != nil {
		return fmt.Errorf("a UDP packet of the endpoint's MTU, %d bytes, does not pass to %s: %w", mtu, address, err)
	}
	return nil
}

func tryTCP(ctx context.Context, address string) error {
	dialer := net.Dialer{Timeout: probeDeadline}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(probeDeadline))
	payload := probePayload(probeBytes)
	if _, err := conn.Write(payload); err != nil {
		return err
	}
	return checkSum(conn, payload)
}

func tryUDP(address string, size int) error {
	conn, err := net.DialTimeout("udp", address, probeDeadline)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := neverFragment(conn.(*net.UDPConn)); err != nil {
		return err
	}
	payload := probePayload(size)
	for range probeTries {
		if err = exchange(conn, payload); err == nil || errors.Is(err, syscall.EMSGSIZE) {
			return err
		}
	}
	return err
}

func exchange(conn net.Conn, payload []byte) error {
	if _, err := conn.Write(payload); err != nil {
		return err
	}
	_ = conn.SetReadDeadline(time.Now().Add(probeTryTimeout))
	return checkSum(conn, payload)
}

func checkSum(conn net.Conn, payload []byte) error {
	want := sha256.Sum256(payload)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil {
		return err
	}
	if [sha256.Size]byte(got) != want {
		return errors.New("the payload arrived damaged")
	}
	return nil
}

// probePayload is n bytes without a short period, so that a lost or repeated
// segment changes the sum.
func probePayload(n int) []byte {
	payload := make([]byte, max(n, 0))
	state := uint32(2463534242) // Marsaglia's xorshift32 (2003)
	for i := range payload {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		payload[i] = byte(state)
	}
	return payload
}
