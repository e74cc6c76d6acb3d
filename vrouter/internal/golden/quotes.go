package golden

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// Quote is a packet of a flow, and an ICMP error about its answer: a line of quote.json.
type Quote struct {
	Name  string `json:"name"`
	At    string `json:"at"`
	Same  bool   `json:"same"` // the error must have the flow's way
	Flow  string `json:"flow"`
	Error string `json:"error"`
}

// LoadQuotes reads quote.json, and the configuration in which each of its destinations has several ways: from
// a port to as many as a group may have, from the fabric to the two ports of a network.
func LoadQuotes(t *testing.T) ([]Quote, config.Config) {
	t.Helper()
	_, c := Load(t)
	text, err := os.ReadFile(filepath.Join(Folder(), "testdata", "quote.json"))
	if err != nil {
		t.Fatal(err)
	}
	var quotes []Quote
	if err := json.Unmarshal(text, &quotes); err != nil {
		t.Fatal(err)
	}
	var far []config.Via
	for i := range core.GroupMembers {
		far = append(far, config.Via{Tunnel: netip.AddrFrom4([4]byte{10, 0, 0, byte(2 + i%2)}), Encapsulation: config.MPLSoUDP, Label: uint32(1000 + i)})
	}
	for prefix, ways := range map[string][]config.Via{
		"10.7.0.1/32": far, "fd00:7::1/128": far,
		"10.7.0.2/32": {{Port: "sender"}, {Port: "beside"}}, "fd00:7::2/128": {{Port: "sender"}, {Port: "beside"}},
	} {
		c.Routes = append(c.Routes, config.Route{
			Network: "network1", Prefix: netip.MustParsePrefix(prefix), Via: config.Via{ECMP: config.MakeMembers(ways...)},
		})
	}
	return quotes, c
}

// Way tells the ways of what leaves for a Quote apart: by the label, or by the port's MAC address.
func (q Quote) Way(t *testing.T, out []byte) uint64 {
	t.Helper()
	switch {
	case q.At == "fabric" && len(out) >= 14:
		return binary.BigEndian.Uint64(out) >> 16
	case q.At != "fabric" && len(out) >= 46:
		return uint64(binary.BigEndian.Uint32(out[42:]) >> 12)
	}
	t.Fatalf("%s: what leaves has %d bytes", q.Name, len(out))
	return 0
}

// CheckQuotes lets a mover have every flow and every error, and compares their ways.
func CheckQuotes(t *testing.T, quotes []Quote, send func(at string, frame []byte) []byte) {
	t.Helper()
	other, ways := 0, map[string]map[uint64]bool{"vif1": {}, "fabric": {}}
	for _, q := range quotes {
		var way [2]uint64
		for i, text := range []string{q.Flow, q.Error} {
			frame, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			way[i] = q.Way(t, send(q.At, frame))
			ways[q.At][way[i]] = true
		}
		if q.Same && way[0] != way[1] {
			t.Errorf("%s: the flow has way %d, the error %d", q.Name, way[0], way[1])
		}
		if !q.Same && way[0] != way[1] {
			other++
		}
	}
	if other == 0 {
		t.Error("what is no error has the way of what it carries")
	}
	if far, near := len(ways["vif1"]), len(ways["fabric"]); far < core.GroupMembers/2 || near != 2 { // or all may agree by chance
		t.Errorf("%d ways were used of %d from a port, %d of 2 from the fabric", far, core.GroupMembers, near)
	}
}
