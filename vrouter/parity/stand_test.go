package parity

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/internal/golden"
	"windtunnel/vrouter/internal/lab"
	"windtunnel/vrouter/poll"
)

// What the stand says of a packet.
const (
	forwarded = iota
	answered
	passed
	dropped
)

// fate is what the poll mode made of a frame.
type fate struct {
	outcome, drop uint32
	out           []left
}

// left is a frame that left, and where.
type left struct {
	vif   uint32
	bytes []byte
}

// stand is the poll mode's code in its process.
type stand struct {
	t     *testing.T
	plane *poll.Plane
	slots map[string]uint32
	conn  net.Conn
	in    *bufio.Reader
}

func newStand(t *testing.T, c config.Config, ifindex map[string]uint32) *stand {
	t.Helper()
	program := filepath.Join(t.TempDir(), "stand") // its socket lies beside it
	if err := os.Symlink(lab.PollStand(t), program); err != nil {
		t.Fatal(err)
	}
	s := &stand{t: t, slots: map[string]uint32{fabric: 0}}
	var err error
	if s.plane, err = poll.Start(poll.Options{Program: program, Blocks: c.Limits.Blocks(), Hosts: c.Limits.HostBuckets()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.plane.Close() })
	image, err := c.Image(golden.Facts(ifindex), s.plane.Image())
	if err != nil {
		t.Fatal(err)
	}
	plan := config.Diff(s.plane.Image(), image)
	for _, err := range []error{s.plane.Write(plan.Prepare), s.plane.Switch(plan.Switch)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for slot, vif := range image.Vifs {
		for name, number := range ifindex {
			if number == vif.Ifindex {
				s.slots[name] = slot
			}
		}
	}
	lab.Await(t, "the stand listens", func() bool {
		s.conn, err = net.Dial("unix", program+".socket")
		return err == nil
	})
	t.Cleanup(func() { s.conn.Close() })
	s.in = bufio.NewReaderSize(s.conn, 1<<20)
	return s
}

// forward gives it frames, and returns what became of each.
func (s *stand) forward(frames []frame) []fate {
	s.t.Helper()
	ask := binary.NativeEndian.AppendUint32(nil, uint32(len(frames)))
	for _, f := range frames {
		ask = binary.NativeEndian.AppendUint32(ask, s.slots[f.at])
		ask = append(binary.NativeEndian.AppendUint32(ask, uint32(len(f.bytes))), f.bytes...)
	}
	s.must(s.conn.SetDeadline(time.Now().Add(time.Minute)))
	wrote := make(chan error)
	go func() { // it answers before it has read all
		_, err := s.conn.Write(ask)
		wrote <- err
	}()
	fates := make([]fate, len(frames))
	for i := range fates {
		f := &fates[i]
		f.outcome, f.drop = s.number(), s.number()
		for range s.number() {
			vif, bytes := s.number(), make([]byte, s.number())
			_, err := io.ReadFull(s.in, bytes)
			s.must(err)
			f.out = append(f.out, left{vif, bytes})
		}
	}
	s.must(<-wrote)
	return fates
}

func (s *stand) number() uint32 {
	var b [4]byte
	_, err := io.ReadFull(s.in, b[:])
	s.must(err)
	return binary.NativeEndian.Uint32(b[:])
}

// must fails the test; a stand that has ended says why in the plane's problem.
func (s *stand) must(err error) {
	s.t.Helper()
	if err == nil {
		return
	}
	why := s.plane.Problem()
	for range 100 {
		if why != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
		why = s.plane.Problem()
	}
	s.t.Fatalf("asking the stand: %v; the process: %v", err, why)
}

// flows is how many it knows.
func (s *stand) flows() (count int) {
	s.t.Helper()
	s.must(s.plane.EachFlow(func(core.FlowKey, core.Flow) error { count++; return nil }))
	return count
}
