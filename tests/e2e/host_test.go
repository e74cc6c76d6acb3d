//go:build e2e

// Package e2e runs the built program as a user would, as root, in namespaces of
// its own, beside real peers.
package e2e

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// hostState is everything of a host that a run could leave behind, by name.
type hostState map[string]string

// lookAtHost reads the host's state. What counts or ages by itself is left out.
func lookAtHost(t testing.TB) hostState {
	t.Helper()
	s := hostState{}
	s.command("links", "ip", "-d", "link")
	s.command("addresses", "ip", "address")
	s.command("routes", "ip", "route", "show", "table", "all")
	s.command("rules", "ip", "rule")
	s.command("named namespaces", "ip", "netns", "list")
	s.command("qdiscs", "tc", "qdisc")
	s.command("nft", "nft", "list", "ruleset")
	s.command("iptables", "iptables-save")
	s.namespaces()
	s.bpf()
	s.tree("cgroups", "/sys/fs/cgroup")
	s.tree("pins", "/sys/fs/bpf")
	s.tree("leases", "/run/windtunnel")
	s.settings()
	s.processes()
	if mounts, err := os.ReadFile("/proc/self/mounts"); err == nil {
		s["mounts"] = string(mounts)
	}
	return s
}

// ages is what a program prints of things that nobody changes: the timers of a bridge, how long an advertised route is good for, when rules
// were listed, and what they have counted. A host that runs an engine of containers has them all.
var ages = regexp.MustCompile(`(?m) [a-z_]+_timer +[0-9.]+| expires [0-9]+sec|^# .*$|\[[0-9]+:[0-9]+\]| packets [0-9]+ bytes [0-9]+`)

// command keeps what a program prints; one that is not here, or fails, says so
// both times.
func (s hostState) command(name string, argv ...string) {
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	s[name] = fmt.Sprintf("%s%v", ages.ReplaceAll(out, nil), err)
	if argv[0] == "ip" && slices.Contains(argv, "address") {
		s[name] = withoutLifetimes(s[name])
	}
}

func withoutLifetimes(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, "valid_lft") }), "\n")
}

// namespaces are those that any thread is in.
func (s hostState) namespaces() {
	found := map[string]bool{}
	tasks, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*/ns/net")
	for _, task := range tasks {
		if name, err := os.Readlink(task); err == nil {
			found[name] = true
		}
	}
	s["network namespaces"] = strings.Join(slices.Sorted(maps.Keys(found)), "\n")
}

func (s hostState) bpf() {
	var programs, bpfMaps, links []string
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if err != nil {
			break
		}
		programs, id = append(programs, fmt.Sprint(next)), next
	}
	for id := ebpf.MapID(0); ; {
		next, err := ebpf.MapGetNextID(id)
		if err != nil {
			break
		}
		bpfMaps, id = append(bpfMaps, fmt.Sprint(next)), next
	}
	for it := new(link.Iterator); it.Next(); {
		links = append(links, fmt.Sprint(it.ID))
	}
	s["BPF programs"], s["BPF maps"], s["BPF links"] = fmt.Sprint(programs), fmt.Sprint(bpfMaps), fmt.Sprint(links)
}

func (s hostState) tree(name, root string) {
	var paths []string
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && (entry.IsDir() || root != "/sys/fs/cgroup") && entry.Name() != "lock" {
			paths = append(paths, path)
		}
		return nil
	})
	if len(paths) == 1 {
		paths = nil // an empty folder is as good as none
	}
	s[name] = strings.Join(paths, "\n")
}

// settings are sysctls of the network, and each link's offloads and steering.
func (s hostState) settings() {
	_ = filepath.WalkDir("/proc/sys/net", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.Contains(path, "conntrack_count") {
			return nil
		}
		if text, err := os.ReadFile(path); err == nil {
			s["sysctl "+path] = string(text)
		}
		return nil
	})
	devices, _ := filepath.Glob("/sys/class/net/*")
	for _, device := range devices {
		s.command("offloads "+device, "ethtool", "-k", filepath.Base(device))
		queues, _ := filepath.Glob(device + "/queues/rx-*/rps_cpus")
		for _, file := range append(queues, device+"/threaded") {
			text, _ := os.ReadFile(file)
			s[file] = string(text)
		}
	}
}

// processes are ours, by their program's path.
func (s hostState) processes() {
	var ours []string
	for _, p := range processes() {
		ours = append(ours, fmt.Sprintf("%d %s", p.pid, strings.Join(p.args, " ")))
	}
	s["processes"] = strings.Join(ours, "\n")
}

// diff lists what differs, by name, with both sides.
func (s hostState) diff(after hostState) []string {
	var differs []string
	names := map[string]bool{}
	for name := range s {
		names[name] = true
	}
	for name := range after {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if s[name] != after[name] {
			differs = append(differs, fmt.Sprintf("%s\n  before: %s\n  after:  %s", name, s[name], after[name]))
		}
	}
	return differs
}

// atStart are the BPF objects that were here before the first test: what a user's own programs hold.
var atStart = func() hostState { s := hostState{}; s.bpf(); return s }()

// hostAtRest is the host once the kernel has taken away what an earlier test's processes had: a BPF object outlives its
// last user by a grace period of RCU and by the queue that frees it, which a busy machine may keep waiting for seconds.
func hostAtRest(t testing.TB) hostState {
	t.Helper()
	state := lookAtHost(t)
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		time.Sleep(500 * time.Millisecond)
		next := lookAtHost(t)
		if len(state.diff(next)) == 0 && next.hasOnly(atStart) {
			return next
		}
		state = next
	}
	return state
}

// hasOnly says whether every BPF object was there at an earlier time too.
func (s hostState) hasOnly(earlier hostState) bool {
	for name, ids := range earlier {
		known := strings.Fields(strings.Trim(ids, "[]"))
		for _, id := range strings.Fields(strings.Trim(s[name], "[]")) {
			if !slices.Contains(known, id) {
				return false
			}
		}
	}
	return true
}

// mustBeAsBefore waits until the host is as it was: the kernel takes namespaces
// away a little after the last process in them has gone.
func mustBeAsBefore(t testing.TB, before hostState) {
	t.Helper()
	t = strictly(t)
	deadline := time.Now().Add(10 * time.Second)
	for {
		differs := before.diff(lookAtHost(t))
		if len(differs) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the host is not as it was:\n%s", strings.Join(differs, "\n"))
		}
		time.Sleep(100 * time.Millisecond)
	}
}
