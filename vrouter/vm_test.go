package vrouter_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/internal/lab"
)

// A vm is DPDK's testpmd with one virtio-user device, whose other side is a vhost-user port. Its
// memory is shared as a VM's is, and needs no huge pages.
type vm struct {
	t       *testing.T
	command *exec.Cmd
	stdin   io.Closer
	said    said
	ended   chan struct{}
}

// said is what a program says, while it does.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write takes it.
func (s *said) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// A vmWay is what a VM sends: from whom to whom, and how long its frames are, as testpmd's --txpkts
// has it (64 bytes if it is empty).
type vmWay struct {
	from, to config.Port
	bytes    string
}

// usableCPUs are those that this process may run on.
func usableCPUs(t *testing.T) (cpus []string) {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; len(cpus) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, strconv.Itoa(cpu))
		}
	}
	return cpus
}

// anyCPU lets both of EAL's threads run wherever this process may.
func anyCPU(t *testing.T) string {
	t.Helper()
	all := strings.Join(usableCPUs(t), ",")
	return fmt.Sprintf("0@(%s),1@(%s)", all, all)
}

// vmLimit ends a program that a test has forgotten.
const vmLimit = time.Minute

// startVM runs testpmd at a port. It sends packets from the port's address, or only receives them.
func startVM(t *testing.T, p config.Port, sends *vmWay) *vm {
	t.Helper()
	return startVMFor(t, 0, p, sends)
}

// startVMFor runs it for so long more than a test's VM usually runs.
func startVMFor(t *testing.T, longer time.Duration, p config.Port, sends *vmWay) *vm {
	t.Helper()
	program, err := exec.LookPath("dpdk-testpmd")
	if err != nil {
		t.Skip("skip: needs dpdk-testpmd (Debian's dpdk-dev)")
	}
	device := fmt.Sprintf("net_virtio_user0,path=%s,mac=%s,server=%d", p.Vhost, p.MAC, map[bool]int{true: 1}[p.VhostMode == config.VhostClient])
	arguments := []string{
		"--no-huge", "-m", "128", "--no-pci", "--no-shconf", "--no-telemetry", "--lcores", anyCPU(t), "--vdev", device,
		"--", "--total-num-mbufs=2048", "--no-mlockall",
	}
	if sends == nil {
		arguments = append(arguments, "--forward-mode=rxonly")
	} else {
		arguments = append(arguments, "--forward-mode=txonly", "--eth-peer=0,"+config.GatewayMAC.String(),
			fmt.Sprintf("--tx-ip=%s,%s", sends.from.Address, sends.to.Address), "--txpkts="+cmp.Or(sends.bytes, "64"))
	}
	v := &vm{t: t, command: exec.Command("stdbuf", append([]string{"-oL", program}, arguments...)...), ended: make(chan struct{})}
	v.command.Env = []string{"RUNTIME_DIRECTORY=/dev/null"}
	v.command.Stdout, v.command.Stderr = &v.said, &v.said
	v.command.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if v.stdin, err = v.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := v.command.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(vmLimit+longer, func() { _ = v.command.Process.Kill() })
	go func() {
		_ = v.command.Wait() // what it counted tells whether it was well
		late.Stop()
		close(v.ended)
	}()
	t.Cleanup(v.kill)
	return v
}

// awaitReady waits until it receives: what its ring gets before, testpmd does not count.
func (v *vm) awaitReady() {
	v.t.Helper()
	lab.Await(v.t, "testpmd receives", func() bool { return strings.Contains(v.said.String(), "Press enter to exit") })
}

func (v *vm) kill() {
	_ = v.command.Process.Kill() // it may have ended
	<-v.ended
	if v.t.Failed() {
		v.t.Logf("testpmd said: %s", v.said.String())
	}
}

var vmCounts = regexp.MustCompile(`(?s)Forward statistics for port 0.*?RX-packets: (\d+).*?TX-packets: (\d+)`)

// end has it stop, and tells what it has counted.
func (v *vm) end() (received, sent uint64) {
	v.t.Helper()
	v.stdin.Close()
	<-v.ended
	found := vmCounts.FindStringSubmatch(v.said.String())
	if found == nil {
		v.t.Fatalf("testpmd has counted nothing: %s", v.said.String())
	}
	received, _ = strconv.ParseUint(found[1], 10, 64) // the pattern is digits
	sent, _ = strconv.ParseUint(found[2], 10, 64)
	return received, sent
}
