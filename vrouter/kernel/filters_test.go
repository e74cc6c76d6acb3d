package kernel

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/internal/golden"
	"windtunnel/vrouter/internal/lab"
	"windtunnel/vrouter/offload"
)

// fakeTable has devices that take filters, as many as there is room for.
type fakeTable struct {
	room     int
	filters  []flowerFilter
	commands []string
	known    map[config.Encapsulation]string
	alive    map[cookie]bool
	keeps    error // a filter that is to be removed
	breaks   error // tc, when it has done the first command
}

type fakeClaim struct {
	of *fakeTable
	is cookie
}

func (c fakeClaim) Close() error { delete(c.of.alive, c.is); return nil }

func newFakeTable(room int) *fakeTable {
	return &fakeTable{room: room, alive: make(map[cookie]bool), known: map[config.Encapsulation]string{config.VXLAN: "vx", config.MPLSoUDP: "bare"}}
}

func (f *fakeTable) offers(ifindex uint32) error                       { return nil }
func (f *fakeTable) tunnels() (map[config.Encapsulation]string, error) { return f.known, nil }
func (f *fakeTable) list() ([]flowerFilter, error)                     { return slices.Clone(f.filters), nil }

func (f *fakeTable) claim(c cookie) (io.Closer, error) {
	if f.alive[c] {
		return nil, errors.New("it is in use")
	}
	f.alive[c] = true
	return fakeClaim{f, c}, nil
}

var handleWord = regexp.MustCompile(` handle (\d+) `)

func (f *fakeTable) put(devices, commands []string) ([]error, error) {
	f.commands = append(f.commands, commands...)
	refused := make([]error, len(commands))
	for i, command := range commands {
		if len(f.filters) == f.room {
			refused[i] = errors.New("no room")
			continue
		}
		handle, _ := strconv.ParseUint(handleWord.FindStringSubmatch(command)[1], 10, 32)
		filter := flowerFilter{handle: uint32(handle), inDevice: true}
		_, mark, _ := strings.Cut(command, " cookie ")
		for c := range f.alive {
			if fmt.Sprintf("%x", c[:]) == mark {
				filter.cookie = c
			}
		}
		f.filters = append(f.filters, filter)
		if f.breaks != nil {
			return nil, f.breaks
		}
	}
	return refused, nil
}

func (f *fakeTable) remove(filter flowerFilter) error {
	if f.keeps != nil {
		return f.keeps
	}
	f.filters = slices.DeleteFunc(f.filters, func(other flowerFilter) bool { return other.cookie == filter.cookie && other.handle == filter.handle })
	return nil
}

// forward has each device forward packets by each of its filters.
func (f *fakeTable) forward(packets uint64) {
	for i := range f.filters {
		f.filters[i].count.Add(core.Count{Packets: packets, Segments: packets, Bytes: 100 * packets})
	}
}

// goldenRules are those of the golden packets' node, in flower's words.
func goldenRules(t *testing.T, c config.Config, m config.Image) offload.Plan {
	t.Helper()
	ports := map[uint32]offload.Port{0: {Name: "fabric", Device: "fabric"}}
	for slot, vif := range m.Vifs {
		ports[slot] = offload.Port{Name: fmt.Sprint(slot), Device: fmt.Sprintf("vif%d", vif.Ifindex)}
	}
	plan := offload.Translate(m, offload.Options{Target: offload.Flower, Ports: ports})
	if len(plan.Rules) < 20 {
		t.Fatalf("%d rules: %v", len(plan.Rules), plan.Refused)
	}
	return plan
}

// testImage is that of the golden packets' node.
func testImage(t *testing.T) (config.Config, config.Image) {
	t.Helper()
	_, c := golden.Load(t)
	ifindex := map[string]uint32{"fabric": 1}
	for i := range uint32(10) {
		ifindex[fmt.Sprintf("vif%d", i+1)] = 2 + i
	}
	m, err := c.Image(golden.Facts(ifindex), config.Image{})
	if err != nil {
		t.Fatal(err)
	}
	return c, m
}

func (f *filterRules) taken() (n int) {
	for _, g := range f.given {
		if g.Taken {
			n++
		}
	}
	return n
}

// TestFiltersAreGiven: what fits is taken and counted, the rest has its reason, and all go before the tables change.
func TestFiltersAreGiven(t *testing.T) {
	c, m := testImage(t)
	plan := goldenRules(t, c, m)
	table := newFakeTable(8)
	delete(table.known, config.MPLSoUDP)
	f := filterRules{table: table, cookie: cookieOf("a")}
	if err := f.give(plan); err != nil {
		t.Fatal(err)
	}
	why := make(map[string]int)
	for _, g := range f.given {
		if fits := slices.ContainsFunc(g.Actions, func(a offload.Action) bool { return a.Do == offload.Fits }); fits && !strings.Contains(g.Why, "what does not fit") {
			t.Errorf("%s: %q", g.Name, g.Why)
		}
		if g.Tunnel != nil && g.Tunnel.Encapsulation == config.MPLSoUDP && g.Why == "no room" {
			t.Errorf("%s: there is no device for it, and it was tried", g.Name)
		}
		why[g.Why]++
	}
	if f.taken() != 8 || why[""] != 8 || why["no room"] == 0 {
		t.Errorf("%d are taken, of %v", f.taken(), why)
	}
	for range 2 {
		table.forward(3)
		if err := f.count(); err != nil {
			t.Fatal(err)
		}
	}
	totals := f.account.Totals()
	if received := totals.Received(); received.Packets != 8*6 || received != totals.Forwarded || received.Bytes != 100*received.Packets {
		t.Errorf("of %d packets %+v is in the account, %+v forwarded", 8*6, received, totals.Forwarded)
	}
	table.forward(1)
	table.filters = table.filters[1:] // an interface goes
	if err := f.withdraw(); err != nil || len(table.filters) != 0 || len(f.given) != 0 {
		t.Errorf("%d filters are left: %v", len(table.filters), err)
	}
	if totals := f.account.Totals(); totals.Forwarded.Packets != 8*6+7 {
		t.Errorf("%d packets are in the account, not %d", totals.Forwarded.Packets, 8*6+7)
	}
	if err := f.give(plan); err != nil || f.taken() != 8 {
		t.Errorf("given again, %d are taken: %v", f.taken(), err)
	}
	table.filters[0].inDevice = false
	if err := f.count(); err != nil || f.taken() != 7 {
		t.Errorf("%d are taken, and a device has lost one of 8: %v", f.taken(), err)
	}
	if err := f.close(); err != nil || len(table.filters) != 0 || len(table.alive) != 0 {
		t.Errorf("%d filters are left: %v", len(table.filters), err)
	}
}

// TestFiltersOfOthers: who starts removes filters of its own name and of vRouters that are gone, and of no other; two of one name do
// not both give filters.
func TestFiltersOfOthers(t *testing.T) {
	c, m := testImage(t)
	plan := goldenRules(t, c, m)
	plan.Rules = slices.DeleteFunc(plan.Rules, func(r offload.Rule) bool { return unfit(r) != "" })[:5]
	table := newFakeTable(100)
	var all []*filterRules
	for _, name := range []string{"a", "b", "dead"} {
		f := &filterRules{table: table, cookie: cookieOf(name)}
		if err := f.give(plan); err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	handles := make(map[uint32]bool)
	for _, f := range table.filters {
		handles[f.handle] = true
	}
	if len(handles) != len(table.filters) {
		t.Errorf("%d filters have %d handles", len(table.filters), len(handles))
	}
	if err := (&filterRules{table: table, cookie: cookieOf("a")}).give(plan); err == nil || !strings.Contains(err.Error(), "another vRouter of the same name") {
		t.Errorf("a second vRouter of the name: %v", err)
	}
	all[2].alive.Close() // it was killed
	all[0].alive.Close()
	next := filterRules{table: table, cookie: cookieOf("a")}
	if err := next.sweep(); err != nil {
		t.Fatal(err)
	}
	for _, f := range table.filters {
		if f.cookie != all[1].cookie {
			t.Errorf("%+v is left", f)
		}
	}
	if len(table.filters) != all[1].taken() || len(table.filters) == 0 {
		t.Errorf("of another vRouter %d filters are left, of %d", len(table.filters), all[1].taken())
	}
}

// TestFiltersThatStay: what cannot be removed is an error, and nothing is given until it could.
func TestFiltersThatStay(t *testing.T) {
	c, m := testImage(t)
	plan := goldenRules(t, c, m)
	table := newFakeTable(8)
	f := filterRules{table: table, cookie: cookieOf("a")}
	table.breaks = errors.New("tc was killed")
	if err := f.give(plan); err == nil || len(table.filters) != 0 || len(f.given) != 0 {
		t.Errorf("tc fails in the middle, and %d filters are left: %v", len(table.filters), err)
	}
	table.breaks = nil
	if err := f.give(plan); err != nil {
		t.Fatal(err)
	}
	table.keeps = errors.New("the driver is deaf")
	for range 2 {
		if err := f.withdraw(); !errors.Is(err, table.keeps) {
			t.Errorf("%v", err)
		}
	}
	before := len(table.commands)
	if err := f.give(plan); !errors.Is(err, table.keeps) || len(table.commands) != before {
		t.Errorf("%d more filters were put: %v", len(table.commands)-before, err)
	}
	table.keeps = nil
	if err := f.give(plan); err != nil || f.taken() != 8 {
		t.Errorf("%d are taken: %v", f.taken(), err)
	}
}

// TestFiltersAccount: what devices take and what the programs do is one account: received = forwarded + passed + answered + dropped,
// of the node and of each port.
func TestFiltersAccount(t *testing.T) {
	lab.NeedRoot(t)
	cases, c := golden.Load(t)
	bed := newPacketBed(t, c)
	table := newFakeTable(1000)
	bed.plane.rules = filterRules{table: table, cookie: cookieOf("packets")}
	m := bed.plane.Image()
	sent := uint64(0)
	if err := bed.plane.GiveRules(goldenRules(t, c, m)); err != nil {
		t.Fatal(err)
	}
	for i, k := range cases {
		if refusesAggregate(k) || len(k.Copies) > 0 {
			continue
		}
		sent++
		bed.run(t, k)
		if i%10 == 0 {
			table.forward(1)
			sent += uint64(len(table.filters))
		}
	}
	if err := bed.plane.WithdrawRules(); err != nil || len(table.filters) != 0 {
		t.Fatal(err)
	}
	totals := bed.totals(t)
	became := totals.Forwarded
	for _, more := range []core.Count{totals.Passed, totals.Answered, totals.Dropped()} {
		became.Add(more)
	}
	if received := totals.Received(); received.Packets != sent || received != became {
		t.Errorf("%d packets were sent, %+v received, of which became %+v", sent, received, became)
	}
	for slot := range m.Vifs {
		count, err := bed.plane.VifCount(slot)
		drops, also := bed.plane.VifDrops(slot)
		from, _ := drops.Dropped()
		if all := count.Forwarded.Packets + count.Answered.Packets + from.Packets; errors.Join(err, also) != nil || count.Rx.Packets != all {
			t.Errorf("vif %d: %d received, %d accounted for: %v", slot, count.Rx.Packets, all, errors.Join(err, also))
		}
	}
	slot := slices.Collect(func(yield func(uint32) bool) {
		for slot := range m.Vifs {
			if bed.plane.rules.account.Vif(slot).Rx.Packets > 0 && !yield(slot) {
				return
			}
		}
	})
	if len(slot) == 0 {
		t.Fatal("no port's packets were taken")
	}
	if err := bed.plane.ClearVifCount(slot[0]); err != nil {
		t.Fatal(err)
	}
	if count, err := bed.plane.VifCount(slot[0]); err != nil || count != (core.VifCount{}) {
		t.Errorf("a new port has %+v: %v", count, err)
	}
}
