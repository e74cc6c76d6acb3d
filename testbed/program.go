package testbed

import (
	"debug/elf"
	"fmt"
)

// RunsAlone refuses a program that needs a loader and libraries: containers and guests that are made of it have neither.
func RunsAlone(program string) error {
	file, err := elf.Open(program)
	if err != nil {
		return fmt.Errorf("looking at our own program: %w", err)
	}
	defer file.Close()
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			return fmt.Errorf("%s needs a loader and libraries, which are not where it is to run: build it with CGO_ENABLED=0, as `make` does", program)
		}
	}
	return nil
}
