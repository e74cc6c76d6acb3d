package netns

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"windtunnel/ethtool"
	"windtunnel/testbed"
)

// fakeNIC is a driver's side of an interface's queues, and the kernel's rules for those.
type fakeNIC struct {
	channels ethtool.Channels
	places   int      // of its table; 0: it has none
	table    []uint32 // nil: the driver's own
	lags     bool     // that stays as it was when channels change
	stale    []uint32 // and is this then
	none     bool     // its driver has no channels
	refuses  error    // what it says to others
	sets     int
	ruled    map[uint32]uint32 // queues by the places of rules; nil: it takes none
	ruledBy  string            // what it takes rules for: mac, ip, nothing
}

func (f *fakeNIC) Rules(string) ([]uint32, error) {
	if f.ruled == nil {
		return nil, unix.EOPNOTSUPP
	}
	return slices.Sorted(maps.Keys(f.ruled)), nil
}

func (f *fakeNIC) RuleQueue(_ string, place uint32) (uint32, error) {
	queue, there := f.ruled[place]
	if !there {
		return 0, unix.ENOENT
	}
	return queue, nil
}

func (f *fakeNIC) AddRule(_ string, r ethtool.Rule, place uint32) error {
	if by := map[bool]string{true: "mac", false: "ip"}[len(r.MAC) == 6]; by != f.ruledBy || r.Queue >= f.receives() {
		return unix.EINVAL
	}
	f.ruled[place] = r.Queue
	return nil
}

func (f *fakeNIC) DropRule(_ string, place uint32) error {
	delete(f.ruled, place)
	return nil
}

// TestAdaptersHaveQueuesByRules, by whichever address the driver takes, and all of them are gone afterwards.
func TestAdaptersHaveQueuesByRules(t *testing.T) {
	behind := []testbed.Adapter{{MAC: "02:00:00:00:00:01", Address: "172.16.0.1"}, {MAC: "02:00:00:00:00:02", Address: "172.16.0.2"}, {MAC: "02:00:00:00:00:03", Address: "172.16.0.3"}}
	p := testbed.Interface{Device: "eth1", Behind: behind, Found: testbed.Found{Queues: 3, SendQueues: 3, Receive: testbed.ReceiveByRules}}
	for by, says := range map[string]string{"mac": "", "ip": "", "nothing": "takes no rule that gives 02:00:00:00:00:01 a receive queue"} {
		nic := &fakeNIC{channels: ethtool.Channels{MaxCombined: 8, Combined: 1}, places: 8, ruled: map[uint32]uint32{}, ruledBy: by}
		was := NIC{Device: "eth1"}
		if err := was.lookAtQueues(nic); err != nil || !was.Data.Steers || was.Data.Rules != 0 {
			t.Fatal(was, err)
		}
		err := setQueues(nic, p)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", by, err)
		}
		if want := map[uint32]uint32{0: 1, 1: 2, 2: 1}; says == "" && (!maps.Equal(nic.ruled, want) || !slices.Equal(nic.table, make([]uint32, 8))) {
			t.Errorf("%s: %+v", by, nic)
		}
		if err := queuesDiffer(nic, p); (err == nil) != (says == "") {
			t.Errorf("%s: read back: %v", by, err)
		}
		nic.ruled[1] = 0
		if err := queuesDiffer(nic, p); err == nil || !strings.Contains(err.Error(), "its rules lead to the queues") {
			t.Errorf("%s: another rule: %v", by, err)
		}
		if err := journalled(t, was).putQueuesBack(nic); err != nil || len(nic.ruled) > 0 || nic.table != nil || nic.channels.Combined != 1 {
			t.Errorf("%s: put back: %v, %+v", by, err, nic)
		}
	}
}

func (f *fakeNIC) Channels(string) (ethtool.Channels, error) {
	if f.none {
		return ethtool.Channels{}, unix.EOPNOTSUPP
	}
	return f.channels, nil
}

func (f *fakeNIC) receives() uint32 { return f.channels.Receive + f.channels.Combined }

func (f *fakeNIC) SetChannels(_ string, c ethtool.Channels) error {
	f.sets++
	if slices.ContainsFunc(f.table, func(queue uint32) bool { return queue >= c.Receive+c.Combined }) {
		return unix.EINVAL
	}
	if f.refuses == nil {
		if f.lags && f.table == nil {
			f.stale, _ = f.Indirection("")
		}
		f.channels = c
	}
	return f.refuses
}

func (f *fakeNIC) Indirection(string) ([]uint32, error) {
	if f.places == 0 {
		return nil, unix.EOPNOTSUPP
	}
	if f.table != nil {
		return slices.Clone(f.table), nil
	}
	if f.stale != nil {
		return slices.Clone(f.stale), nil
	}
	own := make([]uint32, f.places)
	for i := range own {
		own[i] = uint32(i) % f.receives()
	}
	return own, nil
}

func (f *fakeNIC) SetIndirection(_ string, queues []uint32) error {
	switch {
	case f.places == 0:
		return unix.EOPNOTSUPP
	case len(queues) != 0 && len(queues) != f.places,
		slices.ContainsFunc(queues, func(queue uint32) bool { return queue >= f.receives() }):
		return unix.EINVAL
	}
	f.table, f.stale = slices.Clone(queues), nil
	if len(queues) == 0 {
		f.table = nil
	}
	return nil
}

// journalled is what whoever cleans up after a dead agent knows of an interface.
func journalled(t *testing.T, n NIC) (read NIC) {
	t.Helper()
	text, err := json.Marshal(n)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// TestFlowsAreSpreadByTheDriversTable, and the table is then its owner's again, or the driver's.
func TestFlowsAreSpreadByTheDriversTable(t *testing.T) {
	owners := []uint32{0, 0, 0, 1, 2, 3, 3, 3}
	for name, c := range map[string]struct {
		table []uint32 // the owner's; nil: the driver's
		found testbed.Found
		want  []uint32
	}{
		"two of four":         {nil, testbed.Found{Queues: 2, SendQueues: 2, Receive: testbed.ReceiveByTable}, []uint32{0, 1, 0, 1, 0, 1, 0, 1}},
		"against the owner's": {owners, testbed.Found{Queues: 2, SendQueues: 2, Receive: testbed.ReceiveByTable}, []uint32{0, 1, 0, 1, 0, 1, 0, 1}},
		"one":                 {owners, testbed.Found{Queues: 1, SendQueues: 1, Receive: testbed.ReceiveByQueue}, make([]uint32, 8)},
		"the first":           {owners, testbed.Found{Queues: 3, SendQueues: 3, Receive: testbed.ReceiveByFirst}, make([]uint32, 8)},
		"as many as it has":   {owners, testbed.Found{Receive: testbed.ReceiveByFirst}, make([]uint32, 8)},
		"and no number":       {owners, testbed.Found{Queues: 4, Receive: testbed.ReceiveByTable}, []uint32{0, 1, 2, 3, 0, 1, 2, 3}},
	} {
		nic := &fakeNIC{channels: ethtool.Channels{MaxCombined: 4, Combined: 4, Other: 1}, places: 8, table: c.table, lags: true}
		was := NIC{Device: "eth1"}
		if err := was.lookAtQueues(nic); err != nil || was.Data.Table != 8 {
			t.Fatal(was, err)
		}
		p := testbed.Interface{Device: "eth1", Found: c.found}
		if err := errors.Join(setQueues(nic, p), queuesDiffer(nic, p)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if now, _ := nic.Indirection(""); !slices.Equal(now, c.want) {
			t.Errorf("%s: the table is %v", name, now)
		}
		if c.found.Receive != testbed.ReceiveByQueue {
			if err := nic.SetIndirection("", []uint32{0, 0, 0, 0, 0, 0, 0, 1}[:8:8]); err == nil && queuesDiffer(nic, p) == nil {
				t.Errorf("%s: another table is not seen", name)
			}
		}
		if err := journalled(t, was).putQueuesBack(nic); err != nil || !slices.Equal(nic.table, c.table) || nic.channels.Combined != 4 {
			t.Errorf("%s: put back: %v, %+v", name, err, nic)
		}
	}
	lost := testbed.Interface{Device: "eth1", Found: testbed.Found{Queues: 2, SendQueues: 2, Receive: testbed.ReceiveByTable}}
	nic := &fakeNIC{channels: ethtool.Channels{MaxCombined: 4, Combined: 2}}
	if err := errors.Join(setQueues(nic, lost), queuesDiffer(nic, lost)); err == nil || !strings.Contains(err.Error(), "table of 0 places") {
		t.Errorf("a driver that has no table by now: %v", err)
	}
}

func TestQueuesAreSetAsChannels(t *testing.T) {
	type channels = ethtool.Channels
	for name, c := range map[string]struct {
		nic  fakeNIC
		want channels
		sets int
		says string
	}{
		"combined":     {fakeNIC{channels: channels{MaxCombined: 8, Combined: 8, Other: 1}}, channels{MaxCombined: 8, Combined: 2, Other: 1}, 1, ""},
		"apart":        {fakeNIC{channels: channels{MaxReceive: 4, MaxTransmit: 4, Receive: 1, Transmit: 1}}, channels{MaxReceive: 4, MaxTransmit: 4, Receive: 2, Transmit: 2}, 1, ""},
		"as they are":  {fakeNIC{channels: channels{MaxCombined: 8, Combined: 2}}, channels{MaxCombined: 8, Combined: 2}, 0, ""},
		"fewer by now": {fakeNIC{channels: channels{MaxCombined: 1, Combined: 1}}, channels{MaxCombined: 1, Combined: 1}, 0, "cannot have 2 receive and 2 send queues by now"},
		"refused":      {fakeNIC{channels: channels{MaxCombined: 8, Combined: 8}, refuses: unix.EBUSY}, channels{MaxCombined: 8, Combined: 8}, 1, "the channels rx 0, tx 0, combined 2"},
		"none by now":  {fakeNIC{none: true}, channels{}, 0, "cannot have 2"},
	} {
		p := testbed.Interface{Device: "eth1", Found: testbed.Found{Queues: 2, SendQueues: 2}}
		err := setQueues(&c.nic, p)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if c.nic.channels != c.want || c.nic.sets != c.sets {
			t.Errorf("%s: %+v after %d changes", name, c.nic.channels, c.nic.sets)
		}
		if differs := queuesDiffer(&c.nic, p); (differs == nil) != (c.says == "") {
			t.Errorf("%s: read back: %v", name, differs)
		}
		if c.nic.none {
			continue
		}
		was := testbed.Channels{Receive: 3, Send: 1}
		if err := setChannels(&c.nic, "eth1", was); !errors.Is(err, c.nic.refuses) || err == nil && (c.nic.channels.Receive != 3 || c.nic.channels.Other != c.want.Other) {
			t.Errorf("%s: put back: %v, %+v", name, err, c.nic.channels)
		}
	}
}

// withQueues has a host's interface use two queues in each direction, which its owner steers, as far as it can.
func withQueues(t *testing.T) {
	t.Helper()
	have := found(t).Data.Channels
	want, able := have.With(2, 2)
	if !able {
		t.Skipf("needs a virtual pair of two queues (Linux 5.17 and later, two CPUs): it has at most %+v", have)
	}
	if err := withEthtool(func(tool *ethtool.Socket) error { return setChannels(tool, "data", want) }); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"rx-1/rps_cpus": "2", "rx-1/rps_flow_cnt": "64", "tx-0/xps_cpus": "2", "tx-1/xps_cpus": "1"} {
		if err := os.WriteFile(filepath.Join("/sys/class/net/data/queues", file), []byte(text), 0); err != nil {
			t.Fatal(err)
		}
	}
}

// TestQueuesOfATakenInterface are as the cell asks, read back, and then as its owner had them, also if nobody is left who set them.
func TestQueuesOfATakenInterface(t *testing.T) {
	asHost(t)
	withQueues(t)
	b, before := taking(t)
	if len(before.Files) < 8 {
		t.Fatalf("of its queues this is known: %v", before.Files)
	}
	ctx := context.Background()
	for name, want := range map[string]testbed.Found{
		"one":    {Queues: 1, SendQueues: 1, Receive: testbed.ReceiveByQueue, Send: testbed.SendByFirst},
		"spread": {Queues: 1, SendQueues: 2, Receive: testbed.ReceiveByRPS, Send: testbed.SendByCPU},
		"two":    {Queues: 2, SendQueues: 2, Receive: testbed.ReceiveByQueue, Send: testbed.SendByFirst},
	} {
		g := changing()
		end := &g.Links[0].Ends[1]
		end.Found, end.Queues, end.CPUAQueue = want, want.Queues, true
		for i := range g.Nodes {
			g.Nodes[i].CPUs = []int{0, 1}
		}
		if err := b.Apply(ctx, g, nil); err != nil {
			t.Fatal(name, err)
		}
		if err := b.Verify(ctx, g); err != nil {
			t.Error(name, err)
		}
		mustSeeTampering(t, b, g)
		if err := b.Restore(ctx, "A"); err != nil {
			t.Fatal(name, err)
		}
		err := b.host.stack.Do(func() error {
			now := NIC{Device: "data", Files: map[string]string{}}
			now.readSteering(filepath.Join(b.host.stack.sysfs, "class/net/data"))
			if differs := cmp.Diff(before.Files, now.Files); differs != "" {
				t.Errorf("%s: after the cell: %s", name, differs)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	g := changing()
	g.Links[0].Ends[1].Found = testbed.Found{Queues: 1, SendQueues: 1, Receive: testbed.ReceiveByRPS, Send: testbed.SendByFirst}
	if err := b.Apply(ctx, g, nil); err != nil {
		t.Fatal(err)
	}
	if was, err := journalled(t, before).Return(); err != nil || !was {
		t.Fatal(was, err)
	}
	if differs := cmp.Diff(before, found(t), asWas); differs != "" {
		t.Error(differs)
	}
	b.host = nil
	_ = b.Close() // its cells miss their wire
}

// mustSeeTampering changes what chooses queues and CPUs behind a cell's back.
func mustSeeTampering(t *testing.T, b *Backend, g testbed.Graph) {
	t.Helper()
	for file, says := range map[string]string{"rx-0/rps_cpus": "rx-0 is steered to the CPUs [1]", "tx-0/xps_cpus": "the CPUs [1] send by tx-0"} {
		err := b.host.stack.Do(func() error {
			path := filepath.Join(b.host.stack.device("data"), "queues", file)
			was, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte("2"), 0); err != nil {
				return err
			}
			cell := b.cells["A"]
			var said []string
			for _, differs := range cell.foundDifferences(b.host.stack, g.Links[0].Ends[1]) {
				said = append(said, differs.Error())
			}
			one := g.Links[0].Ends[1].Found.SendQueues == 1 && strings.HasPrefix(file, "tx")
			if text := strings.Join(said, "; "); !one && !strings.Contains(text, says) {
				t.Errorf("%+v: %q; it should say %q", g.Links[0].Ends[1].Found, text, says)
			}
			return os.WriteFile(path, []byte(strings.TrimSpace(string(was))), 0)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
