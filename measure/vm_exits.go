package measure

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// kvmGetStats is the request KVM_GET_STATS_FD (linux/kvm.h, Linux 5.14).
const kvmGetStats = 0xaece

// What KVM may say of its statistics at the most, in bytes.
const (
	mostStatNames = 4096 // descriptions
	mostStatName  = 1024 // bytes of a name
)

// errEmulated is the reason of machines without CPUs of KVM's.
var errEmulated = errors.New("the machine is emulated: KVM has no part in it")

// exitsProbe counts how often a virtual machine's CPUs left the guest, by KVM's own statistics of each.
type exitsProbe struct {
	cpus []exitsOf
	err  error // why there is no count
}

// exitsOf is one CPU's file of statistics, and where the count stands in it.
type exitsOf struct {
	file *os.File
	at   int64
}

// openExits borrows QEMU's CPUs to ask KVM for their statistics (pidfd_getfd, Linux 5.6).
func openExits(pid int) exitsProbe {
	p := exitsProbe{}
	if p.err = p.open(pid); p.err != nil {
		p.close()
	}
	return p
}

func (p *exitsProbe) open(pid int) error {
	numbers, err := cpusOfKVM(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return err
	}
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("opening process %d: %w", pid, err)
	}
	defer unix.Close(process)
	for _, number := range numbers {
		cpu, err := unix.PidfdGetfd(process, number, 0)
		if err != nil {
			return fmt.Errorf("borrowing a CPU of the virtual machine (pidfd_getfd, Linux 5.6): %w", err)
		}
		stats, err := statsOfKVM(cpu)
		unix.Close(cpu)
		if err != nil {
			return err
		}
		at, err := whereIs(stats, "exits")
		p.cpus = append(p.cpus, exitsOf{stats, at})
		if err != nil {
			return err
		}
	}
	return nil
}

// cpusOfKVM are the numbers of a process's files that are CPUs of virtual machines (create_vcpu_fd in
// virt/kvm/kvm_main.c names them).
func cpusOfKVM(folder string) (numbers []int, err error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("looking for the virtual machine's CPUs: %w", err)
	}
	for _, file := range files {
		what, err := os.Readlink(filepath.Join(folder, file.Name()))
		if err != nil || !strings.HasPrefix(what, "anon_inode:kvm-vcpu:") {
			continue // it was closed, or is none
		}
		number, err := strconv.Atoi(file.Name())
		if err != nil {
			return nil, fmt.Errorf("a file of the virtual machine is called %.20q", file.Name())
		}
		numbers = append(numbers, number)
	}
	if len(numbers) == 0 {
		return nil, errEmulated
	}
	return numbers, nil
}

// statsOfKVM is the file of a CPU's statistics.
func statsOfKVM(cpu int) (*os.File, error) {
	stats, err := unix.IoctlRetInt(cpu, kvmGetStats)
	if err != nil {
		return nil, fmt.Errorf("asking KVM for a CPU's statistics (Linux 5.14): %w", err)
	}
	return os.NewFile(uintptr(stats), "statistics of a virtual machine's CPU"), nil
}

// whereIs finds a statistic's place in the file: struct kvm_stats_header, then descriptions of struct
// kvm_stats_desc with their names behind them, in the machine's byte order (linux/kvm.h).
func whereIs(stats io.ReaderAt, name string) (int64, error) {
	const header, description = 24, 16
	word := binary.NativeEndian.Uint32
	var head [header]byte
	if _, err := stats.ReadAt(head[:], 0); err != nil {
		return 0, fmt.Errorf("reading KVM's statistics: %w", err)
	}
	length, count, descriptions, data := word(head[4:]), word(head[8:]), word(head[16:]), word(head[20:])
	if length == 0 || length > mostStatName || count > mostStatNames {
		return 0, fmt.Errorf("KVM describes %d statistics with names of %d bytes", count, length)
	}
	one := make([]byte, description+int(length))
	for i := range int64(count) {
		if _, err := stats.ReadAt(one, int64(descriptions)+i*int64(len(one))); err != nil {
			return 0, fmt.Errorf("reading what KVM's statistics are: %w", err)
		}
		if text, _, _ := strings.Cut(string(one[description:]), "\x00"); text == name {
			return int64(data) + int64(word(one[8:])), nil
		}
	}
	return 0, fmt.Errorf("KVM counts no %q on this machine", name)
}

// read adds up all CPUs.
func (p exitsProbe) read() (sum uint64, err error) {
	if p.err != nil {
		return 0, p.err
	}
	for _, cpu := range p.cpus {
		var b [8]byte
		if _, err := cpu.file.ReadAt(b[:], cpu.at); err != nil {
			return 0, fmt.Errorf("reading KVM's statistics of a CPU: %w", err)
		}
		sum += binary.NativeEndian.Uint64(b[:])
	}
	return sum, nil
}

func (p *exitsProbe) close() {
	for _, cpu := range p.cpus {
		cpu.file.Close()
	}
	p.cpus = nil
}
