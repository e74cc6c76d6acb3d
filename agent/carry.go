//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"windtunnel/agent/proto"
	"windtunnel/traffic"
)

const (
	// carryWait is how long who asks for bytes waits for some, and carryWithin how long they may take to be written.
	carryWait   = 2 * time.Second
	carryWithin = 5 * time.Second
	// maxCarriers bounds the connections of a node that are carried.
	maxCarriers = 1024
)

// carriers are a node's ends of the connections that the conductor carries between two hosts: ends of pairs at ports of poll mode
// meet at Unix sockets, of which either host has its own.
type carriers struct {
	dir string // of the sockets

	mu   sync.Mutex
	made int
	all  map[string]*carrier // by the meeting that the end on this node is told
}

func newCarriers(dir string) *carriers { return &carriers{dir: dir, all: map[string]*carrier{}} }

// carrier is one end: a connection with the worker here.
type carrier struct {
	cell string
	up   chan struct{} // closed once there is a connection, or none will come
	end  sync.Once

	door  *net.UnixListener // of a sender's end; nil: a receiver's
	mu    sync.Mutex
	conn  net.Conn // nil until up is closed, and then if none came
	ended bool
}

// meet opens a socket at which a sender of this node reaches a receiver that told of a meeting on another host, and returns the
// meeting that the sender is to be told.
func (c *carriers) meet(cell, address string) (string, error) {
	there, err := traffic.ParseMeeting(address)
	if err != nil {
		return "", err
	}
	if c.dir == "" {
		return "", errors.New("an agent of a place that runs already has no folder to meet in")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) >= maxCarriers {
		return "", fmt.Errorf("%d connections are carried already, and no more will be", len(c.all))
	}
	c.made++
	m := traffic.Meeting{At: there.At, Socket: filepath.Join(c.dir, fmt.Sprintf("carry-%d", c.made)), Carried: true}
	door, err := net.ListenUnix("unix", &net.UnixAddr{Name: m.Socket, Net: "unix"})
	if err != nil {
		return "", fmt.Errorf("listening for the sender: %w", err)
	}
	_ = door.SetDeadline(time.Now().Add(relayPatience)) // within which it is to be ready
	k := &carrier{cell: cell, up: make(chan struct{}), door: door}
	c.all[m.String()] = k
	go k.accept()
	return m.String(), nil
}

// accept takes the one connection that is made, and ends with the door.
func (k *carrier) accept() {
	conn, err := k.door.Accept()
	_ = k.door.Close() // which removes the socket
	k.mu.Lock()
	if err == nil && k.ended {
		_ = conn.Close()
	} else if err == nil {
		k.conn = conn
	}
	k.mu.Unlock()
	close(k.up)
}

// carry hands bytes to an end, or waits for some of its.
func (c *carriers) carry(ctx context.Context, cell string, ask proto.Carry, own func(traffic.Meeting) error) (proto.Carry, error) {
	if len(ask.Bytes) > proto.MaxCarry {
		return proto.Carry{}, fmt.Errorf("%d bytes at once are more than the %d that are carried", len(ask.Bytes), proto.MaxCarry)
	}
	k, err := c.find(cell, ask, own)
	if err != nil || k == nil {
		return proto.Carry{Ended: true}, err
	}
	said, err := k.exchange(ctx, ask)
	if said.Ended || err != nil {
		c.forget(ask.Address, k)
	}
	return said, err
}

// find returns an end, a receiver's when the first bytes come for it; nil: it has ended, or none has been there.
func (c *carriers) find(cell string, ask proto.Carry, own func(traffic.Meeting) error) (*carrier, error) {
	m, err := traffic.ParseMeeting(ask.Address)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.all[ask.Address]; k != nil || m.Carried || len(ask.Bytes) == 0 {
		return k, nil
	}
	if err := own(m); err != nil {
		return nil, err
	}
	if len(c.all) >= maxCarriers {
		return nil, fmt.Errorf("%d connections are carried already, and no more will be", len(c.all))
	}
	conn, err := net.DialTimeout("unix", m.Socket, carryWithin)
	if err != nil {
		return nil, fmt.Errorf("connecting to the receiver: %w", err)
	}
	k := &carrier{cell: cell, up: make(chan struct{}), conn: conn}
	close(k.up)
	c.all[ask.Address] = k
	return k, nil
}

// forget ends one.
func (c *carriers) forget(address string, k *carrier) {
	c.mu.Lock()
	if c.all[address] == k {
		delete(c.all, address)
	}
	c.mu.Unlock()
	k.close()
}

// stop ends those of a cell; "": all.
func (c *carriers) stop(cell string) {
	c.mu.Lock()
	var ending []*carrier
	for address, k := range c.all {
		if cell == "" || k.cell == cell {
			delete(c.all, address)
			ending = append(ending, k)
		}
	}
	c.mu.Unlock()
	for _, k := range ending {
		k.close()
	}
}

func (k *carrier) close() {
	k.end.Do(func() {
		k.mu.Lock()
		k.ended = true
		if k.conn != nil {
			_ = k.conn.Close()
		}
		k.mu.Unlock()
		if k.door != nil {
			_ = k.door.Close()
			<-k.up
		}
	})
}

// exchange writes what the other end said, or, where it said nothing, waits a while for what this one does.
func (k *carrier) exchange(ctx context.Context, ask proto.Carry) (proto.Carry, error) {
	if ask.Ended && len(ask.Bytes) == 0 {
		return proto.Carry{Ended: true}, nil
	}
	select {
	case <-k.up:
	case <-ctx.Done():
		return proto.Carry{}, ctx.Err()
	case <-time.After(carryWait):
		return proto.Carry{}, nil
	}
	k.mu.Lock()
	conn := k.conn
	k.mu.Unlock()
	if conn == nil {
		return proto.Carry{Ended: true}, nil
	}
	if len(ask.Bytes) > 0 {
		_ = conn.SetWriteDeadline(time.Now().Add(carryWithin))
		_, err := conn.Write(ask.Bytes)
		return proto.Carry{Ended: ask.Ended || err != nil}, nil // a worker that has gone is no mistake of who asks
	}
	return k.read(ctx, conn)
}

func (k *carrier) read(ctx context.Context, conn net.Conn) (proto.Carry, error) {
	_ = conn.SetReadDeadline(time.Now().Add(carryWait))
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })()
	said := make([]byte, proto.MaxCarry)
	n, err := conn.Read(said)
	return proto.Carry{Bytes: said[:n], Ended: err != nil && !errors.Is(err, os.ErrDeadlineExceeded)}, nil
}

// carry answers the verbs of connections that are carried.
func (n *node) carry(ctx context.Context, ask proto.Request) proto.Reply {
	if ask.Carry == nil {
		return refuse("%s needs to be told of which connection", ask.Do)
	}
	var said proto.Carry
	var err error
	if ask.Do == proto.DoMeet {
		said.Address, err = n.carriers.meet(ask.Cell, ask.Carry.Address)
	} else {
		said, err = n.carriers.carry(ctx, ask.Cell, *ask.Carry, func(m traffic.Meeting) error { return n.ownMeeting(ask.Cell, m) })
	}
	if err != nil {
		return refuse("%v", err)
	}
	return proto.Reply{Carry: &said}
}

// ownMeeting refuses a socket that is none of the receivers' of a cell on this node: it is beside a tester's.
func (n *node) ownMeeting(cell string, m traffic.Meeting) error {
	for _, p := range n.graph(cell).Ports {
		port := n.config.Backend.Port(cell, p.Place)
		if port != nil && filepath.Dir(m.Socket) == filepath.Dir(port.Tester) && sameIP(port.Address, m.At.Addr()) {
			return nil
		}
	}
	return fmt.Errorf("cell %q has no receiver that is met at %s on node %s", cell, m.Socket, n.config.Name)
}

func sameIP(text string, ip netip.Addr) bool {
	own, err := netip.ParseAddr(text)
	return err == nil && own == ip
}

// Meet opens a socket on the node at which a sender there reaches a receiver on another host, and returns the address that the
// sender is to be told, given the one that the receiver told of.
func (c *Client) Meet(ctx context.Context, cell, address string) (string, error) {
	said, err := c.carried(ctx, proto.Request{Do: proto.DoMeet, Cell: cell, Carry: &proto.Carry{Address: address}})
	return said.Address, err
}

// Carry hands bytes to the end of a connection that is carried, or waits for some of its; see proto.Carry.
func (c *Client) Carry(ctx context.Context, cell string, carry proto.Carry) (proto.Carry, error) {
	return c.carried(ctx, proto.Request{Do: proto.DoCarry, Cell: cell, Carry: &carry})
}

func (c *Client) carried(ctx context.Context, request proto.Request) (proto.Carry, error) {
	reply, err := c.ask(ctx, request)
	if err == nil && (reply.Carry == nil || len(reply.Carry.Bytes) > proto.MaxCarry) {
		err = fmt.Errorf("node %s: it answers %s with nothing, or with more than %d bytes", c.name, request.Do, proto.MaxCarry)
	}
	if err != nil {
		return proto.Carry{}, err
	}
	return *reply.Carry, nil
}
