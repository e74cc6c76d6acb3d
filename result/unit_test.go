package result

import (
	"fmt"
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	size := func(text string) (any, error) { return ParseSize(text) }
	rate := func(text string) (any, error) { return ParseBitRate(text) }
	seconds := func(text string) (any, error) { return ParseSeconds(text) }
	duration := func(text string) (any, error) { return ParseDuration(text) }
	percent := func(text string) (any, error) { return ParsePercent(text) }
	count := func(text string) (any, error) { return ParseCount(text) }
	for _, c := range []struct {
		parse func(string) (any, error)
		text  string
		want  string
	}{
		{size, "1390B", "1390"},
		{size, "128KiB", "131072"},
		{size, "128 kB", "128000"},
		{size, "4GiB", "4294967296"},
		{size, "1.5KiB", "1536"},
		{size, "0B", "0"},
		{size, "128k", "`128k`: say kB (1000 bytes) or KiB (1024 bytes)"},
		{size, "128", "`128` lacks its unit (valid: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)"},
		{size, "128 bytes", "`128 bytes`: unknown unit `bytes` (valid: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB)"},
		{size, "1.2B", "`1.2B` is not a whole number of bytes"},
		{size, "", "`` is not a size; write it like 1390B or 128KiB"},
		{size, "1.2.3B", "`1.2.3B` is not a size; write it like 1390B or 128KiB"},
		{size, "9000000GB", "9000000000000000"},
		{size, "9008TB", "`9008TB` is too large"},
		{rate, "7375.159 Mbit/s", "7.375159e+09"},
		{rate, "10Gbit/s", "1e+10"},
		{rate, "1Kbit/s", "1000"},
		{rate, "1kbit/s", "1000"},
		{rate, "2500.388Mbit/s", "2.500388e+09"},
		{rate, "10Gbps", "`10Gbps`: say Gbit/s"},
		{rate, "10 Gbit", "`10 Gbit`: say Gbit/s"},
		{rate, "10", "`10` lacks its unit (valid: bit/s, kbit/s, Kbit/s, Mbit/s, Gbit/s, Tbit/s)"},
		{seconds, "500ms", "0.5"},
		{seconds, "1.5 min", "90"},
		{seconds, "3 seconds", "`3 seconds`: say s"},
		{duration, "3s", "3s"},
		{duration, "1us", "1µs"},
		{duration, "3000000h", "`3000000h` is too long"},
		{percent, "14.799%", "14.799"},
		{percent, "5 %", "5"},
		{percent, "0.05", "`0.05` lacks its unit (valid: %)"},
		{count, "8", "8"},
		{count, "-8", "`-8` is not a whole number"},
		{count, "+8", "`+8` is not a whole number"},
		{count, "", "`` is not a whole number"},
		{count, "9223372036854775808", "`9223372036854775808` is too large"},
		{count, "9007199254740993", "`9007199254740993` is too large"},
	} {
		v, err := c.parse(c.text)
		got := fmt.Sprint(v)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q gives %s, want %s", c.text, got, c.want)
		}
	}
}

func TestFormatValue(t *testing.T) {
	for want, c := range map[string]struct {
		t OptionType
		v any
	}{
		"8":       {Count, int64(8)},
		"128KiB":  {Size, int64(131072)},
		"1390B":   {Size, 1390},
		"1500B":   {Size, 1500.0},
		"2kB":     {Size, int64(2000)},
		"2Gbit/s": {BitRate, 2e9},
		"0.5s":    {Duration, 0.5},
		"true":    {Switch, true},
		"cubic":   {Word, "cubic"},
		"imix":    {Size, "imix"},
	} {
		if want == "0.5s" {
			want = (500 * time.Millisecond).String()
		}
		if got := FormatValue(c.t, c.v); got != want {
			t.Errorf("%v is written %s, want %s", c.v, got, want)
		}
	}
}

// TestEveryMetricHasItsUnit fails when a metric is added whose published
// figures would be read without a unit.
func TestEveryMetricHasItsUnit(t *testing.T) {
	for _, word := range MetricWords([]string{"a"}) {
		m, _ := MetricByWord(word)
		if _, err := m.Parse("1"); (err == nil) != (m == Retransmits) {
			t.Errorf("`%s: 1` gives %v", word, err)
		}
	}
}

func TestNearest(t *testing.T) {
	valid := []string{"traffic", "trafo", "wire", "window", "cpu.a", "cpu.b", "A", "B", "max-time", "max-size", "least-size"}
	for word, want := range map[string]string{
		"trafic": "traffic", "TRAFFIC": "traffic", "wrie": "wire", "win": "window", "cpu.c": "cpu.a",
		"a": "A", "C": "", "": "", "quite-another": "", "traff": "traffic", "time": "max-time", "Time": "max-time", "max": "", "size": "", "ime": "",
	} {
		if got, ok := Nearest(word, valid); got != want || ok != (want != "") {
			t.Errorf("%q is near %q, %v; want %q", word, got, ok, want)
		}
	}
}
