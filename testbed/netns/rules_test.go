package netns

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/testbed"
)

// TestRules sends datagrams over a wire with a token bucket and a rule that drops half of them: each is counted once
// at either, and both can be set and taken off while the wire stands.
func TestRules(t *testing.T) {
	p := newPair(t)
	g := wireGraph()
	if err := p.apply(g); err != nil {
		t.Fatal(err)
	}
	if len(p.a.Rules("A"))+len(p.b.Rules("A")) != 0 {
		t.Error("there are rules that nobody asked for")
	}
	sender := p.a.Stack("A", "sender")
	if err := sender.Do(meet); err != nil { // so that no question for an address is dropped
		t.Fatal(err)
	}
	g.Links[0].Ends[0].BitsPerSecond, g.Links[0].Ends[1].Loss = 1e9, 0.5
	if err := p.apply(g); err != nil {
		t.Fatal(err)
	}
	shapers, rules := p.a.Rules("A"), p.b.Rules("A")
	if len(shapers) != 1 || shapers[0].Name != "shaper a/nic0" || len(rules) != 1 || rules[0].Name != "rule b/nic0" {
		t.Fatalf("%+v and %+v", shapers, rules)
	}
	const sent = 400
	passed, dropped := counts(t, rules[0])
	was, _ := counts(t, shapers[0])
	if err := sender.Do(func() error { return shower(sent) }); err != nil {
		t.Fatal(err)
	}
	if out, lost := counts(t, shapers[0]); out-was < sent || lost != 0 {
		t.Errorf("the token bucket let %d through and dropped %d of %d", out-was, lost, sent)
	}
	in, gone := counts(t, rules[0])
	in, gone = in-passed, gone-dropped
	// Of 400 tosses fewer than 100 or more than 300 heads do not happen.
	if in+gone < sent || gone < sent/4 || in < sent/4 {
		t.Errorf("of %d packets the rule let %d through and dropped %d", sent, in, gone)
	}
	g.Links[0].Ends[0].BitsPerSecond, g.Links[0].Ends[1].Loss = 0, 0
	if err := p.apply(g); err != nil {
		t.Fatal(err)
	}
	if len(p.a.Rules("A"))+len(p.b.Rules("A")) != 0 {
		t.Error("rules are left that were taken off")
	}
	if err := p.apply(testbed.Graph{Cell: "A"}); err != nil {
		t.Fatal(err)
	}
}

func counts(t *testing.T, r Rule) (passed, dropped uint64) {
	t.Helper()
	passed, dropped, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	return passed, dropped
}

// nobody listens there, and the kernel says so.
const nobody = "10.9.0.2:9"

// meet waits for the refusal of a datagram.
func meet() error {
	c, err := net.Dial("udp", nobody)
	if err != nil {
		return fmt.Errorf("opening a socket: %w", err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("hello")); err != nil {
		return err
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, unix.ECONNREFUSED) {
		return fmt.Errorf("the other end did not refuse: %v", err)
	}
	return nil
}

// shower sends datagrams by a socket that hears no refusals.
func shower(n int) error {
	c, err := net.ListenPacket("udp4", "10.9.0.1:0")
	if err != nil {
		return fmt.Errorf("opening a socket: %w", err)
	}
	defer c.Close()
	to, err := net.ResolveUDPAddr("udp4", nobody)
	if err != nil {
		return err
	}
	for range n {
		if _, err := c.WriteTo(make([]byte, 1000), to); err != nil {
			return fmt.Errorf("sending: %w", err)
		}
	}
	return nil
}
