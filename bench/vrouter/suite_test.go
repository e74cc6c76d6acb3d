package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"windtunnel/result"
	plan "windtunnel/run"
	"windtunnel/scenario"
	"windtunnel/suites"
)

// text is the part's suite, wherever it is.
func (p suitePart) suiteText(t *testing.T) (text []byte, absent map[string]string) {
	t.Helper()
	if p.text != nil {
		made, absent := p.text()
		return []byte(made), absent
	}
	if text, err := suites.Text(p.suite); err == nil {
		return text, nil
	}
	text, err := os.ReadFile(filepath.Join("..", "..", p.suite))
	if err != nil {
		t.Fatal(err)
	}
	return text, nil
}

// TestPartsHaveTheirCells: every cell that a ratio names is in its suite, or has the reason why not, and
// in words.
func TestPartsHaveTheirCells(t *testing.T) {
	for _, p := range parts {
		p, ok := p.(suitePart)
		if !ok {
			continue
		}
		text, absent := p.suiteText(t)
		spec, err := scenario.Parse(text, p.title, plan.Vocabulary())
		if err != nil {
			t.Errorf("%s: %v", p.title, err)
			continue
		}
		for _, name := range p.cells() {
			known := slices.ContainsFunc(spec.Cells, func(c scenario.Cell) bool { return c.Name == name })
			if known == (absent[name] != "") {
				t.Errorf("%s: the cell %s is in the suite: %t; absent: %q", p.title, name, known, absent[name])
			}
			if cellSays(name) == name {
				t.Errorf("%s: the cell %s has no words", p.title, name)
			}
		}
	}
}

// TestBestOfTheWays: the way with the highest rate has the goals, the others stand beside it, and what
// has no cell has a reason.
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
	rows := p.read(trials{file, map[string]string{"fast": "there is no such thing"}}).rows
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
