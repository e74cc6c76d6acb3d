package paths_test

import (
	"strings"
	"testing"

	"windtunnel/datapath"
	"windtunnel/datapath/paths"
	"windtunnel/result"
	"windtunnel/testbed"
)

// summed asks for checksums in software.
func summed(r datapath.Request) datapath.Request {
	r.Checksum = datapath.ChecksumSoftware
	return r
}

// TestChecksumsAreTheEndpoints: which interfaces leave them to nobody.
func TestChecksumsAreTheEndpoints(t *testing.T) {
	mixed := result.Pair{From: result.Place{Node: "a"}, To: vms("a", "b").To}
	for name, c := range map[string]struct {
		path    string
		request datapath.Request
		want    string
	}{
		"containers": {"bridge", request("nic", datapath.SegmentationFound, containers("a", "b")), "receiver/eth0 sender/eth0"},
		"processes":  {"wire", request("nic", datapath.SegmentationFound, processes()), "a/nic0 b/nic0"},
		"cut":        {"vxlan", request("nic", datapath.SegmentationOff, containers("a", "b")), "receiver/eth0 sender/eth0"},
		"mixed":      {"user-network", request("nic", datapath.SegmentationFound, mixed), "a/nic0"},
	} {
		p, _ := paths.ByName(c.path)
		laid, err := p.Lay(summed(c.request))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		found := map[string]bool{}
		for _, i := range laid.Graph.Interfaces() {
			if on, named := i.Offloads[testbed.TxChecksum]; named && !on {
				found[i.Place+"/"+i.Device] = true
			}
		}
		for want := range strings.FieldsSeq(c.want) {
			if !found[want] {
				t.Errorf("%s: %s leaves checksums to a device; those that do not are %v", name, want, found)
			}
			delete(found, want)
		}
		if len(found) > 0 {
			t.Errorf("%s: %v, not %s", name, found, c.want)
		}
	}
}

func TestChecksumsAreRefusedWhereNobodyLeavesThem(t *testing.T) {
	for name, c := range map[string]struct {
		path    string
		request datapath.Request
		says    string
	}{
		"tap":       {"vrouter", with(request("nic", datapath.SegmentationFound, containers("a", "b")), "mode", "poll"), "at a tap"},
		"finished":  {"testpmd", request("nic", datapath.SegmentationFound, containers("a", "b")), "none that the testbed makes"},
		"an engine": {"macvlan", request("nic", datapath.SegmentationFound, containers("a", "b")), "none that the testbed makes"},
	} {
		p, _ := paths.ByName(c.path)
		if _, err := p.Lay(summed(c.request)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s", name, err, c.says)
		}
	}
}

// TestChecksumsInSoftwareArrive: bytes pass, and the kernel has the features as they should be, on the devices of
// containers and on a node's own.
func TestChecksumsInSoftwareArrive(t *testing.T) {
	for path, pair := range map[string]result.Pair{"bridge": containers("a", "b"), "wire": processes(), "vxlan": containers("a", "b")} {
		b := raise(t, path, summed(request("nic", datapath.SegmentationFound, pair)))
		b.send(t, pair.From.Name(), pair.To.Name(), 1<<20)
	}
}
