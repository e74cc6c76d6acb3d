package core_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"windtunnel/vrouter/built"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/internal/golden"
)

// TestFlowOnHost: flow mode, compiled for the host, agrees with plain models of it, and Go tells the
// state of a flow as it does.
func TestFlowOnHost(t *testing.T) {
	output, err := exec.Command(buildHost(t, "flow.c")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	lines := 0
	for line := range strings.Lines(string(output)) {
		var protocol uint8
		var marks uint32
		var state core.FlowState
		if _, err := fmt.Sscan(line, &protocol, &marks, &state); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if got := core.FlowStateOf(protocol, marks); got != state {
			t.Errorf("protocol %d, marks %d: %s, in C %s", protocol, marks, got, state)
		}
		lines++
	}
	if lines != 64 {
		t.Errorf("%d states were compared", lines)
	}
}

// TestFlowTable: threads that make, find and end flows at once lose and double none, count them exactly,
// and never read what another one writes; and as many flows find room as the table is for.
func TestFlowTable(t *testing.T) {
	for _, sanitizers := range []string{"address,undefined", "thread"} {
		t.Run(sanitizers, func(t *testing.T) {
			program := built.C(t, "-O1", sanitizers, filepath.Join(golden.Folder(), "testdata", "flow_table.c"))
			if output, err := exec.Command(program).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
		})
	}
}
