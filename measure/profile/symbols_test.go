package profile

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestFunctionNames(t *testing.T) {
	for text, want := range map[string]string{
		"tcp_sendmsg\x00rest": "tcp_sendmsg", "tcp_push.isra.0\x00": "tcp_push.isra.0", "veth_xmit [veth]\x00": "veth_xmit",
		"bpf_prog_6deef7357e7b4530_vr_fabric [bpf]\x00": "bpf_prog_6deef7357e7b4530_vr_fabric",
		"0xffffffff80ffffff\x00":                        "", "\x00": "", strings.Repeat("n", 128): strings.Repeat("n", 128),
	} {
		if got := functionName([]byte(text)); got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
}

// TestSymbols: what the kernel answers is what its list of symbols says.
func TestSymbols(t *testing.T) {
	listed, err := kernelFunctions()
	if err != nil || len(listed) == 0 {
		t.Skipf("no list of the kernel's symbols to compare with (root, CONFIG_KALLSYMS, kernel.kptr_restrict): %v", err)
	}
	s, err := Open([]int{0})
	if err != nil {
		t.Skipf("stacks cannot be sampled here: %v", err)
	}
	defer s.Close()
	const nowhere = 0x1000
	stack := []uint64{nowhere}
	for _, at := range listed {
		stack = append(stack, at+1, at+2) // callers go on behind their calls
	}
	names, err := s.Names([]Seen{{Kernel: stack}})
	if err != nil || names[nowhere] != "" {
		t.Errorf("what lies nowhere is called %q: %v", names[nowhere], err)
	}
	for name, at := range listed {
		if names[at] != name || names[at+1] != name {
			t.Errorf("%s is called %q and %q", name, names[at], names[at+1])
		}
	}
}

// TestManyNames: more than the kernel is asked for at once.
func TestManyNames(t *testing.T) {
	s, err := Open([]int{0})
	if err != nil {
		t.Skipf("stacks cannot be sampled here: %v", err)
	}
	defer s.Close()
	var stack []uint64
	for i := range uint64(2*namesAtOnce + 3) {
		stack = append(stack, 0x1000+16*i)
	}
	if names, err := s.Names([]Seen{{Kernel: stack}}); err != nil || len(names) != len(stack) {
		t.Errorf("%d names of %d addresses: %v", len(names), len(stack), err)
	}
}

// TestNamesThatAreNotToBeHad: a failure is told, and nothing is called by a wrong name.
func TestNamesThatAreNotToBeHad(t *testing.T) {
	s, err := Open([]int{0})
	if err != nil {
		t.Skipf("stacks cannot be sampled here: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if names, err := s.Names([]Seen{{Kernel: []uint64{1}}}); err == nil {
		t.Errorf("%v", names)
	}
}

// kernelFunctions are some that every kernel with a network has, by /proc/kallsyms, where their names are not given twice.
func kernelFunctions() (map[string]uint64, error) {
	file, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	wanted := map[string]bool{"tcp_sendmsg": true, "udp_sendmsg": true, "__netif_receive_skb": true, "dev_hard_start_xmit": true, "vfs_write": true}
	found := map[string]uint64{}
	for in := bufio.NewScanner(file); in.Scan(); {
		fields := strings.Fields(in.Text()) // an address, a type, a name, and maybe a module
		if len(fields) < 3 || !wanted[fields[2]] {
			continue
		}
		if at, err := strconv.ParseUint(fields[0], 16, 64); err == nil && at != 0 {
			found[fields[2]] = at
		}
	}
	return found, nil
}
