package fake_test

import (
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/run/fake"
	"windtunnel/stats"
)

// runsOfPromise is how many seeded runs the promises are measured on.
const runsOfPromise = 1000

// TestFalseDifferences runs identical cells through the whole conductor, with
// the noise of a real machine and the real stopping rule: a difference may be
// claimed, at whatever time the run stops, in at most 5 % of runs.
func TestFalseDifferences(t *testing.T) {
	wrong := 0
	for seed := range uint64(runsOfPromise) {
		e := lastRatio(t, seed, nil, fake.Realistic, 90*time.Second)
		if e.Bounded() && (*e.Low > 1 || *e.High < 1) {
			wrong++
		}
	}
	t.Logf("%d of %d A/A runs claim a difference", wrong, runsOfPromise)
	if wrong > runsOfPromise*5/100 {
		t.Errorf("%d of %d A/A runs claim a difference", wrong, runsOfPromise)
	}
}

// TestTrueDifferences asks for a difference of 10 % at 3 % noise within 15 blocks.
func TestTrueDifferences(t *testing.T) {
	truths := map[string]fake.Truth{"A": {BitsPerSecond: 10e9}, "B": {BitsPerSecond: 9e9}}
	found := 0
	// 15 blocks of two trials of 1.23 s, and the closing time.
	budget := 15*2*1230*time.Millisecond + 1700*time.Millisecond
	for seed := range uint64(runsOfPromise) {
		e := lastRatio(t, seed, truths, fake.Noise{Trial: 0.03, Drift: 0.02}, budget)
		if e.N > 15 {
			t.Fatalf("%d blocks fit the budget", e.N)
		}
		if e.Bounded() && *e.High < 1 {
			found++
		}
	}
	t.Logf("%d of %d runs find the difference", found, runsOfPromise)
	if found < runsOfPromise*90/100 {
		t.Errorf("%d of %d runs find the difference", found, runsOfPromise)
	}
}

func lastRatio(t *testing.T, seed uint64, truths map[string]fake.Truth, noise fake.Noise, budget time.Duration) stats.Estimate {
	t.Helper()
	p := plan(seed, budget, 0.02, []result.Ratio{{Metric: result.ReceivedRate, Over: "B", Under: "A"}}, "A", "B")
	show := silent{ratios: map[string]stats.Estimate{}}
	if _, err := conduct(fake.New(seed, truths, noise), p, &records{}, show); err != nil {
		t.Fatal(err)
	}
	return show.ratios["B/A"]
}
