package profile

import (
	"fmt"
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
	return ""
}

// nameless says why the kernel's functions have no names here. The file and the names are of one option (kernel/Makefile).
func (s *Sampler) nameless() error {
	if _, err := os.Stat("/proc/kallsyms"); err != nil {
		return fmt.Errorf("sampling stacks: the kernel's symbols (CONFIG_KALLSYMS): %w", err)
	}
	_, err := s.Names([]Seen{{Kernel: []uint64{1}}})
	return err
}
