package frame

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"windtunnel/traffic"
)

// handshakeTimeout bounds each step of a handshake where the context does not.
const handshakeTimeout = 5 * time.Second

// session is a sender's view: the control connection and what was agreed on.
type session struct {
	control net.Conn
	number  uint32
	from    netip.Addr
	to      netip.AddrPort
	telling sync.Mutex               // of what follows, and of the control connection meanwhile
	told    [numbersInMessage]uint64 // frames refused, so far, and whether that is all
	apart   bool                     // a receiver at a port is on another machine
}

// join connects to a receiver.
func join(ctx context.Context, l load, address string) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*handshakeTimeout)
	defer cancel()
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("%q is not a receiver's IP:port: %w", address, err)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", address, err)
	}
	s := &session{control: conn, to: netip.AddrPortFrom(to.Addr().Unmap(), to.Port())}
	s.from = conn.LocalAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
	if err := s.greet(ctx, l); err != nil {
		conn.Close()
		return nil, fmt.Errorf("greeting the receiver at %s: %w", address, err)
	}
	return s, nil
}

func (s *session) greet(ctx context.Context, l load) error {
	return s.open(ctx, helloOf(l, s.to.Addr()).encode())
}

// open asks for a session, and waits for its number.
func (s *session) open(ctx context.Context, question []byte) error {
	defer context.AfterFunc(ctx, func() { s.control.SetDeadline(time.Unix(1, 0)) })()
	s.control.SetDeadline(time.Now().Add(handshakeTimeout))
	if _, err := s.control.Write(question); err != nil {
		return err
	}
	answer := make([]byte, answerSize)
	if _, err := io.ReadFull(s.control, answer); err != nil {
		return err
	}
	var err error
	s.number, err = decodeAnswer(answer)
	return err
}

func helloOf(l load, ip netip.Addr) hello {
	h := hello{version: controlVersion, family: 4, addresses: l.addresses, size: l.sizes.code(), flows: l.flows}
	if ip.Is6() {
		h.family = 6
	}
	return h
}

// again asks the receiver, which was readied for it, for another session.
func (s *session) again(ctx context.Context) error {
	s.told = [numbersInMessage]uint64{}
	if err := s.open(ctx, message{kind: askAgain}.encode()); err != nil {
		return fmt.Errorf("asking the receiver for another session: %w", err)
	}
	return nil
}

// counted asks how many of the probe's frames have come so far.
func (s *session) counted(ctx context.Context) (uint64, error) {
	defer context.AfterFunc(ctx, func() { s.control.SetDeadline(time.Unix(1, 0)) })()
	s.control.SetDeadline(time.Now().Add(handshakeTimeout))
	if _, err := s.control.Write(message{kind: askCount}.encode()); err != nil {
		return 0, fmt.Errorf("asking the receiver for its count: %w", err)
	}
	b := make([]byte, messageSize)
	if _, err := io.ReadFull(s.control, b); err != nil {
		return 0, fmt.Errorf("waiting for the receiver's count: %w", err)
	}
	m, err := decodeMessage(b)
	if err == nil && m.kind != tellCount {
		err = fmt.Errorf("the receiver answers with a message of kind %d, not with its count", m.kind)
	}
	return m.numbers[0], err
}

// refused keeps the receiver's intervals right; what it misses is in the final. It is all where no frame that has a number will be
// refused any more: so a receiver that gets no final knows what was lost.
func (s *session) refused(frames uint64, all bool) {
	s.telling.Lock()
	defer s.telling.Unlock()
	now := [numbersInMessage]uint64{frames}
	if all {
		now[1] = 1
	}
	if now == s.told {
		return
	}
	s.told = now
	s.control.SetWriteDeadline(time.Now().Add(patience))
	_, _ = s.control.Write(message{kind: tellRefused, numbers: now}.encode())
}

// tell ends the session: the receiver repeats what it was told.
func (s *session) tell(f final) error {
	s.control.SetDeadline(time.Now().Add(drain))
	told, heard := f.message().encode(), make([]byte, messageSize)
	if _, err := s.control.Write(told); err != nil {
		return fmt.Errorf("telling the receiver what was sent: %w", err)
	}
	if _, err := io.ReadFull(s.control, heard); err != nil {
		return fmt.Errorf("the receiver went away: %w", err)
	}
	if !bytes.Equal(told, heard) {
		return errors.New("the receiver understood something else than it was told")
	}
	return nil
}

// connect makes a sender: the session, the way to the receiver, and a method that
// a probe has shown to work.
func connect(ctx context.Context, l load, order traffic.Order) (traffic.Worker, error) {
	if order.Port != nil {
		return connectAtPort(ctx, l, order)
	}
	if t, foreign := l.tool(); foreign {
		return nil, fmt.Errorf("generator %s sends to a port of poll mode, which paths of suites have: leave generator out", t.name)
	}
	s, err := join(ctx, l, order.Address)
	if err != nil {
		return nil, err
	}
	w := &sendWorker{load: l, order: order, cpus: order.CPUs, session: s, closing: make(chan struct{})}
	w.start = func() (mover, error) { return w.startSources(), nil }
	if err := w.choose(ctx); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}
