package report

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"windtunnel/analysis"
	"windtunnel/result"
)

func title(f analysis.Findings) string {
	if f.Run.Asks == "" {
		return f.Run.Suite
	}
	return f.Run.Suite + ": " + f.Run.Asks
}

// intro says what was run, in words.
func intro(f analysis.Findings) []string {
	text := fmt.Sprintf("Run %s of %s: %s.", f.Run.ID, f.Run.StartedAt, extent(f))
	if wire, ok := wires[f.Run.Wire]; ok {
		text += " " + wire
	}
	if nodes := cpus(f.Run); nodes != "" {
		text += " " + nodes
	}
	if tcp := congestion(f); tcp != "" {
		text += " TCP uses " + tcp + "."
	}
	if f.End == nil {
		text += " The run did not end by itself; this is what it left."
	}
	return []string{text}
}

// extent is how much was measured.
func extent(f analysis.Findings) string {
	if f.Measured() == 0 {
		return "no cell was measured"
	}
	text := blocks(f) + " of " + count(f.Measured(), "cell")
	if w := windows(f); w != "" {
		text += ", each trial " + w
	}
	return text
}

// blocks is how many have all cells and, where later ones left cells out whose ratios were known, how many
// the cell that has most is in.
func blocks(f analysis.Findings) string {
	most := f.Blocks
	for _, c := range f.Cells {
		most = max(most, c.Trials)
	}
	if most > f.Blocks && f.Blocks > 0 {
		return fmt.Sprintf("%d to %s", f.Blocks, count(most, "block"))
	}
	return count(f.Blocks, "block")
}

// congestion is the congestion control, where every cell's is the same; where not,
// a doubt says so.
func congestion(f analysis.Findings) string {
	name := ""
	for _, c := range f.Cells {
		if name != "" && c.Congestion != "" && c.Congestion != name {
			return ""
		}
		if c.Congestion != "" {
			name = c.Congestion
		}
	}
	return name
}

// wires say what the kinds of wire mean for the figures.
var wires = map[string]string{
	"nic":      "The wire is as a NIC: packets cross it at MTU size.",
	"memory":   "The wire is as memory: packets cross it unsegmented, up to 64 KiB.",
	"network":  "The wire is a real network.",
	"foreign":  "Another tool measured; what lay between the ends is not known.",
	"existing": "Nothing was built or changed: traffic went between places that ran already.",
}

// windows is the windows' length, where it is the same in every cell.
func windows(f analysis.Findings) string {
	seconds := 0.0
	for _, c := range f.Cells {
		if c.WindowSeconds > 0 && seconds > 0 && c.WindowSeconds != seconds {
			return ""
		}
		if c.WindowSeconds > 0 {
			seconds = c.WindowSeconds
		}
	}
	if seconds == 0 {
		return ""
	}
	return strconv.FormatFloat(seconds, 'g', 3, 64) + " s"
}

// cpus says what each node has: CPU % in the tables is of all of them.
func cpus(run result.Run) string {
	var nodes []string
	for _, n := range run.Nodes {
		if len(n.CPUs) > 0 {
			nodes = append(nodes, fmt.Sprintf("%s has %s", n.Name, count(len(n.CPUs), "CPU")))
		}
	}
	if len(nodes) == 0 {
		return ""
	}
	return "Node " + strings.Join(nodes, ", node ") + "; CPU % is of all the CPUs of a node."
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// again is how to repeat the run: its command, with the seed that it used. The
// folder of the output is left out, because a run never overwrites another.
func again(f analysis.Findings) section {
	var words []string
	seeded, skip := f.Run.Foreign != "", false // another tool's files have no seed
	for i, word := range f.Run.Command {
		switch {
		case skip:
			skip = false
		case i == 0:
			words = append(words, quote(filepath.Base(word)))
		case word == "--out":
			skip = true
		case strings.HasPrefix(word, "--out="):
		default:
			seeded = seeded || word == "--seed" || strings.HasPrefix(word, "--seed=")
			words = append(words, quote(word))
		}
	}
	if len(words) == 0 {
		words = []string{"windtunnel", "run", quote(f.Run.Suite)}
	}
	if !seeded {
		words = append(words, "--seed", strconv.FormatUint(f.Run.Seed, 10))
	}
	return section{heading: "To repeat it", items: []item{{says: strings.Join(words, " "), code: true}}}
}

// quote makes a word safe to paste into a shell.
func quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=,:%+@", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
