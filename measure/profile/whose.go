package profile

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"windtunnel/result"
)

// Cell says what belongs to the cell that is measured.
type Cell struct {
	Networks map[uint64]bool // its network stacks, as Network tells them
	Mounts   map[uint64]bool // its containers' file systems, as Mounts tells them
	// Tasks are those that are its own wherever they are: kernel threads that receive for its interfaces alone, proxies.
	Tasks map[int]bool
}

// Network tells the network stack of the calling thread, as a number of this machine's.
func Network() (uint64, error) { return inode("/proc/thread-self/ns/net") }

// Mounts tells which file systems a process sees, as a number of this machine's.
func Mounts(process int) (uint64, error) { return inode(fmt.Sprintf("/proc/%d/ns/mnt", process)) }

func inode(path string) (uint64, error) {
	var at unix.Stat_t
	if err := unix.Stat(path, &at); err != nil {
		return 0, fmt.Errorf("looking at %s: %w", path, err)
	}
	return at.Ino, nil
}

// process is what is to be known of one: its name and whose it is; own means that it runs this program.
type process struct {
	name, whose string
	own         bool
}

// processes finds out, once each, whose processes are.
type processes struct {
	cell  Cell
	ours  os.FileInfo // this program
	known map[int]process
}

func newProcesses(cell Cell) *processes {
	p := &processes{cell: cell, known: map[int]process{}}
	p.ours, _ = os.Stat("/proc/self/exe") // without it nothing passes for ours
	return p
}

// of tells of a process; thread is the name of one of its threads, for one that has ended.
func (p *processes) of(id int, thread string) process {
	if id == 0 {
		return process{name: "idle", whose: result.OfIdle}
	}
	known, ok := p.known[id]
	if !ok {
		known = p.look(id)
		p.known[id] = known
	}
	if known.name == "" {
		known.name = thread
	}
	return known
}

// look goes by what /proc tells. A program is the cell's if it is in one of the cell's network stacks or containers;
// who left has no name there.
func (p *processes) look(id int) process {
	folder := fmt.Sprintf("/proc/%d/", id)
	name, err := os.ReadFile(folder + "comm")
	if err != nil {
		return process{whose: result.OfEnded}
	}
	found := process{name: strings.TrimSpace(string(name)), whose: result.OfOthers}
	exe, err := os.Stat(folder + "exe")
	found.own = err == nil && p.ours != nil && sameFile(exe, p.ours)
	network, unknown := inode(folder + "ns/net")
	mounts, hidden := Mounts(id)
	switch {
	case p.cell.Tasks[id]:
		found.whose = result.OfCell
	case os.IsNotExist(err) && unknown == nil && kernelThread(folder):
		found.whose = result.OfKernel
		if strings.HasPrefix(found.name, "napi/") {
			found.whose = result.OfOthers // threads that receive for interfaces of others
		}
	case unknown == nil && p.cell.Networks[network], hidden == nil && p.cell.Mounts[mounts]:
		found.whose = result.OfCell
	case found.own:
		found.whose = result.OfUs
	}
	return found
}

// kernelThread tells a thread of the kernel's from a program that is just ending: the former has no memory
// (task_statm in fs/proc/task_mmu.c), and is kthreadd's child or kthreadd.
func kernelThread(folder string) bool {
	stat, err := os.ReadFile(folder + "stat")
	if err != nil {
		return false
	}
	_, rest, ok := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	return ok && len(fields) > 1 && (fields[1] == "2" || fields[1] == "0")
}

func sameFile(a, b os.FileInfo) bool {
	x, okX := a.Sys().(*syscall.Stat_t)
	y, okY := b.Sys().(*syscall.Stat_t)
	return okX && okY && x.Dev == y.Dev && x.Ino == y.Ino
}
