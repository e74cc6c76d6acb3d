package iperf3

import (
	"encoding/binary"
	"net"
	"runtime"
	"testing"
	"time"
)

// TestAGreetingInANewSocketIsFound: what a socket of another's stream was given is taken out of it, though the thread that
// looks had to wait for its CPU until its time was over.
func TestAGreetingInANewSocketIsFound(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("needs a reading that does not wait")
	}
	listen := net.ListenConfig{Control: socketOptions{datagrams: true, reuse: true}.control}
	port, err := listen.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := newGreeter(port.(*net.UDPConn), "")
	defer g.close()
	control, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	client, err := net.Dial("tcp", control.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	turn := g.enroll(client, 1, socketOptions{datagrams: true})
	defer g.leave(turn)
	others, stranger := loopbackUDP(t), loopbackUDP(t)
	if _, err := stranger.WriteTo(binary.BigEndian.AppendUint32(nil, udpHello), others.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	stream := &dataStream{conn: others, shown: Connection{Remote: addressOf(port.LocalAddr())}}
	for deadline := time.Now().Add(10 * time.Second); len(turn.came) == 0; {
		if g.rescue(stream, -time.Second); time.Now().After(deadline) {
			t.Fatal("the greeting stays where it is")
		}
	}
	answer := make([]byte, 4)
	stranger.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, err := stranger.Read(answer); err != nil || n != 4 || binary.BigEndian.Uint32(answer) != udpReply {
		t.Errorf("it is answered with %x, %v", answer[:n], err)
	}
}

// TestDatagramsOfAnotherAddress: a client's UDP may leave by another way than its
// control connection, with all its streams.
func TestDatagramsOfAnotherAddress(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a loopback that has more addresses than one")
	}
	t.Parallel()
	h := serve(t, ServerOptions{})
	r := h.rude(t)
	r.say(`{"udp":true,"time":10,"parallel":2,"len":1024}`)
	if err := r.expect(createStreams, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !h.greets(t, "127.0.0.2", 10*time.Second) {
			t.Fatal("the greeting is not answered")
		}
	}
	if err := r.expect(testStart, 5*time.Second); err != nil {
		t.Error(err)
	}
}

// TestStrangersGetNothing: a greeting of another address brings no server's datagrams
// there, and one of another family ends no session.
func TestStrangersGetNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a loopback that has more addresses than one")
	}
	for name, c := range map[string]struct{ stranger, asks string }{
		"reverse":        {"127.0.0.2", `{"udp":true,"time":10,"len":1024,"reverse":true,"bandwidth":1000}`},
		"both ways":      {"127.0.0.2", `{"udp":true,"time":10,"parallel":1,"len":1024,"bidirectional":true,"bandwidth":1000}`},
		"another family": {"::1", `{"udp":true,"time":10,"len":1024}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := serve(t, ServerOptions{Host: "::"})
			r := h.rude(t)
			r.say(c.asks)
			if err := r.expect(createStreams, 5*time.Second); err != nil {
				t.Fatal(err)
			}
			if h.greets(t, c.stranger, 2*adoptAfter+adoptAfter/2) {
				t.Error("the stranger is answered")
			}
			if !h.greets(t, "127.0.0.1", 10*time.Second) {
				t.Error("and the client is not")
			}
		})
	}
}

// greets tells whether a greeting from an address is answered.
func (h *host) greets(t *testing.T, from string, within time.Duration) bool {
	t.Helper()
	to := "127.0.0.1"
	if from == "::1" {
		to = from
	}
	conn, err := net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(from)}, &net.UDPAddr{IP: net.ParseIP(to), Port: h.port})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(within))
	conn.Write(binary.BigEndian.AppendUint32(nil, udpHello))
	var answer [4]byte
	_, err = conn.Read(answer[:])
	return err == nil && binary.BigEndian.Uint32(answer[:]) == udpReply
}

func loopbackUDP(t *testing.T) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
