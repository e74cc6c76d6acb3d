package command

import "testing"

func TestParseUnit(t *testing.T) {
	for _, c := range []struct {
		text string
		base float64
		want float64
	}{
		{"2Gb", ofRates, 2e9}, {"2G", ofRates, 2e9}, {"100M", ofRates, 1e8}, {"0", ofRates, 0},
		{"1.5k", ofRates, 1500}, {"1T", ofRates, 1e12}, {"1e9", ofRates, 1e9}, {"1e3k", ofRates, 1e6},
		{"128k", ofSizes, 131072}, {"128KB", ofSizes, 131072}, {"1m", ofSizes, 1 << 20}, {"1460", ofSizes, 1460},
	} {
		if got, err := parseUnit(c.text, c.base); err != nil || got != c.want {
			t.Errorf("parseUnit(%q) = %v, %v; want %v", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "x", "-1", "10x", "1.2.3", "M", "1e999", "NaN", "+"} {
		if got, err := parseUnit(text, ofRates); err == nil {
			t.Errorf("parseUnit(%q) = %v, want an error", text, got)
		}
	}
}

// TestAmount holds figures that iperf3 3.21 printed, and its edges of rounding.
func TestAmount(t *testing.T) {
	for _, c := range []struct {
		bytes  float64
		format byte
		want   string
	}{
		{0, 'A', "0.00 Bytes"}, {163840, 'A', " 160 KBytes"}, {131072, 'A', " 128 KBytes"},
		{1047728, 'A', "1023 KBytes"}, {1.1 * (1 << 30), 'A', "1.10 GBytes"},
		{0, 'a', "0.00 bits"}, {163840 / 1.0, 'a', "1.31 Mbits"}, {9.42e9 / 8, 'a', "9.42 Gbits"},
		{99.949 * (1 << 20), 'A', "99.9 MBytes"}, {99.951 * (1 << 20), 'A', " 100 MBytes"},
		{9.9949 * (1 << 20), 'A', "9.99 MBytes"}, {9.996 * (1 << 20), 'A', "10.0 MBytes"},
		{1e9 / 8, 'k', "1000000 Kbits"}, {1e9 / 8, 'm', "1000 Mbits"}, {1e9 / 8, 'g', "1.00 Gbits"}, {1e9 / 8, 't', "0.00 Tbits"},
		{1 << 30, 'K', "1048576 KBytes"}, {1 << 30, 'M', "1024 MBytes"}, {1 << 30, 'G', "1.00 GBytes"}, {1 << 30, 'T', "0.00 TBytes"},
		{5e15, 'A', "4547 TBytes"},
	} {
		if got := amount(c.bytes, c.format); got != c.want {
			t.Errorf("amount(%v, %c) = %q, want %q", c.bytes, c.format, got, c.want)
		}
	}
}

func FuzzParseUnit(f *testing.F) {
	for _, seed := range []string{"2Gb", "10M", "1e9", "-", "0x10", "1.e", "9e99999k"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if value, err := parseUnit(text, ofSizes); err == nil && !(value >= 0) {
			t.Errorf("parseUnit(%q) = %v", text, value)
		}
		if _, err := whole(text, ofRates); err != nil {
			return
		}
	})
}
