//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestOpenVSwitchBetweenHosts is measured there, plain and with its VXLAN, beside another path's bridge of the same name, for its taps outlast a
// switch that is killed, in the one stack that a host's cells have in turn. Both hosts are then as before.
func TestOpenVSwitchBetweenHosts(t *testing.T) { measured(t, testOpenVSwitchBetweenHosts) }

func testOpenVSwitchBetweenHosts(t *attempt) {
	if os.Getenv("HOSTS_SOAK") == "" {
		t.Skip("not measured here: it takes half a minute, and is a part of `make soak` (HOSTS_SOAK=1)")
	}
	needsOpenVSwitch(t)
	besideOthers(t)
	b := newHosts(t)
	before := b.states(t)
	out := filepath.Join(t.TempDir(), "run")
	killed := make(chan string, 1)
	go func() { killed <- b.killASwitch(filepath.Join(out, "run.jsonl"), 60*time.Second) }()
	o := b.run(t, 2*time.Minute, "run", "switches", "--cells", "bridge,ovs,ovs-vxlan", "--nodes", bothHosts, "--budget", "40s", "--precision", "99%", "--window", "200ms", "--out", out, "--json")
	if why := <-killed; why != "" || o.code != 0 {
		t.Errorf("exit code %d, %s\n%s", o.code, why, o.err)
	}
	for name, cell := range parsed(t, o).Cells {
		if cell.Status != "measured" || cell.Trials < 2 || cell.Received.Mean == nil || *cell.Received.Mean < 1e7 {
			t.Errorf("%s: %+v\n%s", name, cell, o.err)
		}
	}
	b.mustBeAsBefore(t, before)
}

// killASwitch kills the second host's Open vSwitch while its cell stands, once a trial of it is in the run's file, and says why it could not.
func (b *hostsBed) killASwitch(run string, limit time.Duration) string {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if text, _ := os.ReadFile(run); !bytes.Contains(text, []byte(`"record":"trial","cell":"ovs"`)) {
			continue
		}
		if b.command(1, "pkill -9 -x ovs-vswitchd").Run() == nil {
			return ""
		}
	}
	return "no switch was killed within " + limit.String()
}
