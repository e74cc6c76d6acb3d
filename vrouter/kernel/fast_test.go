package kernel

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/cilium/ebpf"

	"windtunnel/ethtool"
	"windtunnel/vrouter/config"
	"windtunnel/vrouter/internal/golden"
	"windtunnel/vrouter/internal/lab"
)

// leftToTC are golden frames that are forwarded, but not by XDP, which cannot judge their checksums.
var leftToTC = map[string]bool{
	"a size behind ip options": true, "ip options": true, "a container's other gre": true,
	"ipv6 with hop by hop": true, "ipv6 with a first fragment": true, "ipv6 with destination options": true,
	"ipv6 with three extensions": true, "a later ipv6 fragment": true,
}

// asksSize tells whether a frame is the SYN of a TCP connection, which may have to ask for less.
func asksSize(frame []byte) bool {
	at, protocol := 34, frame[23]
	if frame[14]>>4 == 6 {
		at, protocol = 54, frame[20]
	}
	return protocol == 6 && frame[at+13]&2 != 0
}

// newFastBed is a packetBed whose interfaces all take frames, and the golden ones.
func newFastBed(t *testing.T) (*packetBed, []golden.Case) {
	t.Helper()
	lab.NeedRoot(t)
	cases, c := golden.Load(t)
	return fastBedOf(t, c), cases
}

func fastBedOf(t *testing.T, c config.Config) *packetBed {
	t.Helper()
	if !HaveXDPFeatures() {
		t.Skip("skip: needs a kernel that tells what drivers' XDP can do (Linux 6.3)")
	}
	bed := newPacketBed(t, c)
	wish := FastWish{Fabric: bed.ifindex["fabric"], On: config.FastOn, Ports: make(map[uint32]config.Fast)}
	for name, ifindex := range bed.ifindex {
		bed.there.Do(func() error {
			tool, err := ethtool.Open()
			if err != nil {
				return err
			}
			defer tool.Close()
			return tool.Change(name, map[string]bool{"rx-gro": true})
		})
		if name != "fabric" {
			wish.Ports[ifindex] = config.FastOn
		}
	}
	bed.here.Do(func() error {
		result, err := bed.plane.SetFast(wish)
		for ifindex, f := range result {
			if !f.From || !f.To {
				t.Errorf("interface %d: %+v", ifindex, f)
			}
		}
		bed.plane.fast.tcp = true
		bed.must(t, bed.plane.fast.setFlags(false))
		return err
	})
	return bed
}

func (b *packetBed) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// runFast gives a frame to XDP of an interface.
func (b *packetBed) runFast(t *testing.T, at string, in []byte) (action uint32, out []byte) {
	t.Helper()
	program := b.plane.fast.objects.VrFastVif
	if at == "fabric" {
		program = b.plane.fast.objects.VrFastFabric
	}
	options := &ebpf.RunOptions{
		Data: in, DataOut: make([]byte, len(in)+256), Context: xdpContext{DataEnd: uint32(len(in)), Ifindex: b.ifindex[at]},
	}
	return b.give(program, options), options.DataOut
}

// TestGoldenPacketsByTheFastPath: what XDP forwards has the same bytes as what tc would have sent, and
// is counted once; what it does not forward is left as it came, uncounted.
func TestGoldenPacketsByTheFastPath(t *testing.T) {
	bed, cases := newFastBed(t)
	taken := uint64(0)
	for _, k := range cases {
		if k.GSO != 0 {
			continue // XDP never sees an aggregate
		}
		t.Run(k.Name, func(t *testing.T) {
			in, _ := hex.DecodeString(k.In)
			action, out := bed.runFast(t, k.At, in)
			if action == xdpPass {
				if !bytes.Equal(in, out) {
					t.Errorf("left to tc with other bytes:\ngot  %x\nwant %x", out, in)
				}
				if forwarded := k.Op == "tunnel" || k.Op == "encap" || k.Op == "decap"; forwarded && !leftToTC[k.Name] && !asksSize(in) {
					t.Errorf("it was left to tc, which makes %s of it", k.Op)
				}
				return
			}
			taken++
			if action != xdpActionRedirect || leftToTC[k.Name] {
				t.Fatalf("action %d", action)
			}
			if err := k.Compare(hex.EncodeToString(out)); err != nil {
				t.Error(err)
			}
		})
	}
	totals := bed.totals(t)
	addsUp(t, totals)
	if n := totals.Received().Packets; n != taken || taken == 0 {
		t.Errorf("%d packets were counted, %d were taken", n, taken)
	}
	if totals.Forwarded.Packets != taken {
		t.Errorf("%d packets of %d were counted as forwarded", totals.Forwarded.Packets, taken)
	}
}

// pseudo is the sum of a pseudo-header (RFC 9293, section 3.1; RFC 8200, section 8.1), which a stack
// leaves in the checksum's place, computed a byte at a time.
func pseudo(addresses []byte, protocol byte, length int) []byte {
	var sum uint32
	for i, b := range append(append([]byte{}, addresses...), 0, protocol, byte(length>>8), byte(length)) {
		sum += uint32(b) << (8 * (1 - i%2))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return binary.BigEndian.AppendUint16(nil, uint16(sum))
}

// unfinish makes the checksum of the TCP or UDP packet at an offset one that a device is to finish.
func unfinish(frame []byte, offset int) bool {
	ip := frame[offset:]
	header, protocol, addresses := 20, ip[9], ip[12:20]
	if ip[0]>>4 == 6 {
		header, protocol, addresses = 40, ip[6], ip[8:40]
	} else if ip[0] != 0x45 || binary.BigEndian.Uint16(ip[6:])&0x3fff != 0 {
		return false
	}
	at := map[byte]int{6: 16, 17: 6}[protocol]
	if at == 0 {
		return false
	}
	length := int(binary.BigEndian.Uint16(ip[2:])) - header
	if header == 40 {
		length = int(binary.BigEndian.Uint16(ip[4:]))
	}
	copy(ip[header+at:], pseudo(addresses, protocol, length))
	return true
}

// TestUnfinishedChecksums: what a stack left to a device to finish goes to tc, whose packets say so.
func TestUnfinishedChecksums(t *testing.T) {
	bed, cases := newFastBed(t)
	tried := map[string]int{}
	for _, k := range cases {
		in, _ := hex.DecodeString(k.In)
		out, _ := hex.DecodeString(k.Out)
		offset := 14
		switch {
		case k.GSO != 0 || k.Op != "tunnel" && k.Op != "encap" && k.Op != "decap":
			continue
		case k.Op == "decap":
			offset += len(in) - len(out)
		}
		if !unfinish(in, offset) {
			continue
		}
		tried[k.Op]++
		if action, out := bed.runFast(t, k.At, in); action != xdpPass || !bytes.Equal(in, out) {
			t.Errorf("%s: action %d, not left to tc", k.Name, action)
		}
	}
	if len(tried) != 3 {
		t.Errorf("tried %v", tried)
	}
	if totals := bed.totals(t); totals.Received().Packets != 0 {
		t.Errorf("%d packets were counted", totals.Received().Packets)
	}
}

// TestFastPathLeaves: without a device to send to, while somebody watches, and TCP where GRO would
// join it, all is left to tc.
func TestFastPathLeaves(t *testing.T) {
	bed, cases := newFastBed(t)
	try := func(want uint32, proto byte) {
		t.Helper()
		for _, k := range cases {
			if k.GSO != 0 || k.Op != "decap" || k.At != "fabric" {
				continue
			}
			in, _ := hex.DecodeString(k.In)
			out, _ := hex.DecodeString(k.Out)
			if out[14] != 0x45 || out[23] != proto {
				continue
			}
			if action, _ := bed.runFast(t, k.At, in); action != want {
				t.Errorf("%s: action %d, not %d", k.Name, action, want)
			}
		}
	}
	try(xdpActionRedirect, 6)
	bed.plane.fast.tcp = false
	bed.must(t, bed.plane.fast.setFlags(false))
	try(xdpPass, 6)
	try(xdpActionRedirect, 17)
	bed.must(t, bed.plane.fast.watch(1))
	try(xdpPass, 17)
	bed.must(t, bed.plane.fast.watch(-1))
	try(xdpActionRedirect, 17)
	bed.must(t, bed.plane.setDevices(bed.ifindex["fabric"], nil))
	try(xdpPass, 17)
}

// TestProgramsAfterTheTables: what is loaded when it is first needed uses the tables that are there, whatever
// limits these were made for.
func TestProgramsAfterTheTables(t *testing.T) {
	lab.NeedRoot(t)
	d, err := Load(Options{Name: "later", Blocks: 5000, Hosts: 256, Flows: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.loadFast(); err != nil {
		t.Error(err)
	}
	if _, err := d.fabricXDP(); err != nil {
		t.Error(err)
	}
	for _, hook := range []string{traceTC[false], traceTC[true], traceFast[false], traceFast[true]} {
		if _, err := d.tracer(hook); err != nil {
			t.Error(err)
		}
	}
}
