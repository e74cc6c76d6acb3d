package result

// FindCell returns the cell of that name.
func FindCell(cells []Cell, name string) (Cell, bool) {
	for i := range cells {
		if cells[i].Name == name {
			return cells[i], true
		}
	}
	return Cell{}, false
}

// Counted returns the trials of a cell that count: not excluded, one a block (the
// last attempt), in the order of the file.
func Counted(trials []Trial, cell string) []Trial {
	last := map[int]int{} // block -> place in counted
	var counted []Trial
	for _, t := range trials {
		if t.Cell != cell || t.Excluded != "" {
			continue
		}
		if at, again := last[t.Block]; again {
			counted[at] = t
			continue
		}
		last[t.Block] = len(counted)
		counted = append(counted, t)
	}
	return counted
}

// Excluded counts the trials of a cell that do not count, and says why by reason.
func Excluded(trials []Trial, cell string) (n int, reasons map[string]int) {
	reasons = map[string]int{}
	for _, t := range trials {
		if t.Cell == cell && t.Excluded != "" {
			n++
			reasons[t.Excluded]++
		}
	}
	return n, reasons
}

// ByCell sorts trials into their cells, each in the order of the file.
func ByCell(trials []Trial) map[string][]Trial {
	of := map[string][]Trial{}
	for _, t := range trials {
		of[t.Cell] = append(of[t.Cell], t)
	}
	return of
}

// Blocks counts the blocks in which each of the named cells has a trial that counts.
func Blocks(trials []Trial, cells []string) int {
	of, have := ByCell(trials), map[int]int{}
	for _, name := range cells {
		for _, t := range Counted(of[name], name) {
			have[t.Block]++
		}
	}
	whole := 0
	for _, n := range have {
		if n == len(cells) {
			whole++
		}
	}
	return whole
}
