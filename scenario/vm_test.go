package scenario

import (
	"strings"
	"testing"

	"windtunnel/result"
)

const machines = `
suite: s
nodes: {a: {}, b: {}}
traffic: {kind: stream}
vm: {cpus: 2, memory: 512MiB}
cells:
  A: {path: wire, pairs: [{from: {vm: x, on: a}, to: {vm: y, nic: 1, on: b}}]}
  B: {like: A, vm: {queues: 2}}
  C: {path: wire, vm: {cpus: 4, memory: 4GiB}, pairs: [{from: a, to: b}]}
`

func TestVirtualMachines(t *testing.T) {
	cells := parse(t, machines).Cells
	want := result.Pair{From: result.Place{Node: "a", Container: "x", VM: "x"}, To: result.Place{Node: "b", Container: "y-1", VM: "y", NIC: 1}}
	if got := cells[0].Pairs[0]; got != want {
		t.Errorf("the pair is %+v", got)
	}
	for i, want := range []VM{{2, 512 << 20, 1}, {2, 512 << 20, 2}, {4, 4 << 30, 1}} {
		if got := cells[i].VM; got != want {
			t.Errorf("cell %s has VMs of %+v, not %+v", cells[i].Name, got, want)
		}
	}
}

func TestVirtualMachinesRefused(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"{vm: x, on: a}", "{vm: x, container: z, on: a}", "a place is a container or a VM"},
		{"{vm: x, on: a}", "{container: x, nic: 1, on: a}", "`nic` is an interface of a VM"},
		{"{vm: x, on: a}", "{vm: x}", "the place lacks `on`"},
		{"{vm: x, on: a}", "{vm: b, on: a}", "the VM `b` has a node's name"},
		{"{vm: x, on: a}", "{vm: y, on: a}, to: b}, {from: {vm: y, on: b}", "`y` is on a already"},
		{"nic: 1", "nic: 8", "`nic` is 8; it lies between 0 and 7"},
		{"512MiB", "64MiB", "from 160MiB to 1TiB"},
		{"queues: 2", "queues: 0", "`queues` of a VM is 0"},
		{"cpus: 2", "cpu: 2", "did you mean `cpus`"},
	} {
		text := strings.Replace(machines, c.old, c.new, 1)
		if _, err := Parse([]byte(text), "s.yaml", words()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.new, err)
		}
	}
}
