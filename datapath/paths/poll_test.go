package paths_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"windtunnel/datapath"
	"windtunnel/result"
)

// cannotBuild is the exit code of scripts/poll.sh where DPDK is missing.
const cannotBuild = 77

// withPollMode puts the programs of poll mode on PATH, built from this tree.
func withPollMode(t *testing.T) {
	t.Helper()
	withVRouter(t)
	text, err := exec.Command("bash", "../../scripts/poll.sh").CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == cannotBuild {
		t.Skip("not measured here: " + strings.TrimSpace(string(text)))
	}
	if err != nil {
		t.Fatalf("building poll mode: %v\n%s", err, text)
	}
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", os.Getenv("PATH")+string(os.PathListSeparator)+bin)
}

// TestPollModeCarriesTCP between containers, whose packets it reads from taps, or by packet sockets.
func TestPollModeCarriesTCP(t *testing.T) {
	withPollMode(t)
	for name, c := range map[string]struct {
		wire          string
		segmentation  datapath.Segmentation
		pair          result.Pair
		encapsulation string
		attach, is    string
	}{
		"two nodes":       {"nic", datapath.SegmentationFound, containers("a", "b"), "mplsoudp", "", "tap"},
		"flat":            {"nic", datapath.SegmentationFound, containers("a", "b"), "none", "veth", "veth"},
		"colocated":       {"nic", datapath.SegmentationFound, containers("b", "b"), "mplsoudp", "tap", "tap"},
		"memory":          {"memory", datapath.SegmentationFound, containers("a", "b"), "vxlan", "", "tap"},
		"no segmentation": {"nic", datapath.SegmentationOff, containers("a", "b"), "mplsogre", "", "veth"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(c.wire, c.segmentation, c.pair)
			r.Options = result.Options{"mode": "poll", "encapsulation": c.encapsulation}
			if c.attach != "" {
				r.Options["attach"] = c.attach
			}
			b := raise(t, "vrouter", r)
			if is := b.laid.Facts["attach"]; is != c.is {
				t.Errorf("containers are attached by %s, not %s", is, c.is)
			}
			b.send(t, "sender", "receiver", 4<<20)
			b.send(t, "receiver", "sender", 4<<20)
		})
	}
}

// TestPollModeHasPorts: the endpoints of frames are at vhost-user sockets, on one node and on two, and
// nothing of them is left.
func TestPollModeHasPorts(t *testing.T) {
	withPollMode(t)
	for name, pair := range map[string]result.Pair{"two nodes": containers("a", "b"), "colocated": containers("a", "a")} {
		t.Run(name, func(t *testing.T) {
			b := raise(t, "vrouter", atPorts(request("nic", datapath.SegmentationFound, pair)))
			var sockets []string
			for _, place := range []string{"sender", "receiver"} {
				node := b.nodes[b.laid.Graph.NodeOf(place)]
				port, address, tester, ok := node.Port(b.laid.Graph.Cell, place)
				if !ok || port.Place != place || address.String() != b.laid.Addresses[place] {
					t.Fatalf("%s: %+v at %s, %v", place, port, address, ok)
				}
				conn, err := net.Dial("unix", tester)
				if err != nil {
					t.Fatal(err)
				}
				conn.Close()
				sockets = append(sockets, tester)
			}
			for name, node := range b.nodes {
				if _, _, _, ok := node.Port(b.laid.Graph.Cell, "nobody"); ok {
					t.Error("nobody has a port")
				}
				if err := node.Restore(t.Context(), b.laid.Graph.Cell); err != nil {
					t.Errorf("node %s: %v", name, err)
				}
			}
			for _, socket := range sockets {
				if _, err := os.Stat(socket); err == nil {
					t.Errorf("%s is left", socket)
				}
			}
		})
	}
}
