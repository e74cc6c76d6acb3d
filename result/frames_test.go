package result

import "testing"

// TestSizesAreWhole: a size of five digits was told in four of them.
func TestSizesAreWhole(t *testing.T) {
	for want, f := range map[string]Frames{
		"65535 bytes with FCS, 65555 on the wire with preamble and gap":                           {Size: 65535, WireSize: 65555},
		"9018 bytes with FCS, 9038 on the wire with preamble and gap":                             {Size: 9018, WireSize: 9038},
		"353.8 bytes with FCS, 373.8 on the wire with preamble and gap, on the mean of aA (a 64)": {Size: 4246.0 / 12, WireSize: 4246.0/12 + 20, Mix: "aA (a 64)"},
	} {
		if got := f.Sizes(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
