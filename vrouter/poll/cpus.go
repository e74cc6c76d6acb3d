package poll

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// affinity are the CPUs that this process may use.
func affinity() (cpus []int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("asking which CPUs may be used: %w", err)
	}
	for cpu := 0; len(cpus) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// ChooseCPUs gives those that were asked for, or else the last one that this process may use.
func ChooseCPUs(asked []int) ([]int, error) {
	cpus, err := affinity()
	if err != nil {
		return nil, err
	}
	if len(asked) == 0 {
		return cpus[len(cpus)-1:], nil
	}
	if len(asked) > MaxCores {
		return nil, fmt.Errorf("poll mode forwards on %d CPUs at most, not on %d", MaxCores, len(asked))
	}
	for i, cpu := range asked {
		if !slices.Contains(cpus, cpu) {
			return nil, fmt.Errorf("poll mode cannot forward on CPU %d: this process may use %s (taskset and cpusets say which)", cpu, list(cpus))
		}
		if slices.Contains(asked[:i], cpu) {
			return nil, fmt.Errorf("CPU %d is named twice; one can forward once only", cpu)
		}
	}
	return asked, nil
}

func list(cpus []int) string {
	var words []string
	for _, cpu := range cpus {
		words = append(words, strconv.Itoa(cpu))
	}
	return strings.Join(words, ",")
}

// lcores are EAL's: the main one runs anywhere, and sleeps most of the time; the others forward.
func lcores(cpus []int) string {
	anywhere, err := affinity()
	if err != nil {
		anywhere = cpus
	}
	text := fmt.Sprintf("0@(%s)", list(anywhere))
	for i, cpu := range cpus {
		text += fmt.Sprintf(",%d@%d", i+1, cpu)
	}
	return text
}
