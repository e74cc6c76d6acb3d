package analysis

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"windtunnel/result"
)

// assumed tells where the machine differs from what the source had: its CPUs, its
// memory, its link, and what else the fingerprint names alike.
func assumed(run result.Run) []result.Doubt {
	var all []result.Doubt
	for _, key := range sortedKeys(run.Assumed) {
		if says := differs(run, key, run.Assumed[key]); says != "" {
			all = append(all, result.Doubt{Kind: "machine", Says: says})
		}
	}
	if rest := notCompared(run); rest != "" {
		all = append(all, result.Doubt{Kind: "machine", Says: rest})
	}
	return all
}

// notCompared names what the source had that this run does not know of itself.
func notCompared(run result.Run) string {
	var rest []string
	for _, key := range sortedKeys(run.Assumed) {
		known := key == "cpus" || key == "memory_bytes" || key == "link_bits_per_second" || key == "data_nic"
		for _, n := range run.Nodes {
			known = known || n.Fingerprint[key] != ""
		}
		if !known {
			rest = append(rest, key+" "+run.Assumed[key])
		}
	}
	if len(rest) == 0 {
		return ""
	}
	return "the source also had, not compared with this run: " + strings.Join(rest, "; ")
}

func differs(run result.Run, key, want string) string {
	switch key {
	case "cpus":
		return perNode(run, "the source's nodes had "+want+" CPUs", want, func(n result.RunNode) string { return strconv.Itoa(len(n.CPUs)) })
	case "memory_bytes":
		return memory(run, want)
	case "link_bits_per_second":
		return link(run, want)
	case "data_nic":
		return dataNIC(run, want)
	}
	return perNode(run, "the source had "+key+" "+want, want, func(n result.RunNode) string { return n.Fingerprint[key] })
}

// perNode compares what each node has; what is not known ("") is not compared.
func perNode(run result.Run, source, want string, of func(result.RunNode) string) string {
	var here []string
	for _, n := range run.Nodes {
		if have := of(n); have != "" && have != want {
			here = append(here, fmt.Sprintf("node %s has %s", n.Name, have))
		}
	}
	if len(here) == 0 {
		return ""
	}
	return source + "; here " + strings.Join(here, ", ")
}

// memory compares with what the kernel says of each host ("MemTotal: 16318468 kB",
// proc(5)), a tenth more or less being the same.
func memory(run result.Run, want string) string {
	source, err := strconv.ParseFloat(want, 64)
	if err != nil || len(run.Nodes) == 0 {
		return ""
	}
	size := func(bytes float64) string { return fmt.Sprintf("%.1f GB", bytes/1e9) }
	of := func(n result.RunNode) string {
		kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(n.Fingerprint["memory.total"], " kB"), 64)
		here := kilobytes * 1024
		if err != nil || math.Abs(here/source-1) < 0.1 {
			return ""
		}
		return size(here)
	}
	says := fmt.Sprintf("the source's nodes had %s of memory", size(source))
	if !run.Simulated {
		return perNode(run, says, "", of)
	}
	if here := of(run.Nodes[0]); here != "" {
		return says + "; here the host of all nodes has " + here
	}
	return ""
}

// link says what the source's was where this run's is another or none: a veth pair that is made has no
// rate of its own.
func link(run result.Run, want string) string {
	rate, err := strconv.ParseFloat(want, 64)
	if err != nil {
		return ""
	}
	if !run.Simulated {
		return perNode(run, fmt.Sprintf("the source's link had %g Gbit/s", rate/1e9), fmt.Sprintf("%g Gbit/s", rate/1e9), func(n result.RunNode) string {
			here, err := strconv.ParseFloat(n.Fingerprint["nic.bits_per_second"], 64)
			if n.Host == "" {
				return ""
			}
			if err != nil {
				return "an interface that does not say its speed"
			}
			return fmt.Sprintf("%g Gbit/s", here/1e9)
		})
	}
	return fmt.Sprintf("the source's link had %g Gbit/s; here the CPUs are the only limit of the wire", rate/1e9)
}

// dataNIC says whether management's packets were beside the data's. Those of simulated nodes never are: agents are
// spoken to by pipes.
func dataNIC(run result.Run, want string) string {
	if !run.Simulated || want != "shared" {
		return ""
	}
	return "the source's nodes had one NIC for data and management; here nothing but the load is on the wire"
}
