package kernel

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"windtunnel/vrouter/internal/lab"
)

// stackRoom is what a program and all that it calls may have of the stack, in bytes: MAX_BPF_STACK. Up
// to Linux 6.7 the kernel counts what each function has in steps of stackStep, and one at least
// (check_max_stack_depth in kernel/bpf/verifier.c).
const (
	stackRoom = 512
	stackStep = 32
)

// TestStack: kernels that count a program's stack in larger steps than this one take it as well.
func TestStack(t *testing.T) {
	lab.NeedRoot(t)
	for name, load := range map[string]func() (*ebpf.CollectionSpec, error){"vr": loadVr, "fast": loadFast, "trace": loadTrace} {
		spec, err := load()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range spec.Maps {
			m.Pinning, m.MaxEntries = ebpf.PinNone, max(m.MaxEntries, 1)
		}
		// BPF_LOG_STATS: how much stack each function has.
		programs, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{Programs: ebpf.ProgramOptions{LogLevel: ebpf.LogLevelStats}})
		if err != nil {
			t.Fatal(err)
		}
		for entry, p := range programs.Programs {
			calls, order := callGraph(spec.Programs[entry].Instructions)
			own, err := stackOf(p.VerifierLog, order)
			if err != nil {
				t.Fatalf("%s of %s: %v", entry, name, err)
			}
			depth, way := deepest(order[0], calls, own)
			t.Logf("%s: %d bytes: %s", entry, depth, way)
			if depth > stackRoom {
				t.Errorf("%s has %d bytes of stack, more than %d: %s", entry, depth, stackRoom, way)
			}
		}
		programs.Close()
	}
}

// callGraph lists a program's functions, the program itself first, and whom each calls.
func callGraph(code asm.Instructions) (calls map[string][]string, order []string) {
	calls = make(map[string][]string)
	for _, ins := range code {
		if name := ins.Symbol(); name != "" {
			order = append(order, name)
		}
		if ins.IsFunctionCall() {
			here := order[len(order)-1]
			calls[here] = append(calls[here], ins.Reference())
		}
	}
	return calls, order
}

var stackDepth = regexp.MustCompile(`stack depth (\S+)`)

// stackOf reads what the verifier says of each function's stack: their bytes, in order.
func stackOf(log string, order []string) (map[string]int, error) {
	found := stackDepth.FindStringSubmatch(log)
	if found == nil {
		return nil, fmt.Errorf("the verifier says nothing of the stack:\n%s", log)
	}
	depths := strings.Split(found[1], "+")
	if len(depths) != len(order) {
		return nil, fmt.Errorf("the verifier tells of %d functions, and there are %d", len(depths), len(order))
	}
	own := make(map[string]int)
	for i, text := range depths {
		bytes, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("the stack's depths are %q: %w", found[1], err)
		}
		own[order[i]] = max((bytes+stackStep-1)/stackStep, 1) * stackStep
	}
	return own, nil
}

// deepest is the most stack that a function has with all that it calls, and how it comes to that.
func deepest(name string, calls map[string][]string, own map[string]int) (most int, way string) {
	for _, callee := range calls[name] {
		if depth, below := deepest(callee, calls, own); depth > most {
			most, way = depth, " > "+below
		}
	}
	return most + own[name], fmt.Sprintf("%s %d%s", name, own[name], way)
}
