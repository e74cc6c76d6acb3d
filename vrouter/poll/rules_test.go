package poll

import (
	"bytes"
	"net/netip"
	"os"
	"strings"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/internal/lab"
	"windtunnel/vrouter/offload"
)

// plannedRules are those of a node that has all encapsulations, over both families.
func plannedRules(t *testing.T) []offload.Rule {
	t.Helper()
	const path = "../offload/testdata/node.json"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse(text, path)
	if err != nil {
		t.Fatal(err)
	}
	facts := config.Facts{FabricIfindex: 10, FabricMTU: 1500, FabricMAC: config.MAC{0x52, 5: 1}, Neighbours: map[netip.Addr]config.MAC{},
		Interfaces: map[string]config.Interface{"v-sender": {Ifindex: 11, MTU: 1430}, "v-wide": {Ifindex: 12, MTU: 1500}, "v-guarded": {Ifindex: 13, MTU: 1430}}}
	for i, a := range []string{"10.0.0.2", "10.0.0.3", "fd00:f::2"} {
		facts.Neighbours[netip.MustParseAddr(a)] = config.MAC{0x52, 5: byte(i + 2)}
	}
	image, err := c.Image(facts, config.Image{})
	if err != nil {
		t.Fatal(err)
	}
	flow, err := offload.ParseFlow("sender,tcp,10.0.1.3:40000,10.0.1.4:5201")
	if err != nil {
		t.Fatal(err)
	}
	rules := offload.Translate(image, offload.Options{Target: offload.RTEFlow, Flows: []offload.Flow{flow}}).Rules
	if len(rules) < 20 {
		t.Fatalf("only %d rules", len(rules))
	}
	return rules
}

// TestEncodeRule: a record says what its rule does: the same headers, as bits, and the same bytes off and on.
func TestEncodeRule(t *testing.T) {
	for _, r := range plannedRules(t) {
		record, err := encodeRule(r)
		if err != nil {
			t.Fatalf("%s: %v", r.Name, err)
		}
		if record.From != r.Vif || int(record.Items) != len(r.Pattern) {
			t.Errorf("%s: %d headers from vif %d, not %d from %d", r.Name, record.Items, record.From, len(r.Pattern), r.Vif)
		}
		for i, item := range r.Pattern {
			spec, mask := item.Header()
			if got := record.Item[i]; ruleKinds[got.Kind] != item.Kind || item.Kind != offload.Integrity && (!bytes.HasPrefix(got.Spec[:], spec) || !bytes.HasPrefix(got.Mask[:], mask)) {
				t.Errorf("%s: header %d is %+v, not %+v", r.Name, i, got, item)
			}
		}
		for _, a := range r.Actions {
			switch a.Do {
			case offload.RawDecap:
				if int(record.Decap) != a.Bytes {
					t.Errorf("%s: %d bytes are taken off, not %d", r.Name, record.Decap, a.Bytes)
				}
			case offload.RawEncap:
				if !bytes.Equal(record.On[:record.Encap], a.Header) {
					t.Errorf("%s: %x is pushed, not %x", r.Name, record.On[:record.Encap], a.Header)
				}
			case offload.ToPort:
				if record.To != a.Vif {
					t.Errorf("%s: it leads to vif %d, not %d", r.Name, record.To, a.Vif)
				}
			}
		}
	}
}

// TestEncodeIntegrity: a device must have found the headers' lengths right, and IPv4's checksum.
func TestEncodeIntegrity(t *testing.T) {
	r := plannedRules(t)[0]
	got := encodeItem(r.Pattern[0])
	const l3, ipv4Checksum, l3Length = 1 << 2, 1 << 5, 1 << 7 // struct rte_flow_item_integrity
	if want := byte(l3 | ipv4Checksum | l3Length); got.Extra != 1 || got.Spec[0] != want || got.Mask[0] != want {
		t.Errorf("%+v is no integrity of the outermost header", got)
	}
}

// TestEncodeRefuses what has no word in rte_flow, or no room.
func TestEncodeRefuses(t *testing.T) {
	for _, r := range []offload.Rule{
		{Actions: []offload.Action{{Do: offload.Fits, Bytes: 100}}},
		{Actions: []offload.Action{{Do: offload.RawEncap, Header: make(offload.Bytes, ruleHeader+1)}}},
		{Actions: []offload.Action{{Do: offload.RawDecap, Bytes: 14}}},
		{Pattern: make([]offload.Item, ruleItems+1)},
	} {
		if record, err := encodeRule(r); err == nil {
			t.Errorf("%+v became %+v", r, record)
		}
	}
}

// TestWrongRules hands the process files of rules that are none, or lie: it refuses each, and goes on.
func TestWrongRules(t *testing.T) {
	lab.NeedRoot(t)
	n := lab.NewNamespace(t)
	p := startIn(t, n)
	n.Must("adding a port", p.process.ask("add 1 af_packet lo 0"))
	rules := plannedRules(t)[:2]
	for _, c := range []struct {
		name, says, why string // the file is refused, or the first rule
		spoil           func(*ruleTable)
	}{
		{"mark", "the file holds no rules", "", func(r *ruleTable) { r.memory[0]++ }},
		{"record", "the file holds no rules", "", func(r *ruleTable) { r.memory[8]++ }},
		{"count", "not as many as it says", "", func(r *ruleTable) { r.memory[12] = 3 }},
		{"many", "not as many as it says", "", func(r *ruleTable) { r.memory[15] = 255 }},
		{"none", "not as many as it says", "", func(r *ruleTable) { r.memory[12] = 0 }},
		{"items", "", "more in it than there is room for", func(r *ruleTable) { r.record(0).Items = 1 << 31 }},
		{"push", "", "more in it than there is room for", func(r *ruleTable) { r.record(0).Encap = ruleHeader + 1 }},
		{"kind", "", "a kind that there is not", func(r *ruleTable) { r.record(0).Item[0].Kind = 10 }},
		{"vif", "", "the vif has no port", func(r *ruleTable) { r.record(0).From = 1 << 20 }},
		{"port", "", "is no device of DPDK's", func(r *ruleTable) { r.record(0).From = 1 }},
	} {
		table, err := newRuleTable(rules)
		if err != nil {
			t.Fatal(err)
		}
		c.spoil(table)
		err = p.process.giveRules(table)
		if c.says == "" {
			n.Must("giving "+c.name, err)
			if got := table.record(0); got.State != ruleRefused || !strings.Contains(string(got.Why[:]), c.why) {
				t.Errorf("%s: state %d, %s", c.name, got.State, got.Why)
			}
			if err := p.process.giveRules(table); err == nil || !strings.Contains(err.Error(), "there are rules already") {
				t.Errorf("%s twice: %v", c.name, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
		n.Must("counting", p.process.ask("count"))
		n.Must("withdrawing", p.process.ask("withdraw"))
		table.close()
	}
}
