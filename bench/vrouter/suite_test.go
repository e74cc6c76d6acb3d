package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"windtunnel/bench"
	"windtunnel/result"
	plan "windtunnel/run"
	"windtunnel/scenario"
	"windtunnel/suites"
)

// suiteText is the part's suite, wherever it is.
func (p suitePart) suiteText(t *testing.T) []byte {
	t.Helper()
	if text, err := suites.Text(p.suite); err == nil {
		return text
	}
	text, err := os.ReadFile(filepath.Join("..", "..", p.suite))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestPartsHaveTheirCells: every cell that a ratio names is in its suite, and has words.
func TestPartsHaveTheirCells(t *testing.T) {
	for _, p := range parts {
		p, ok := p.(suitePart)
		if !ok {
			continue
		}
		spec, err := scenario.Parse(p.suiteText(t), p.title, plan.Vocabulary())
		if err != nil {
			t.Errorf("%s: %v", p.title, err)
			continue
		}
		for _, name := range p.cells() {
			if !slices.ContainsFunc(spec.Cells, func(c scenario.Cell) bool { return c.Name == name }) {
				t.Errorf("%s: the cell %s is not in the suite", p.title, name)
			}
			if cellSays(name) == name {
				t.Errorf("%s: the cell %s has no words", p.title, name)
			}
		}
	}
}

// TestBestOfTheWays: the way with the highest rate has the goals, the others stand beside it, and what
// could not be measured has its reason.
func TestBestOfTheWays(t *testing.T) {
	p := suitePart{title: "test", ways: []string{"gre", "socket"}, ratios: []ratio{{over: best, under: "vxlan"}, {over: "fast", under: "vxlan"}}}
	file := result.File{}
	for name, bytes := range map[string]uint64{"gre": 3e9, "socket": 4e9, "vxlan": 2e9} {
		cell := result.Cell{Name: name, Pairs: []result.Pair{{From: result.Place{Node: "a"}, To: result.Place{Node: "b"}}}}
		file.Cells = append(file.Cells, cell)
		for block := 1; block <= 3; block++ {
			end := result.PairEnd{WindowSeconds: 1, Bytes: bytes}
			file.Trials = append(file.Trials, result.Trial{Cell: name, Block: block, Pairs: []result.PairSample{{From: "a", To: "b", Sender: end, Receiver: end}}})
		}
	}
	file.Cells = append(file.Cells, result.Cell{Name: "fast", Failed: "there is no such thing"})
	rows := p.read(trials{bench.Trials{File: file}}).rows
	var got []string
	for _, row := range rows {
		got = append(got, row.Row())
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{"the best encapsulation, received rate, vRouter, VXLAN", " 2.000 ", "not measured: there is no such thing", "beside it, received rate, vRouter, MPLSoGRE", " 1.500 "} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

// TestGoalsHaveTheirLimits: whatever may be missed can say why.
func TestGoalsHaveTheirLimits(t *testing.T) {
	for _, p := range parts {
		if p, ok := p.(suitePart); ok {
			for _, r := range slices.Concat(p.ratios, p.costs) {
				if (r.goal != bench.Goal{}) != (r.limit != "") {
					t.Errorf("%s: %s/%s has the goal %s and the limit %q", p.title, r.over, r.under, r.goal, r.limit)
				}
			}
		}
	}
	for _, r := range sprayRatios(fewRoutes, fewFlows) {
		if (r.goal != bench.Goal{}) != (r.limit != "") {
			t.Errorf("%s has the goal %s and the limit %q", r.what, r.goal, r.limit)
		}
	}
}

// TestFilteredSaysWhatIs: the bridge's hooks are told of where they are.
func TestFilteredSaysWhatIs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bridge-nf-call-iptables")
	if text := filtered(file); text != "" {
		t.Error(text)
	}
	if err := os.WriteFile(file, []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text := filtered(file); !strings.HasPrefix(text, " Frames on the bridge") {
		t.Error(text)
	}
}
