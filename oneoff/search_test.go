package oneoff

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/search"
	"windtunnel/traffic"
)

// quick is a goal of short trials: what is tested here is no path.
func quick(loss float64) result.SearchGoal {
	g := search.Lengthened(search.Goal(loss), 0.1)
	g.Width = 0.1
	return g
}

func searchTo(config SendConfig) SearchConfig {
	config.Kind, config.Load = "datagram", nil
	return SearchConfig{SendConfig: config, Method: result.MethodMLR, Goals: []result.SearchGoal{quick(0.2)}, Budget: 20 * time.Second}
}

// searchKept searches again while a busy machine keeps the sender from its rate, which a search rightly says.
func searchKept(t *testing.T, c SearchConfig) (found result.Search, shown int) {
	t.Helper()
	c.Budget = 5 * time.Second
	for range 6 {
		var err error
		shown = 0
		found, err = Search(within(t, 60*time.Second), c, SearchShow{Trial: func(string, result.SearchTrial) { shown++ }})
		if err != nil {
			t.Fatal(err)
		}
		if f := found.Found[0]; f.Limit.Verdict != result.GeneratorLimited && f.Rate.Mean > 0.9*c.Max {
			return found, shown
		}
	}
	t.Fatalf("six searches, and the sender kept no rate: %+v", found.Found[0].Limit)
	return found, shown
}

// TestASmallestLoadThatNoGeneratorReaches is said to be that; of a largest one, which nobody had named, it was said to be below.
func TestASmallestLoadThatNoGeneratorReaches(t *testing.T) {
	config, _ := receiver(t, Native{}, traffic.ServerConfig{MaxClients: 4})
	c := searchTo(config)
	c.Min = 9e12
	c, err := c.Check()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Search(within(t, 30*time.Second), c, SearchShow{}); err == nil || !strings.Contains(err.Error(), "is not above the smallest load of 9Tbit/s") {
		t.Error(err)
	}
}

func TestSearchOverLoopback(t *testing.T) {
	config, _ := receiver(t, Native{}, traffic.ServerConfig{MaxClients: 4})
	c := searchTo(config)
	c.Unit, c.Min, c.Max = result.PacketsPerSecond, 10, 100 // so few that one which leaves some ms late is still of its trial
	c, err := c.Check()
	if err != nil {
		t.Fatal(err)
	}
	found, shown := searchKept(t, c)
	r := found.Found[0]
	if r.Limit.Verdict != result.RateReached || r.LowerBound != 100 || shown != len(found.Trials) {
		t.Errorf("%+v, %d trials shown of %d", r, shown, len(found.Trials))
	}
	if least := r.Rate.Mean; least < 90 || least > 110 {
		t.Errorf("%+v is not near the 100 that were asked for", r.Rate)
	}
	if len(found.Latencies) != 3 || found.Latencies[0].Reason != "" || !(found.Latencies[0].Seconds["p50"].Mean > 0) {
		t.Errorf("latencies: %+v", found.Latencies)
	}
	var text, object strings.Builder
	if err := WriteSearch(&text, c, found); err != nil {
		t.Fatal(err)
	}
	half := result.FormatLoad(c.Unit, found.Latencies[1].Load)
	for _, says := range []string{"at least " + result.FormatLoad(c.Unit, r.Rate.Mean), "at 50 %, " + half, "rate-reached", "IRREGULAR", "exceed ratio 50 %", "duration sum 0.6 s", "final trial duration 0.1 s",
		"initial trial duration 0.1 s", "width 10 % (relative", "conditional throughput", "latency", "as asked for"} {
		if !strings.Contains(text.String(), says) {
			t.Errorf("%q is not in\n%s", says, text.String())
		}
	}
	var back struct{ result.Search }
	if err := WriteSearchJSON(&object, c, found); err != nil || json.Unmarshal([]byte(object.String()), &back) != nil || back.Found[0].LowerBound != 100 || back.Record != "search" {
		t.Errorf("%v: %s", err, object.String())
	}
}

func TestSearchKnowsTheGenerator(t *testing.T) {
	config, _ := receiver(t, Native{}, traffic.ServerConfig{MaxClients: 4})
	c := searchTo(config)
	c.NoLatencies, c.Load = true, result.Options{"message": int64(64)}
	var found result.Search
	var err error
	for range 6 { // a busy machine may leave a receiver no time in a trial so short, which ends a search
		ctx, cancel := context.WithCancel(within(t, 60*time.Second))
		found, err = Search(ctx, c, SearchShow{Trial: func(string, result.SearchTrial) { cancel() }})
		if cancel(); !strings.Contains(found.Error, "nothing arrived in the window") {
			break
		}
		t.Log(found.Error)
	}
	if err != nil || found.Ended != result.SearchInterrupted || len(found.Trials) == 0 {
		t.Fatalf("%+v, %v", found, err)
	}
	if !(found.GeneratorLimit > 1e6) || found.MaxLoad != found.GeneratorLimit || found.Unit != result.BitsPerSecond {
		t.Errorf("the generator reaches %g, the largest load is %g %s", found.GeneratorLimit, found.MaxLoad, found.Unit)
	}
}

// TestASearchMayHaveABurst: its trials have a rate, but for the one that finds out how fast the generator goes.
func TestASearchMayHaveABurst(t *testing.T) {
	c := searchTo(SendConfig{Host: "127.0.0.1"})
	c.Load = result.Options{"burst": int64(8)}
	c, err := c.Check()
	if err != nil || c.Load.Int("burst") != 8 || search.Rated(c.Load) != "" || c.Load.Text("verify") == "" {
		t.Fatalf("%v, %v", c.Load, err)
	}
	for _, perSecond := range []float64{0, 1e6} {
		trial := c.SendConfig
		trial.Load = search.Paced(c.Load, c.Unit, perSecond, 1)
		if trial, err = trial.Check(); err != nil || (trial.Load.Int("burst") == 8) != (perSecond > 0) {
			t.Errorf("at %g: %v, %v", perSecond, trial.Load, err)
		}
	}
}

func TestRefusedSearches(t *testing.T) {
	for says, change := range map[string]func(*SearchConfig){
		"search with datagram or frame": func(c *SearchConfig) { c.Kind = "stream" },
		"unknown unit":                  func(c *SearchConfig) { c.Unit = "bits" },
		"what is searched for":          func(c *SearchConfig) { c.Load = result.Options{"packets": 5.0} },
		"below the maximum":             func(c *SearchConfig) { c.Min, c.Max = 10, 5 },
		"needs a goal":                  func(c *SearchConfig) { c.Goals = nil },
		"no host":                       func(c *SearchConfig) { c.Host = "" },
	} {
		c := searchTo(SendConfig{Host: "127.0.0.1"})
		change(&c)
		if _, err := c.Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// TestStolenTrialsDoNotCount: what comes while a hypervisor has a CPU, at either end, finds queues full, which is not the path's doing.
func TestStolenTrialsDoNotCount(t *testing.T) {
	tries := 0
	end := func(share float64) result.PairEnd {
		return result.PairEnd{WindowSeconds: 0.5, Stolen: &result.Stolen{CPU: 1, Share: share}}
	}
	trial := func(spoiled int, sender, receiver float64) func() (result.PairSample, error) {
		tries = 0
		return func() (result.PairSample, error) {
			if tries++; tries <= spoiled {
				return result.PairSample{Sender: end(sender), Receiver: end(receiver)}, nil
			}
			return result.PairSample{Sender: end(0.05), Receiver: result.PairEnd{WindowSeconds: 0.5, Packets: uint64(tries)}}, nil
		}
	}
	if p, err := counting(trial(2, 0.06, 0)); err != nil || p.Receiver.Packets != 3 {
		t.Errorf("%+v, %v", p, err)
	}
	for says, try := range map[string]func() (result.PairSample, error){
		"10 trials did not count; the last: 6 % of this host's CPU 1 was stolen":      trial(attempts, 0.06, 0),
		"10 trials did not count; the last: 100 % of the receiver's CPU 1 was stolen": trial(attempts, 0, 7e9),
	} {
		tries = 0
		if _, err := counting(try); err == nil || !strings.Contains(err.Error(), says) || tries != attempts {
			t.Errorf("%d tries: %v, not %q", tries, err, says)
		}
	}
	if says := spoiled(result.PairSample{Sender: result.PairEnd{WindowSeconds: 0.1, Stolen: &result.Stolen{Share: 0.1}}}); says != "" {
		t.Errorf("one tick of the clock spoils a trial: %s", says)
	}
}

// TestSilentTrialsAreRepeated, but not for long: a path that carries nothing is told of soon.
func TestSilentTrialsAreRepeated(t *testing.T) {
	for last, want := range map[int]int{2: 3, attempts: silent} {
		tries := 0
		p, err := counting(func() (result.PairSample, error) {
			if tries++; tries <= last {
				return result.PairSample{Receiver: result.PairEnd{Error: traffic.ErrNothing.Error()}}, traffic.ErrNothing
			}
			return result.PairSample{Receiver: result.PairEnd{Packets: 10}}, nil
		})
		if tries != want || (err == nil) != (p.Receiver.Packets == 10) || (err == nil) != (last < silent) {
			t.Errorf("%d silent trials: %d tries, %+v, %v", last, tries, p.Receiver, err)
		}
	}
}
