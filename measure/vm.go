package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"windtunnel/result"
)

// VM is a virtual machine: QEMU's process, whose threads say what they are (its option debug-threads), and those of passt
// that make its networks.
type VM struct {
	Name  string
	PID   int
	Passt []int
}

// vmThread is what a thread of a virtual machine does.
type vmThread int

const (
	vmOther vmThread = iota // QEMU's own: its main loop, workers, monitors
	vmCPU
	vmVhost
	vmPasst
)

// vmReading is the CPU time of each thread until now.
type vmReading map[int]vmTime

type vmTime struct {
	does vmThread
	time time.Duration
}

// readVM reads QEMU's threads. Those of vhost are among them from Linux 6.4 on, and threads of the kernel's by
// themselves before (vhost_worker_create in drivers/vhost/vhost.c).
func readVM(vm VM) (vmReading, error) {
	own := fmt.Sprintf("vhost-%d", vm.PID)
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", vm.PID))
	if err != nil || len(tasks) == 0 {
		return nil, fmt.Errorf("the virtual machine %s (process %d) has no threads: it has ended (%v)", vm.Name, vm.PID, err)
	}
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil || len(names) > mostProcesses {
		return nil, fmt.Errorf("looking for the threads of vhost: %d processes, %w", len(names), err)
	}
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && strings.TrimSpace(string(text)) == own {
			tasks = append(tasks, filepath.Dir(name))
		}
	}
	all := vmReading{}
	for _, task := range tasks {
		tid, err := strconv.Atoi(filepath.Base(task))
		if err != nil {
			continue
		}
		name, err := os.ReadFile(task + "/comm")
		if err != nil {
			continue // it has ended
		}
		used, err := threadTime(task + "/schedstat")
		if err != nil {
			return nil, err
		}
		all[tid] = vmTime{vmThreadOf(strings.TrimSpace(string(name)), own), used}
	}
	for _, pid := range vm.Passt { // which has one thread
		used, err := threadTime(fmt.Sprintf("/proc/%d/schedstat", pid))
		if err != nil {
			return nil, fmt.Errorf("passt of the virtual machine %s: %w", vm.Name, err)
		}
		all[pid] = vmTime{vmPasst, used}
	}
	return all, nil
}

// vmThreadOf goes by the names that QEMU gives: "CPU 0/KVM", "CPU 0/TCG", "ALL CPUs/TCG".
func vmThreadOf(name, vhost string) vmThread {
	switch {
	case name == vhost:
		return vmVhost
	case strings.HasSuffix(name, "/KVM"), strings.HasSuffix(name, "/TCG"):
		return vmCPU
	}
	return vmOther
}

// threadTime is the first number of a thread's schedstat: nanoseconds on a CPU
// (Documentation/scheduler/sched-stats.rst).
func threadTime(file string) (time.Duration, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("reading a thread's CPU time: %w", err)
	}
	first, _, _ := strings.Cut(string(text), " ")
	ns, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading a thread's CPU time in %s: %w", file, err)
	}
	return time.Duration(ns), nil
}

func (s *sampler) vms() {
	for i, vm := range s.after.config.VMs {
		if i >= len(s.before.vms) {
			break
		}
		sample := result.VMSample{VM: vm.Name}
		before, after := s.before.vms[i], s.after.vms[i]
		if err := firstError(before.err, after.err); !s.has("vm "+vm.Name, err) {
			sample.Error = err.Error()
		}
		seconds := map[vmThread]float64{}
		for tid, now := range after.value {
			seconds[now.does] += (now.time - before.value[tid].time).Seconds()
		}
		sample.VCPUSeconds, sample.VhostSeconds = seconds[vmCPU], seconds[vmVhost]
		sample.QEMUSeconds, sample.PasstSeconds = seconds[vmOther], seconds[vmPasst]
		s.exits(&sample, i)
		s.sample.VMs = append(s.sample.VMs, sample)
	}
}

// exits fills in how often a machine's CPUs left the guest, or why that is not known.
func (s *sampler) exits(sample *result.VMSample, i int) {
	if i >= len(s.before.exits) || i >= len(s.after.exits) {
		return
	}
	exits, err := countBetween(s.before.exits[i], s.after.exits[i])
	if err != nil {
		sample.ExitsMissing = err.Error()
		return
	}
	sample.Exits = &exits
}
