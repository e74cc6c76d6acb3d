package netns

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"windtunnel/ethtool"
	"windtunnel/testbed"
)

// TestQueuesOfADriver: a NIC's own driver does what cells ask for, which is read back, and has everything as before afterwards. The NIC
// is called data, has 10.0.0.2/24 and at least two queues (scripts/nicqueues.sh).
func TestQueuesOfADriver(t *testing.T) {
	if os.Getenv("NIC_QUEUES") == "" {
		t.Skip("needs a NIC of its own, in an emulated guest: `make nicqueues`")
	}
	look := func() NIC {
		n, err := FindNIC(Way{Address: netip.MustParseAddr("10.0.0.2")})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	own := look()
	t.Logf("%s: %+v, %v", own.Driver, own.Data, own.Files)
	for name, owner := range map[string]func() error{
		"as the driver made it": func() error { return nil },
		"as its owner set it":   func() error { return ownersSettings(own) },
	} {
		if err := owner(); err != nil {
			t.Fatal(name, err)
		}
		before := look()
		before.Pin = filepath.Join(t.TempDir(), "netns")
		b := New("b", []int{0, 1}, t.TempDir())
		if err := b.Take(before); err != nil {
			t.Fatal(name, err)
		}
		for _, found := range askable(before) {
			mustSet(t, b, before, found)
		}
		if err := b.Apply(context.Background(), ofADriver(testbed.Found{Queues: 1, SendQueues: 1, Receive: testbed.ReceiveByRPS, Send: testbed.SendByFirst}), nil); err != nil {
			t.Fatal(name, err)
		}
		if was, err := journalled(t, before).Return(); err != nil || !was {
			t.Fatal(name, was, err)
		}
		if differs := cmp.Diff(before, look(), asWas); differs != "" {
			t.Errorf("%s: %s", name, differs)
		}
		b.host = nil
		_ = b.Close() // its cells miss their wire
	}
}

// ownersSettings are what somebody may have set: unequal shares of the queues, RPS, and other CPUs that send.
func ownersSettings(n NIC) error {
	if err := os.WriteFile("/sys/class/net/data/queues/rx-1/rps_cpus", []byte("1"), 0); err != nil {
		return err
	}
	if err := os.WriteFile("/sys/class/net/data/queues/tx-1/xps_cpus", []byte("3"), 0); err != nil || len(n.Table) == 0 {
		return err
	}
	table := make([]uint32, len(n.Table))
	table[3], table[7] = 1, 1
	return withEthtool(func(tool *ethtool.Socket) error { return tool.SetIndirection("data", table) })
}

// askable is what cells may ask of it.
func askable(n NIC) []testbed.Found {
	all := []testbed.Found{
		{Queues: 1, SendQueues: 1, Receive: testbed.ReceiveByQueue, Send: testbed.SendByFirst},
		{Queues: 1, SendQueues: 1, Receive: testbed.ReceiveByRPS, Send: testbed.SendByCPU},
		{Queues: 2, SendQueues: 2, Receive: testbed.ReceiveByQueue, Send: testbed.SendByFirst},
	}
	if n.Data.Table > 0 {
		all = append(all, testbed.Found{Queues: 2, SendQueues: 2, Receive: testbed.ReceiveByTable, Send: testbed.SendByCPU},
			testbed.Found{Queues: 2, SendQueues: 2, Receive: testbed.ReceiveByFirst, Send: testbed.SendByCPU})
	}
	if n.Data.Steers {
		all = append(all, testbed.Found{Queues: 2, SendQueues: 2, Receive: testbed.ReceiveByRules, Send: testbed.SendByFirst})
	}
	return all
}

// ofADriver is a cell whose interface is a NIC, not one end of a virtual pair.
func ofADriver(found testbed.Found) testbed.Graph {
	g := changing()
	end := &g.Links[0].Ends[1]
	end.Found, end.Steering, end.Offloads = found, "", nil
	if found.Receive == testbed.ReceiveByRules {
		end.Behind = []testbed.Adapter{{MAC: "02:00:00:00:00:01", Address: "172.16.0.1"}}
	}
	for i := range g.Nodes {
		g.Nodes[i].CPUs, g.Nodes[i].NIC = []int{0, 1}, &testbed.NIC{Device: "data", Address: "10.0.0.2/24"}
	}
	return g
}

// mustSet builds a cell and takes it down.
func mustSet(t *testing.T, b *Backend, before NIC, found testbed.Found) {
	t.Helper()
	ctx, g := context.Background(), ofADriver(found)
	if err := b.Apply(ctx, g, nil); err != nil {
		t.Errorf("%+v: %v", found, err)
		return
	}
	if err := b.Verify(ctx, g); err != nil {
		t.Errorf("%+v: %v", found, err)
	}
	if err := b.Restore(ctx, "A"); err != nil {
		t.Errorf("%+v: %v", found, err)
	}
	err := b.host.stack.Do(func() error {
		now := NIC{Device: "data", Files: map[string]string{}}
		now.readSteering(filepath.Join(b.host.stack.sysfs, "class/net/data"))
		if differs := cmp.Diff(before.Files, now.Files); differs != "" {
			t.Errorf("%+v: after the cell: %s", found, differs)
		}
		return withEthtool(func(tool *ethtool.Socket) error {
			err := now.lookAtQueues(tool)
			if now.Data.Channels != before.Data.Channels || !slices.Equal(now.Table, before.Table) || now.Data.Rules > 0 {
				t.Errorf("%+v: after the cell it has %+v, %v", found, now.Data, now.Table)
			}
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}
