package poll

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/internal/golden"
	"windtunnel/vrouter/internal/lab"
)

// handingBed has two CPUs, which share out what either reads.
func handingBed(t *testing.T) (*bed, []golden.Case) {
	t.Helper()
	lab.NeedRoot(t)
	options := testOptions(t)
	if len(options.CPUs) < 2 {
		t.Skip("skip: needs two CPUs")
	}
	options.HandOver = true
	cases, c := golden.Load(t)
	return newBedOf(t, c, options), cases
}

// TestHandOverGoldens: who forwards a packet makes no difference to it, or to the account.
func TestHandOverGoldens(t *testing.T) {
	b, cases := handingBed(t)
	sent := uint64(0)
	for _, k := range cases {
		if k.GSO == 0 {
			sent++
			b.run(t, k)
		}
	}
	b.accountedFor(t, sent)
	if b.handed() == 0 {
		t.Error("nothing was handed over")
	}
}

// handed is what CPUs gave to each other. All that was received was received once.
func (b *bed) handed() (all uint64) {
	for _, c := range b.plane.Status().Cores {
		all += c.Handed
	}
	return all
}

// TestHandOverOrder: flows of one port are shared out, each keeps its order, and nothing is lost.
func TestHandOverOrder(t *testing.T) {
	const flows, each, times = 8, 16, 16 // as many at a time as sockets have room for
	b, cases := handingBed(t)
	at, frame := udpOf(t, cases)
	tail := frame[len(frame)-8:]
	next := make([]uint32, flows)
	for turn := range uint32(times) {
		before := b.counted(t)
		for n := range uint32(each) {
			for flow := range uint32(flows) {
				binary.BigEndian.PutUint16(frame[34:], uint16(1024+flow))
				binary.BigEndian.PutUint32(tail, flow)
				binary.BigEndian.PutUint32(tail[4:], turn*each+n)
				b.send[at](frame)
			}
		}
		lab.Await(t, "all are through", func() bool { return b.counted(t) == before+flows*each })
		for range flows * each {
			got, err := hex.DecodeString(b.received(t))
			if err != nil || len(got) < 8 {
				t.Fatalf("%x: %v", got, err)
			}
			flow, n := binary.BigEndian.Uint32(got[len(got)-8:]), binary.BigEndian.Uint32(got[len(got)-4:])
			if flow >= flows || n != next[flow] {
				t.Fatalf("flow %d has packet %d, and %d was next", flow, n, next[min(flow, flows-1)])
			}
			next[flow]++
		}
	}
	if handed := b.handed(); handed == 0 || handed >= flows*each*times || handed%(each*times) != 0 {
		t.Errorf("%d of %d packets were handed over, of which flows have %d each", handed, flows*each*times, each*times)
	}
	b.vifsAddUp(t)
}

// udpOf is a packet of IPv4 and UDP that a port's container sends and that is forwarded, without a checksum, so that it
// stays right whatever is written into it.
func udpOf(t *testing.T, cases []golden.Case) (at string, frame []byte) {
	t.Helper()
	for _, k := range cases {
		b, err := hex.DecodeString(k.In)
		plain := err == nil && strings.HasPrefix(k.At, "vif") && k.GSO == 0 && k.Out != "" && len(k.Copies) == 0 && len(b) >= 50
		if plain && want(k) == "forwarded" && b[12] == 8 && b[13] == 0 && b[14] == 0x45 && b[23] == unix.IPPROTO_UDP && b[20]&0x3f == 0 && b[21] == 0 {
			copy(b[40:], []byte{0, 0})
			return k.At, b
		}
	}
	t.Fatal("no golden packet is such a one")
	return "", nil
}
