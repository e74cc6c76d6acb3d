package frame

import (
	"reflect"
	"strings"
	"testing"

	"windtunnel/result"
)

func TestDefaults(t *testing.T) {
	got, err := parseLoad(nil)
	want := load{sizes: mix{64}, flows: 1, burst: 16, threads: 1, method: "auto", sink: "auto"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestOptions(t *testing.T) {
	cases := map[string]struct {
		given result.Options
		says  string
	}{
		"all":                {result.Options{"size": 1518, "flows": 1000.0, "vary": "addresses", "packets": 1e6, "burst": 7, "threads": 4, "method": "xdp", "sink": "tc"}, ""},
		"the mix":            {result.Options{"size": "imix"}, ""},
		"another mix":        {result.Options{"size": "imax"}, "option size: its value is a string, not a size"},
		"small":              {result.Options{"size": 60}, "option size: `60B` is too small; at least 64B"},
		"many flows":         {result.Options{"flows": 1_000_001}, "option flows: `1000001` is too large"},
		"idle threads":       {result.Options{"threads": 2}, "set flows to at least 2"},
		"nothing to burst":   {result.Options{"burst": 3}, "`burst: 3` has no effect without packets"},
		"as fast as it goes": {result.Options{"burst": 3, "packets": 0.0}, "`burst: 3` has no effect without packets"},
		"unknown method":     {result.Options{"method": "dpdk"}, "valid: auto, xdp, af-packet"},
		"a rate of nonsense": {result.Options{"packets": -1.0}, "option packets: `-1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := parseLoad(c.given)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestASearchMayHaveABurst: what is asked of its load before a trial needs no rate.
func TestASearchMayHaveABurst(t *testing.T) {
	if program, _, err := (Kind{}).Generator(result.Options{"burst": int64(8)}); program != "" || err != nil {
		t.Errorf("%q, %v", program, err)
	}
}

// TestShares: every flow has one thread.
func TestShares(t *testing.T) {
	for _, l := range []load{{flows: 1, threads: 1}, {flows: 7, threads: 3}, {flows: 1_000_000, threads: 256}} {
		next := uint32(0)
		for i := range l.threads {
			first, end := l.share(i)
			if first != next || end <= first {
				t.Fatalf("thread %d of %+v has flows %d to %d", i, l, first, end)
			}
			next = end
		}
		if next != l.flows {
			t.Errorf("%d of %d flows have a thread", next, l.flows)
		}
	}
}

func TestBurstFollowsTheRate(t *testing.T) {
	for rate, want := range map[float64]int{10: 16, 10_000: 100, 10e6: 256} {
		if l, err := parseLoad(result.Options{"packets": rate}); err != nil || l.burst != want {
			t.Errorf("%g/s: burst %d, %v", rate, l.burst, err)
		}
	}
}
