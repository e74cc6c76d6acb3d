package iperf3

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"
)

// TestWindowThatIsCut is refused, as by iperf3.
func TestWindowThatIsCut(t *testing.T) {
	raw, err := loopbackUDP(t).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for window, cut := range map[int]bool{1: false, MaxWindow: true} {
		raw.Control(func(fd uintptr) { err = (socketOptions{window: window}).checkWindow(int(fd)) })
		var option *OptionError
		if refused := errors.As(err, &option) && option.Number == ErrorBufferSize; refused != cut || !cut && err != nil {
			t.Errorf("a window of %d: %v", window, err)
		}
	}
}

// TestAClientDoesNotLiftTheHostsBounds: how large buffers may be is the host's to say, also where the server is root, who might go
// over it: each stream of a stranger could hold half a GiB of the kernel's memory else.
func TestAClientDoesNotLiftTheHostsBounds(t *testing.T) {
	h := serve(t, ServerOptions{})
	for _, protocol := range []string{"tcp", "udp"} {
		t.Run(protocol, func(t *testing.T) {
			r := h.rude(t)
			r.say(fmt.Sprintf(`{%q:true,"time":1,"len":1024,"reverse":true,"window":%d}`, protocol, MaxWindow))
			if err := r.expect(createStreams, 5*time.Second); err != nil {
				t.Fatal(err)
			}
			if protocol == "tcp" {
				r.stream()
			} else {
				greet(t, h)
			}
			err := r.expect(testStart, 5*time.Second)
			var refused *ServerError
			if !errors.As(err, &refused) || refused.Number != ErrorBufferSize {
				t.Errorf("%v; want error %d", err, ErrorBufferSize)
			}
		})
	}
}

// greet is a UDP stream's greeting, whose answer nobody reads.
func greet(t *testing.T, h *host) {
	t.Helper()
	conn, err := net.Dial("udp", net.JoinHostPort("127.0.0.1", strconv.Itoa(h.port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := conn.Write(binary.BigEndian.AppendUint32(nil, udpHello)); err != nil {
		t.Fatal(err)
	}
}
