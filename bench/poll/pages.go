package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"windtunnel/agent"
)

// Huge pages, for all programs alike: what waits for a page's translation is no data plane's doing.
const (
	pagesFolder = "/sys/kernel/mm/hugepages/hugepages-2048kB"
	pageMiB     = 2
)

// allowPages has the kernel make huge pages when they are asked for, so many MiB of them. It takes them back from
// a program that has ended, however it did (Documentation/admin-guide/mm/hugetlbpage.rst), so none are reserved: what
// is left if this process is killed is the limit, which is in the lease's journal.
func allowPages(lease *agent.Lease, folder string, mebibytes int) error {
	used, err := readPages(filepath.Join(folder, "surplus_hugepages"))
	if err != nil {
		return err
	}
	limit := filepath.Join(folder, "nr_overcommit_hugepages")
	if err := lease.Raise(limit, used+mebibytes/pageMiB); err != nil {
		return fmt.Errorf("allowing for %d huge pages of 2 MiB: %w", mebibytes/pageMiB, err)
	}
	return nil
}

func readPages(file string) (int, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("asking for huge pages: %w", err)
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}
