package config_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"windtunnel/vrouter/config"
)

func TestCompare(t *testing.T) {
	next := parsed
	next.Ports = slices.Clone(parsed.Ports)
	next.Ports[0].Label = 0
	networks := config.Compare(parsed.Networks, next.Networks, config.NetworkKey, "name")
	if !networks.Empty() || networks.Counts.Same != 1 {
		t.Errorf("networks: %+v", networks)
	}
	ports := config.Compare(parsed.Ports, next.Ports, config.PortKey, "name")
	want := []config.Difference{{Key: "sender", Fields: []config.FieldChange{{Name: "label", From: "16", To: ""}}}}
	if diff := cmp.Diff(want, ports.Changed); diff != "" {
		t.Error(diff)
	}
	gone := config.Compare(parsed.Ports, nil, config.PortKey, "name")
	if gone.Counts != (config.Counts{Removed: 1}) || gone.Removed[0].Key != "sender" || len(gone.Removed[0].Fields) == 0 {
		t.Errorf("%+v", gone)
	}
}

// TestCompareNothing: the lists are there in JSON, also when they are empty.
func TestCompareNothing(t *testing.T) {
	text, err := json.Marshal(config.Compare(nil, nil, config.PortKey))
	if want := `{"added":[],"removed":[],"changed":[],"counts":{"added":0,"removed":0,"changed":0,"same":0}}`; err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
}

func imageOf(t *testing.T, c config.Config, previous config.Image) config.Image {
	t.Helper()
	image, err := c.Image(config.Facts{FabricMTU: 1500}, previous)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func TestCompareRoutes(t *testing.T) {
	first := imageOf(t, parsed, config.Image{})
	c := parsed
	c.Routes = slices.Clone(parsed.Routes)
	c.Routes[0].Via.Tunnel = netip.MustParseAddr("10.0.0.3")
	more := c.Routes[0]
	more.Prefix = netip.MustParsePrefix("10.0.1.0/25")
	c.Routes = append(c.Routes, more)
	second := imageOf(t, c, first)
	got := config.CompareRoutes(first, second)
	changed := []config.Difference{{Key: "network1 10.0.1.4/32", Fields: []config.FieldChange{{Name: "via.tunnel", From: "10.0.0.2", To: "10.0.0.3"}}}}
	if diff := cmp.Diff(changed, got.Changed); diff != "" {
		t.Error(diff)
	}
	added := []config.Entry{{Key: "network1 10.0.1.0/25", Fields: []config.Field{
		{Name: "via.tunnel", Value: "10.0.0.3"}, {Name: "via.encapsulation", Value: "mplsoudp"}, {Name: "via.label", Value: "17"},
	}}}
	if diff := cmp.Diff(added, got.Added); diff != "" {
		t.Error(diff)
	}
	if back := config.CompareRoutes(second, first); back.Counts != (config.Counts{Removed: 1, Changed: 1}) || cmp.Diff(added, back.Removed) != "" {
		t.Errorf("back: %+v", back)
	}
	if same := config.CompareRoutes(second, second); same.Counts != (config.Counts{Same: 2}) {
		t.Errorf("with itself: %+v", same)
	}
	c.Networks, c.Ports, c.Routes = nil, nil, nil
	if none := config.CompareRoutes(second, imageOf(t, c, second)); none.Counts != (config.Counts{Removed: 2}) {
		t.Errorf("without the network: %+v", none)
	}
}

// TestCompareManyRoutes: the lists are bounded, the counts are not.
func TestCompareManyRoutes(t *testing.T) {
	c := parsed
	c.Routes = nil
	for i := range 3 * config.ListedChanges {
		r := parsed.Routes[0]
		r.Prefix = netip.MustParsePrefix(fmt.Sprintf("10.%d.%d.0/24", 2+i/256, i%256))
		c.Routes = append(c.Routes, r)
	}
	empty := c
	empty.Routes = nil
	before := imageOf(t, empty, config.Image{})
	got := config.CompareRoutes(before, imageOf(t, c, before))
	if len(got.Added) != config.ListedChanges || got.Counts != (config.Counts{Added: len(c.Routes)}) {
		t.Errorf("%d listed of %+v", len(got.Added), got.Counts)
	}
}
