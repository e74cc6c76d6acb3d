//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
)

// searchOf is what a search that ended well found.
func (p *started) searchOf() (s result.Search) {
	p.t.Helper()
	out, code := p.wait()
	if code != 0 {
		p.t.Fatalf("%v: exit code %d: %s%s", p.cmd.Args, code, out, p.errs.String())
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
	return s
}

// tell logs every trial.
func tell(t testing.TB, s result.Search) {
	for _, trial := range s.Trials {
		t.Log(trial.Words(s.Unit), trial.Limit)
	}
}

// searches is how often the token bucket is searched for: three, in `make soak`, must agree.
func searches() int {
	if os.Getenv("SEARCH_SOAK") != "" {
		return 3
	}
	return 1
}

// TestSearchFindsATokenBucket: 1 Gbit/s as tbf counts it, which is the frame without its FCS:
// the payload, 8 bytes of UDP, 20 of IP and 14 of Ethernet. Its queue of 512 KB, which hides an excess of
// 4 Mbit from a trial's losses, must not be taken for the path's rate.
func TestSearchFindsATokenBucket(t *testing.T) { measured(t, testSearchFindsATokenBucket) }

func testSearchFindsATokenBucket(t *attempt) {
	needsRoot(t)
	var before []result.Figure
	for i := range searches() {
		t.Run(fmt.Sprint(i+1), func(t *attempt) {
			r := searchTokenBucket(t)
			for _, other := range before {
				if *r.Low > *other.High || *r.High < *other.Low {
					t.Errorf("%g [%g, %g] and %g [%g, %g] have nothing in common", r.Mean, *r.Low, *r.High, other.Mean, *other.Low, *other.High)
				}
			}
			before = append(before, r)
		})
	}
}

// searchKept searches, and again where other programs kept the sender from its rate, which a search rightly says.
func (b frameBed) searchKept(t testing.TB, args ...string) (s result.Search) {
	t.Helper()
	for range 2 {
		s = b.from.windtunnel(t, append([]string{"search", "10.0.0.2", "--json"}, args...)...).searchOf()
		if s.Found[0].Limit.Verdict != result.GeneratorLimited {
			break
		}
		t.Log("generator-limited: ", s.Found[0].Limit.Says)
	}
	return s
}

// skipStarved ends a test whose search says that other programs had the generator's CPU, by its own count of the time that its threads
// waited in most of the trials that fell short: then there is no rate to be judged. The bound that it found instead must be true.
func skipStarved(t testing.TB, s result.Search, truth float64) {
	t.Helper()
	r := s.Found[0]
	if r.Limit.Verdict != result.GeneratorLimited || !strings.Contains(r.Limit.Says, "had no CPU") {
		return
	}
	if r.Regular || r.Rate.High != nil || r.Rate.Low != nil && *r.Rate.Low > 1.01*truth {
		tell(t, s)
		t.Fatalf("a bound by the generator passes for the path's, %g: %+v", truth, r)
	}
	t.Skip("not measured here: other programs had the generator's CPU: " + r.Limit.Says)
}

// searchTokenBucket lays one out, and searches it.
func searchTokenBucket(t testing.TB) result.Figure {
	bed, middle := bridged(t)
	middle.run("tc qdisc add dev v2 root tbf rate 1gbit burst 128kb limit 512kb")
	receive(t, bed.to, []string{"native"})
	const message = 1400
	const truth = 1e9 * message / (message + 8 + 20 + 14) / (1 - 0.005)
	s := bed.searchKept(t, "--loss", "0.5%", "--message", fmt.Sprintf("%dB", message), "--max", "3Gbit/s", "--budget", "40s")
	r := s.Found[0]
	skipStarved(t, s, truth)
	if !r.Rate.Known() || r.Rate.High == nil {
		tell(t, s)
		t.Fatalf("nothing was found: %+v, doubts %v", r, s.Doubts)
	}
	t.Logf("%s, %.1f s, %d trials, %v; the truth is %s", r.RateWords(s.Unit), s.SpentSeconds, len(s.Trials), s.Doubts, result.FormatLoad(s.Unit, truth))
	if off := r.Rate.Mean/truth - 1; off < -0.01 || off > 0.01 || r.Limit.Verdict != result.PathLimited || s.SpentSeconds > 60 {
		t.Errorf("%s in %.1f s (%s), the truth is %s; doubts %v", r.RateWords(s.Unit), s.SpentSeconds, r.Limit.Verdict, result.FormatLoad(s.Unit, truth), s.Doubts)
	}
	if os.Getenv("SEARCH_TELL") != "" || t.Failed() {
		tell(t, s)
	}
	for _, l := range s.Latencies {
		if l.Reason != "" || !(l.Seconds["p50"].Mean > 0) {
			t.Errorf("latency: %+v", l)
		}
	}
	return r.Rate
}

// throttle makes a group of processes that get a fifth of a CPU, and returns the file that takes
// them in.
func throttle(t testing.TB) string {
	t.Helper()
	for _, way := range []struct {
		root   string
		limits map[string]string
	}{
		{"/sys/fs/cgroup/cpu", map[string]string{"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "20000"}},
		{"/sys/fs/cgroup", map[string]string{"cpu.max": "20000 100000"}},
	} {
		dir := filepath.Join(way.root, fmt.Sprintf("windtunnel-test-%d", os.Getpid()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		written := 0
		for _, name := range []string{"cpu.cfs_period_us", "cpu.cfs_quota_us", "cpu.max"} {
			if value := way.limits[name]; value != "" && os.WriteFile(filepath.Join(dir, name), []byte(value), 0o644) == nil {
				written++
			}
		}
		if written == len(way.limits) {
			return filepath.Join(dir, "cgroup.procs")
		}
	}
	t.Skip("skip: no control group of this machine limits CPU time")
	return ""
}

// TestAThrottledGeneratorIsNoPath: the sender has a fifth of a CPU, the path all it needs.
func TestAThrottledGeneratorIsNoPath(t *testing.T) { measured(t, testAThrottledGeneratorIsNoPath) }

func testAThrottledGeneratorIsNoPath(t *attempt) {
	needsRoot(t)
	bed := direct(t)
	receive(t, bed.to, []string{"native"})
	group := throttle(t)
	search := fmt.Sprintf("echo $$ > %s && exec %s search 10.0.0.2 --json --loss 0.5%% --unit packets/s --max 1Mpps --message 64B --segmentation off --no-latency --budget 15s",
		group, filepath.Join(bin, "windtunnel"))
	s := bed.from.start(t, "sh", "-c", search).searchOf()
	r := s.Found[0]
	t.Logf("%s, %s: %s", r.RateWords(s.Unit), r.Limit.Verdict, r.Limit.Says)
	// A fifth of any CPU sends some thousands of datagrams a second, and never the million that is asked for.
	if r.Limit.Verdict != result.GeneratorLimited || r.Regular || r.Rate.High != nil || r.Rate.Low == nil || *r.Rate.Low < 1000 || *r.Rate.Low > 900e3 {
		t.Errorf("%+v", r)
		tell(t, s)
	}
}

// TestASuiteFindsRates: a search, latencies and blocks at what was found, of a load that any machine
// carries, by a sender that catches up where other programs had its CPU.
func TestASuiteFindsRates(t *testing.T) { measured(t, testASuiteFindsRates) }

func testASuiteFindsRates(t *attempt) {
	needsRoot(t)
	suite := filepath.Join(t.TempDir(), "find.yaml")
	text := "suite: find\nnodes: {a: {cpus: shared}, b: {cpus: shared}}\n" +
		"traffic: {kind: datagram, message: 1400B, burst: 500, find: {loss: [0.1%, 2%], max: 20Mbit/s, min: 1Mbit/s}}\n" +
		"cells:\n  A: {path: bridge, pairs: [{from: {container: sender, on: a}, to: {container: receiver, on: b}}]}\n"
	if err := os.WriteFile(suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got := windtunnel(t, time.Minute, "run", suite, "--budget", "25s", "--json", "--out", filepath.Join(t.TempDir(), "run"))
	if got.code != 0 {
		t.Fatalf("exit code %d: %s%s", got.code, got.out, got.err)
	}
	var report struct {
		Cells map[string]struct {
			Trials int           `json:"trials"`
			Search result.Search `json:"search"`
			Sent   result.Figure `json:"sent_bits_per_second"`
		} `json:"cells"`
	}
	if err := json.Unmarshal([]byte(got.out), &report); err != nil {
		t.Fatal(err)
	}
	cell := report.Cells["A"]
	if r := cell.Search.Found; len(r) != 2 || r[1].LowerBound == 0 || len(cell.Search.Latencies) != 3 || cell.Search.Latencies[0].Reason != "" {
		t.Fatalf("%+v, latencies %+v", r, cell.Search.Latencies)
	}
	lower := cell.Search.Found[0].LowerBound
	if off := cell.Sent.Mean/lower - 1; cell.Trials < 2 || off < -0.1 || off > 0.01 {
		t.Errorf("%d trials sent %g bit/s, found were %g", cell.Trials, cell.Sent.Mean, lower)
	}
}

// TestFramesAreSearched: as datagrams are, through a bridge with a token bucket of 4 Mbit/s, which counts 60 of
// a frame's 64 bytes. Its queue has room for all frames of a trial beyond that, and must not be taken for the path's rate. What is
// said must be true: the path's rate, or where other programs have the generator's CPU, a bound that the path does carry.
func TestFramesAreSearched(t *testing.T) { measured(t, testFramesAreSearched) }

func testFramesAreSearched(t *attempt) {
	needsRoot(t)
	bed, middle := bridged(t)
	middle.run("tc qdisc add dev v2 root tbf rate 4mbit burst 2kb limit 400kb")
	receive(t, bed.to, []string{"native"})
	const truth = 4e6 / (8 * 60) / (1 - 0.01)
	s := bed.searchKept(t, "--kind", "frame", "--burst", "64", "--loss", "1%", "--min", "1k/s", "--max", "40k/s", "--budget", "40s", "--no-latency")
	r := s.Found[0]
	t.Logf("%s, %.1f s, %d trials, %v; the truth is %s", r.RateWords(s.Unit), s.SpentSeconds, len(s.Trials), s.Doubts, result.FormatLoad(s.Unit, truth))
	switch {
	case !r.Rate.Known() || r.Rate.Mean > 1.05*truth:
		t.Errorf("%+v, the truth is %g", r, truth)
	case r.Limit.Verdict == result.GeneratorLimited:
		if r.Rate.High != nil || r.Regular {
			t.Errorf("a bound by the generator passes for the path's: %+v", r)
		}
	case r.Limit.Verdict != result.PathLimited || r.Rate.Mean < 0.95*truth:
		t.Errorf("%+v, the truth is %g", r, truth)
	}
	if t.Failed() {
		tell(t, s)
	}
}
