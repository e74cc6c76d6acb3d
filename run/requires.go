package run

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/scenario"
	"windtunnel/testbed"
)

// Host is what the planner knows of the machine that the nodes are on.
type Host struct {
	// Nodes are the real hosts that the nodes are on, each with what else stands here; nil: nodes are
	// simulated on this one.
	Nodes map[string]Host
	// System is what a real host runs that is no Linux, "Windows 10.0.22631": nothing can be built there.
	System string
	// Architecture is a real host's, by Go's name for it: arm64; "": this machine's.
	Architecture string
	NIC          *NIC // a real host's end of the wire
	// Members are its ends of further wires, for cells whose nodes are joined by several.
	Members []NIC
	NoNIC   string // why it has none
	// Engine is a real host's container engine, and NoEngine why it has none, or none was looked for.
	Engine   *testbed.HostEngine
	NoEngine string
	meshed   bool // a cell of the suite uses more than two of Nodes

	CPUs        []int
	MemoryBytes int64
	Kernel      string            // its release: 6.18.44
	Missing     map[string]string // features that it lacks, with the reason; nil: not looked at
	// Find says why a program that a path runs is not to be had, by an Unfit if it is there; nil: not looked for.
	Find func(program string) error
}

// Unfit is why a program that is there does not start.
type Unfit string

func (u Unfit) Error() string { return string(u) }

// unmet says which requirement the host does not meet for the given nodes, "" if
// it meets all. What is unmet is "not measured here", never a failure.
func (h Host) unmet(needs scenario.Requirements, nodes []result.RunNode) string {
	for _, node := range nodes {
		if len(node.Exec) == 0 && len(node.CPUs) < needs.CPUs {
			return fmt.Sprintf("needs %d CPUs a node, node %s has %d", needs.CPUs, node.Name, len(node.CPUs))
		}
	}
	if h.Nodes == nil {
		return h.unmetHere(needs, len(nodes))
	}
	return h.look(names(nodes), func(h Host, _ string) string { return h.unmetHere(needs, 1) })
}

// unmetHere says what one machine with so many nodes does not meet.
func (h Host) unmetHere(needs scenario.Requirements, nodes int) string {
	if perNode := h.MemoryBytes / int64(max(1, nodes)); needs.MemoryBytes > 0 && h.MemoryBytes > 0 && perNode < needs.MemoryBytes {
		return fmt.Sprintf("needs %d MiB of memory a node, there are %d", needs.MemoryBytes>>20, perNode>>20)
	}
	if needs.Kernel != "" && h.System != "" {
		return fmt.Sprintf("needs Linux %s, this is %s", needs.Kernel, h.System)
	}
	if needs.Kernel != "" && h.Kernel != "" && olderThan(h.Kernel, needs.Kernel) {
		return fmt.Sprintf("needs Linux %s, this is %s", needs.Kernel, h.Kernel)
	}
	return h.lacks(needs.Features)
}

func names(nodes []result.RunNode) []string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Name)
	}
	return all
}

// lacks says which of the features is missing, "" if none is.
func (h Host) lacks(features []string) string {
	for _, feature := range features {
		if why := h.Missing[feature]; why != "" {
			return fmt.Sprintf("needs %s: %s", feature, why)
		}
	}
	return ""
}

// missing are the features that the nodes' machines lack, each with one's reason.
func (h Host) missing(nodes []result.RunNode) map[string]string {
	if h.Nodes == nil {
		return h.Missing
	}
	all := map[string]string{}
	for _, feature := range testbed.Features {
		if why := h.look(names(nodes), func(h Host, _ string) string { return h.Missing[feature] }); why != "" {
			all[feature] = why
		}
	}
	return all
}

// lacksMemory says by how much the virtual machines of a graph are larger than the host, "" if they are not. An eighth is
// left to the host.
func (h Host) lacksMemory(g Graph) string {
	sum := int64(0)
	for _, v := range g.VMs {
		sum += v.MemoryBytes
	}
	if sum == 0 || h.MemoryBytes == 0 || sum <= h.MemoryBytes-h.MemoryBytes/8 {
		return ""
	}
	return fmt.Sprintf("its virtual machines have %d MiB of memory, and this machine %d", sum>>20, h.MemoryBytes>>20)
}

// lacksPrograms says which of the programs that a path runs on a node, "" being any, is missing, and how to
// get it, "" if none is.
func (h Host) lacksPrograms(path datapath.Path, laid datapath.Laid, node string) string {
	if h.Find == nil {
		return ""
	}
	needs := laid.Programs
	if !slices.ContainsFunc(laid.Graph.Nodes, func(n testbed.Node) bool { return n.InPlace }) { // whose engines run already
		needs = append(datapath.Programs(path), needs...)
	}
	for _, p := range needs {
		if node != "" && p.Node != "" && p.Node != node {
			continue
		}
		var unfit Unfit
		if err := h.Find(p.Name); errors.As(err, &unfit) {
			return fmt.Sprintf("the program %s does not start: %s", p.Name, unfit)
		} else if err != nil {
			return fmt.Sprintf("needs the program %s: %s", p.Name, p.Install)
		}
	}
	return ""
}

// needed is what a graph needs of a host's kernel: of one that is no Linux nothing.
func (h Host) needed(g Graph) []string {
	if h.System != "" {
		return nil
	}
	return featuresOf(g)
}

// featuresOf is what a graph needs of the kernel, by the names of
// testbed.Features.
func featuresOf(g Graph) []string {
	needs := []string{testbed.FeatureNetns, testbed.FeatureVeth}
	if len(g.Bridges) > 0 {
		needs = append(needs, testbed.FeatureBridge)
	}
	if len(g.Bonds) > 0 {
		needs = append(needs, testbed.FeatureBonding)
	}
	if len(g.VXLANs) > 0 {
		needs = append(needs, testbed.FeatureVXLAN)
	}
	if slices.ContainsFunc(g.Interfaces(), func(i testbed.Interface) bool { return i.QueueBy != testbed.QueueByKernel || i.Loss > 0 }) {
		needs = append(needs, testbed.FeatureTCX)
	}
	if slices.ContainsFunc(g.Interfaces(), func(i testbed.Interface) bool { return i.BitsPerSecond > 0 }) {
		needs = append(needs, testbed.FeatureShaper)
	}
	if len(g.VMs) > 0 {
		needs = append(needs, testbed.FeatureTap, testbed.FeatureGuestKernel)
	}
	if slices.ContainsFunc(g.VMs, func(v testbed.VM) bool { return v.Container != nil }) {
		needs = append(needs, testbed.FeatureGuestContainer)
	}
	for _, d := range g.Daemons {
		needs = append(needs, d.Needs...)
	}
	if slices.ContainsFunc(g.Engines, testbed.Engine.Macvlan) {
		needs = append(needs, testbed.FeatureMacvlan)
	}
	return needs
}

// olderThan compares kernel releases by their leading numbers: 5.15.0-91 is
// older than 6.8.
func olderThan(release, least string) bool {
	have, want := numbers(release), numbers(least)
	for i := range want {
		if i >= len(have) || have[i] < want[i] {
			return true
		}
		if have[i] > want[i] {
			return false
		}
	}
	return false
}

func numbers(release string) []int {
	var all []int
	for part := range strings.SplitSeq(release, ".") {
		end := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' })
		digits := part
		if end >= 0 {
			digits = part[:end]
		}
		n, err := strconv.Atoi(digits)
		if err != nil {
			return all
		}
		all = append(all, n)
		if end >= 0 {
			return all
		}
	}
	return all
}
