package netns

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// pinThread lets a thread (0: the caller) run on the CPUs only; an empty list
// leaves it where it is. The kernel quietly drops CPUs that are not there from a
// mask, so they are refused here.
func pinThread(tid int, cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	if err := checkOnline(cpus); err != nil {
		return err
	}
	set := cpuSet(cpus)
	if err := unix.SchedSetaffinity(tid, &set); err != nil {
		return fmt.Errorf("pinning thread %d to the CPUs %v: %w", tid, cpus, err)
	}
	return nil
}

func cpuSet(cpus []int) unix.CPUSet {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	return set
}

func checkOnline(cpus []int) error {
	online, err := onlineCPUs()
	if err != nil {
		return err
	}
	for _, cpu := range cpus {
		if !slices.Contains(online, cpu) {
			return fmt.Errorf("CPU %d is not online (online: %v): give the node other CPUs, or bring it online", cpu, online)
		}
	}
	return nil
}

func onlineCPUs() ([]int, error) {
	const file = "/sys/devices/system/cpu/online"
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading which CPUs are online: %w", err)
	}
	online, err := parseCPUList(string(text))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return online, nil
}

// parseCPUList reads the kernel's list format: 0-3,8,10-11.
func parseCPUList(text string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		if part == "" {
			continue
		}
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err1 := strconv.Atoi(low)
		to, err2 := strconv.Atoi(high)
		if err1 != nil || err2 != nil || from > to {
			return nil, fmt.Errorf("%q is not a list of CPUs", text)
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// cpuMask writes CPUs as sysfs takes them: hexadecimal words of 32, the highest
// first, with commas between.
func cpuMask(cpus []int) string {
	words := []uint32{0}
	for _, cpu := range cpus {
		for cpu/32 >= len(words) {
			words = append(words, 0)
		}
		words[cpu/32] |= 1 << (cpu % 32)
	}
	mask := fmt.Sprintf("%x", words[len(words)-1])
	for _, word := range slices.Backward(words[:len(words)-1]) {
		mask += fmt.Sprintf(",%08x", word)
	}
	return mask
}

// parseMask reads what cpuMask writes, with leading zeros and words.
func parseMask(text string) ([]int, error) {
	var cpus []int
	words := strings.Split(strings.TrimSpace(text), ",")
	slices.Reverse(words)
	for i, word := range words {
		bits, err := strconv.ParseUint(word, 16, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is not a mask of CPUs", text)
		}
		for bit := range 32 {
			if bits&(1<<bit) != 0 {
				cpus = append(cpus, i*32+bit)
			}
		}
	}
	return cpus, nil
}
