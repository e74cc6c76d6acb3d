// Package layout holds the rules of the source tree as tests: who may import
// whom, and how long a function may grow.
package layout

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "windtunnel/"

// rule says what a package may import of ours, and why it may not import more.
// A pattern ending in /* matches the packages below it, not the package itself.
type rule struct {
	who     string
	may     string
	because string
}

// rules is the table of the design, most special first; what is not listed is
// forbidden. Packages without a rule of their own import nothing of ours.
var rules = []rule{
	{"result", "", "the waist knows nobody, so that everybody can know it"},
	{"ktime", "", "what time the kernel has depends on nothing"},
	{"stats", "result", "mathematics is pure"},
	{"search", "result", "a search is tested on a synthetic device"},
	{"scenario", "result", "a suite is parsed without a machine"},
	{"suites", "", "suites are data"},
	{"ethtool", "", "the kernel's words about a device"},
	{"testbed", "result", "a graph is data"},
	{"testbed/*", "testbed ethtool result", "a backend knows graphs, not paths"},
	{"datapath", "testbed result", "a path is pieces of a graph"},
	{"datapath/paths", "datapath datapath/* result", "the registry"},
	{"datapath/vrouter", "datapath testbed scenario result vrouter/config", "the adapter writes the vRouter's public configuration and nothing else"},
	{"datapath/*", "datapath testbed scenario result", "paths do not know each other"},
	{"traffic", "result", "the interface of a load"},
	{"traffic/kinds", "traffic traffic/*", "the registry"},
	{"traffic/iperf3/*", "traffic traffic/iperf3 result", "what people see of a protocol stands apart from its wire"},
	{"traffic/ntttcp/*", "traffic traffic/ntttcp result", "what people see of a protocol stands apart from its wire"},
	{"traffic/iperf3", "traffic traffic/lobby traffic/stream traffic/datagram result", "a protocol takes an engine, and its server meets clients"},
	{"traffic/ntttcp", "traffic traffic/lobby traffic/stream traffic/datagram result", "a protocol takes an engine, and its server meets clients"},
	{"traffic/frame", "traffic traffic/lobby ethtool ktime result", "frames are sent and timed by BPF programs, too, which have the kernel's clock"},
	{"traffic/lobby", "", "meeting a sender knows no load"},
	{"traffic/*", "traffic traffic/lobby ethtool result", "kinds do not know each other"},
	{"measure", "ethtool result", "probes read counters, not code"},
	{"measure/profile", "ktime result", "a sampler counts stacks, and knows whose they are by what the kernel tells"},
	{"measure/system", "result", "what a system counts is read without knowing why"},
	{"agent/proto", "result testbed traffic", "types only"},
	{"agent/ours", "", "which file a machine needs depends on nothing else"},
	{"agent/ssh", "agent/ours result", "a transport carries what others say"},
	{"agent", "agent/proto agent/ours testbed testbed/* traffic traffic/kinds traffic/generator measure measure/profile measure/system ktime result", "an agent builds, runs and samples"},
	{"run/fake", "run result", "the fake stands beside the interface"},
	{"run", "scenario datapath datapath/paths testbed agent agent/proto search stats result traffic", "the only conductor"},
	{"oneoff", "traffic traffic/kinds traffic/lobby search result", "traffic by hand, and a server that meets senders"},
	{"analysis", "result stats", "findings come from records alone"},
	{"report", "analysis result", "a report needs no machine"},
	{"history", "analysis stats result", "a history is of records, wherever they were made"},
	{"foreign", "result", "what other tools wrote is read without them"},
	{"vrouter/core", "", "what becomes of a packet knows no mover"},
	{"vrouter/core/*", "", "what becomes of a packet knows no mover"},
	{"vrouter/config", "vrouter/core", "a configuration becomes tables without a data plane"},
	{"vrouter/owner", "", "whose an interface is does not depend on the mode"},
	{"vrouter/kernel", "vrouter/config vrouter/core vrouter/owner vrouter/offload ethtool", "the modes do not know each other, nor who asks them"},
	{"vrouter/poll", "vrouter/config vrouter/core vrouter/owner vrouter/offload", "the modes do not know each other, nor who asks them"},
	{"vrouter/**", "vrouter/**", "the vRouter is a product of its own"},
	{"bench/**", "**", "benchmarks compare anything"},
	{"tests/**", "**", "tests look at anything"},
	{"cmd/**", "**", "the doorway"},
}

func matches(pattern, name string) bool {
	switch {
	case pattern == "**":
		return !strings.HasPrefix(name, "cmd/")
	case strings.HasSuffix(pattern, "/**"):
		root := strings.TrimSuffix(pattern, "/**")
		return name == root || strings.HasPrefix(name, root+"/")
	case strings.HasSuffix(pattern, "/*"):
		rest, ok := strings.CutPrefix(name, strings.TrimSuffix(pattern, "*"))
		return ok && !strings.Contains(rest, "/")
	}
	return pattern == name
}

func ruleOf(name string) rule {
	for _, r := range rules {
		if matches(r.who, name) {
			return r
		}
	}
	return rule{who: name, because: "no rule allows it anything"}
}

type listed struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	list := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		who := strings.TrimPrefix(p.ImportPath, module)
		r := ruleOf(who)
		for _, imported := range p.Imports {
			whom, ours := strings.CutPrefix(imported, module)
			if ours && !allowed(r, whom) {
				t.Errorf("%s imports %s; it may import %q, because %s", who, whom, r.may, r.because)
			}
		}
	}
}

func allowed(r rule, whom string) bool {
	for pattern := range strings.FieldsSeq(r.may) {
		if matches(pattern, whom) {
			return true
		}
	}
	return false
}

// TestNoGrabBags keeps out the names under which things gather that have no place.
func TestNoGrabBags(t *testing.T) {
	for _, p := range packages(t) {
		for part := range strings.SplitSeq(p.ImportPath, "/") {
			switch part {
			case "util", "utils", "common", "helper", "helpers", "manager", "misc":
				t.Errorf("package %s: name it after what it does, not %q", p.ImportPath, part)
			}
		}
	}
}
