package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Huge pages, for all programs alike: what waits for a page's translation is no data plane's doing.
const (
	pagesFolder = "/sys/kernel/mm/hugepages/hugepages-2048kB"
	pageMiB     = 2
)

// reservePages makes so many MiB of huge pages free, and returns how to put back what there was.
func reservePages(folder string, mebibytes int) (back func() error, err error) {
	file := filepath.Join(folder, "nr_hugepages")
	before, err := readPages(file)
	if err != nil {
		return nil, err
	}
	set := func(pages int) error { return os.WriteFile(file, []byte(strconv.Itoa(pages)), 0o644) }
	back = func() error {
		if err := set(before); err != nil {
			return fmt.Errorf("putting back the number of huge pages, %d: %w", before, err)
		}
		return nil
	}
	if err := set(before + mebibytes/pageMiB); err != nil {
		return nil, fmt.Errorf("reserving huge pages: %w", err)
	}
	if got, err := readPages(file); err != nil || got < before+mebibytes/pageMiB {
		_ = back() // that there were too few is the error
		return nil, fmt.Errorf("only %d huge pages of 2 MiB could be reserved, and %d are needed: free memory, or start the machine anew", got-before, mebibytes/pageMiB)
	}
	return back, nil
}

func readPages(file string) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("asking for huge pages: %w", err)
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}
