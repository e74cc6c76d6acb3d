package datagram

import (
	"net"
	"runtime"
	"testing"
	"time"

	"windtunnel/traffic"
)

var testKey = key{session: 7, secret: 0x123456789abcdef}

// ends are the two connected ends of a path over loopback.
func ends(t *testing.T, network, host string) (send, receive *net.UDPConn) {
	t.Helper()
	listen := func() *net.UDPConn {
		c, err := net.ListenUDP(network, &net.UDPAddr{IP: net.ParseIP(host)})
		if err != nil {
			t.Skipf("no %s here: %v", network, err)
		}
		return c
	}
	receive = listen()
	send, err := net.DialUDP(network, nil, receive.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	return send, receive
}

func newEngine(t *testing.T, c Config, flows ...Flow) *Engine {
	t.Helper()
	e, err := NewEngine(flows, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// awaitPackets waits until the engine's flows have come to so many datagrams.
func awaitPackets(t *testing.T, e *Engine, n uint64) Snapshot {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; {
		s := e.Snapshot()
		have := uint64(0)
		for _, f := range s.Flows {
			have += f.Packets + f.Late
		}
		if have >= n || time.Now().After(deadline) {
			return s
		}
		time.Sleep(time.Millisecond)
	}
}

func TestEveryDatagramIsCounted(t *testing.T) {
	cases := map[string]struct {
		network, host string
		config        Config
	}{
		"long header":   {"udp4", "127.0.0.1", Config{Message: 1400, Codec: longHeader{testKey}, Verify: true}},
		"short header":  {"udp4", "127.0.0.1", Config{Message: 18, Codec: shortHeader{testKey}, Verify: true}},
		"one a message": {"udp4", "127.0.0.1", Config{Message: 1400, Codec: longHeader{testKey}, Segmentation: "off", Aggregation: "off", Verify: true}},
		"no header":     {"udp4", "127.0.0.1", Config{Message: 100, Payload: []byte("B")}},
		"IPv6":          {"udp6", "::1", Config{Message: 1400, Codec: longHeader{testKey}, Verify: true}},
		"largest":       {"udp4", "127.0.0.1", Config{Message: maxPayload, Codec: longHeader{testKey}, Verify: true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			out, in := ends(t, c.network, c.host)
			c.config.PacketsPerSecond, c.config.LimitPackets = 20000, 2000
			receive := newEngine(t, c.config, Flow{Conn: in, Role: traffic.Receive})
			send := newEngine(t, c.config, Flow{Conn: out, Role: traffic.Send})
			receive.Start()
			send.Start()
			<-send.Done()
			got := awaitPackets(t, receive, 2000).Flows[0]
			sent := send.Snapshot().Flows[0]
			if err := send.Err(); err != nil {
				t.Fatal(err)
			}
			if sent.Packets != 2000 || sent.Bytes != 2000*uint64(c.config.Message) || !sent.Ended {
				t.Errorf("sent %+v", sent)
			}
			if runtime.GOOS != "linux" { // nobody tells what the socket had no room for
				got.SocketDrops = 2000 - got.Packets
				got.Lost = got.SocketDrops
			}
			if got.Packets+got.SocketDrops != 2000 || got.Corrupt+got.Foreign+got.Duplicate+got.Reordered != 0 {
				t.Errorf("received %+v", got)
			}
			if c.config.Codec != nil && got.Lost > got.SocketDrops { // the last ones' loss is not seen here
				t.Errorf("lost %d, dropped %d", got.Lost, got.SocketDrops)
			}
			if lag := send.Lag().Histogram(); lag.Count == 0 || lag.Count > 2000 {
				t.Errorf("the lag of %d sends was recorded", lag.Count)
			}
		})
	}
}

// TestAHaltIsNoDatagram: who waits for one is woken, on one socket or on several, and counts nothing for it.
func TestAHaltIsNoDatagram(t *testing.T) {
	for sockets := 1; sockets <= 2; sockets++ {
		var flows []Flow
		var outs []*net.UDPConn
		for i := range sockets {
			out, in := ends(t, "udp4", "127.0.0.1")
			outs, flows = append(outs, out), append(flows, Flow{Conn: in, Role: traffic.Receive, ID: uint32(i)})
		}
		c := Config{Message: 100, Codec: longHeader{testKey}}
		e := newEngine(t, c, flows...)
		e.Start()
		b := template(100, nil)
		for i, out := range outs {
			c.Codec.Put(b, Stamp{Flow: uint32(i)})
			if _, err := out.Write(b); err != nil {
				t.Fatal(err)
			}
			out.Close()
		}
		awaitPackets(t, e, uint64(sockets))
		e.Halt()
		for i, f := range e.Snapshot().Flows {
			if f.Packets != 1 || f.Corrupt+f.Foreign+f.Duplicate+f.Lost != 0 || e.Err() != nil {
				t.Errorf("%d sockets, flow %d: %+v, %v", sockets, i, f, e.Err())
			}
		}
	}
}

// TestAHaltWaitsForNoSendersTurn: one whose next datagram is due in three hours.
func TestAHaltWaitsForNoSendersTurn(t *testing.T) {
	send, _ := ends(t, "udp4", "127.0.0.1")
	e := newEngine(t, Config{Message: 100, PacketsPerSecond: 1e-4}, Flow{Conn: send, Role: traffic.Send})
	e.Start()
	awaitPackets(t, e, 1)
	e.HaltSenders()
	e.Halt()
}
