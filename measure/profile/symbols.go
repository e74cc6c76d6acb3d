package profile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// farthest is how far behind its beginning a function may be met: none is longer, and what lies behind the last one
// of a region is nobody's.
const farthest = 1 << 20

// Symbols are the names of the kernel's functions by their addresses: its own, its modules' and BPF programs'.
type Symbols struct {
	at    []uint64 // ascending
	names []string
}

// KernelSymbols reads those of the running kernel, which takes some 50 ms.
func KernelSymbols() (*Symbols, error) {
	file, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil, fmt.Errorf("reading the kernel's symbols (CONFIG_KALLSYMS): %w", err)
	}
	defer file.Close()
	return readSymbols(file)
}

// readSymbols reads /proc/kallsyms: an address, a type (t and w are code), a name, and maybe the module in
// brackets (s_show in kernel/kallsyms.c). Addresses are all zero for whoever may not know them.
func readSymbols(from io.Reader) (*Symbols, error) {
	type symbol struct {
		at   uint64
		name string
	}
	var all []symbol
	in := bufio.NewScanner(from)
	for in.Scan() {
		address, rest, _ := strings.Cut(in.Text(), " ")
		kind, name, ok := strings.Cut(rest, " ")
		if !ok || !strings.ContainsAny(kind, "tTwW") || strings.HasPrefix(name, "__pfx_") {
			continue // __pfx_ is the padding in front of a function
		}
		at, err := strconv.ParseUint(address, 16, 64)
		if err != nil {
			return nil, fmt.Errorf("reading the kernel's symbols: the address %.20q is no number", address)
		}
		name, _, _ = strings.Cut(name, "\t")
		if at != 0 {
			all = append(all, symbol{at, name})
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("reading the kernel's symbols: %w", err)
	}
	if len(all) == 0 {
		return nil, errors.New("the kernel hides where its functions are (kernel.kptr_restrict is 2, or this is not root)")
	}
	slices.SortStableFunc(all, func(a, b symbol) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	s := &Symbols{at: make([]uint64, len(all)), names: make([]string, len(all))}
	for i, one := range all {
		s.at[i], s.names[i] = one.at, one.name
	}
	return s, nil
}

// Name is the function that an address lies in, "" where there is none.
func (s *Symbols) Name(address uint64) string {
	i, exact := slices.BinarySearch(s.at, address)
	if !exact {
		i--
	}
	if i < 0 || address-s.at[i] >= farthest {
		return ""
	}
	for i > 0 && s.at[i-1] == s.at[i] {
		i-- // of several names, the first
	}
	return s.names[i]
}
