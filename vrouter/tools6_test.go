package vrouter_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// TestTraceIPv6: as TestTrace and TestLiveTrace.
func TestTraceIPv6(t *testing.T) {
	b := newBed(t, config.MPLSoUDP).withIPv6()
	b.run("--lease")
	to := b.b1.six().address.String()
	out, code := b.a.tool("trace", "--port", "a1", "--to", to, "--proto", "udp", "--json")
	var first control.TraceReply
	if err := json.Unmarshal([]byte(out), &first); err != nil || code != 0 || first.Out == nil || first.Result != "tunnel" {
		t.Fatalf("exit %d, %v: %s", code, err, out)
	}
	if out, _ := b.b.tool("trace", "--fabric", "--hex", first.Out.Hex); !strings.Contains(out, "to port b1, straight into its namespace") {
		t.Errorf("at the other node: %s", out)
	}
	if out, _ := b.a.tool("trace", "--port", "a1", "--to", to, "--proto", "nd"); !strings.Contains(out, "neighbour advertisement of "+to) {
		t.Errorf("who has it: %s", out)
	}
	if !slices.Contains(b.a.ready["kernel_features"].([]any), any("tcx")) {
		return
	}
	links, shown := len(b.a.held()["link_id"]), make(chan string)
	go func() {
		out, _ := b.a.tool("trace", "--live", "--host", to, "--count", "2", "--seconds", "20")
		shown <- out
	}()
	lab.Await(t, "the watch stands", func() bool { return len(b.a.held()["link_id"]) == links+3 })
	if err := ping6(b.a1.six(), b.b1.six().address, 56); err != nil {
		t.Error(err)
	}
	if out := <-shown; !strings.HasSuffix(out, "2 packets matched\n") || !strings.Contains(out, "> "+to) {
		t.Errorf("live: %s", out)
	}
}
