package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"windtunnel/result"
)

// aRun writes the run of two cells, one of which a suspect was tried with.
func aRun(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := result.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	gap := result.Ratio{Metric: result.ReceivedRate, Over: "B", Under: "A"}
	errs := []error{w.Run(result.Run{Format: result.Format, Suite: "s", Ratios: []result.Ratio{gap, {Metric: result.SentRate, Over: "B", Under: "A"}}, Why: &result.Why{Ratio: gap}})}
	rates := map[string]uint64{"A": 1000, "B": 500, "B+gro": 900}
	for _, name := range []string{"A", "B", "B+gro"} {
		c := result.Cell{Name: name, Path: "wire", Traffic: "stream", Pairs: []result.Pair{{From: result.Place{Node: "a"}, To: result.Place{Node: "b"}}}}
		if name == "B+gro" {
			c.Intervention = &result.Intervention{Ratio: gap, Of: "B", Factor: "gro", Says: "GRO on, as in A"}
		}
		errs = append(errs, w.Cell(c))
	}
	for block := range uint64(8) {
		for name, rate := range rates {
			end := result.PairEnd{WindowSeconds: 1, Bytes: rate*1000 + block*rate%7}
			errs = append(errs, w.Trial(result.Trial{Cell: name, Block: int(block) + 1, Pairs: []result.PairSample{{From: "a", To: "b", Sender: end, Receiver: end}}}))
		}
	}
	errs = append(errs, w.End(result.End{Why: "budget", Blocks: 8}), w.Close())
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestExplainARun(t *testing.T) {
	dir := aRun(t)
	for _, c := range []struct {
		run, ratio string
		code       int
		says       []string
	}{
		{dir, "B/A", exitDone, []string{"B/A: cell B against cell A: 50", "recovers 85 % [", "GRO on, as in A"}},
		{filepath.Join(dir, result.FileName), "B/A", exitDone, []string{"recovers 85 %"}},
		{dir, "B / A", exitDone, []string{"recovers 85 %", "B/A: cell B against cell A: 50"}},
		{dir, "sent: B/A", exitDone, []string{"cell B against cell A"}},
		{dir, "B/C", exitRefused, []string{"unknown ratio `B/C`"}},
	} {
		var out bytes.Buffer
		if code := windtunnel([]string{"explain", c.run, c.ratio}, strings.NewReader(""), &out, &out); code != c.code {
			t.Errorf("%s: exit code %d\n%s", c.ratio, code, out.String())
		}
		for _, want := range c.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", c.ratio, want, out.String())
			}
		}
	}
}

// The flags are for measuring: of a run nothing is measured, nor printed as JSON.
func TestExplainingARunTakesNoFlags(t *testing.T) {
	if code, said := did("explain", aRun(t), "B/A", "--json"); code != exitRefused || !strings.Contains(said, "is a run") {
		t.Errorf("exit code %d: %s", code, said)
	}
}
