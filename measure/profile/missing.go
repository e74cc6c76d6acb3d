package profile

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Missing tries whether stacks can be sampled here, and says why not; "" where they can.
func Missing() string {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return fmt.Sprintf("finding a CPU: %v", err)
	}
	cpu := 0
	for !may.IsSet(cpu) {
		cpu++
	}
	s, err := Open([]int{cpu})
	if err != nil {
		return err.Error()
	}
	if err := s.Close(); err != nil {
		return err.Error()
	}
	return hidden()
}

// hidden says why the kernel's symbols are not to be had; their beginning tells.
func hidden() string {
	file, err := os.Open("/proc/kallsyms")
	if err != nil {
		return fmt.Sprintf("the kernel's symbols (CONFIG_KALLSYMS): %v", err)
	}
	defer file.Close()
	if _, err := readSymbols(io.LimitReader(file, 64<<10)); err != nil {
		return err.Error()
	}
	return ""
}
