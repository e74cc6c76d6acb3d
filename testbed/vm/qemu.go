//go:build linux

package vm

import (
	"fmt"
	"runtime"
	"strings"

	"windtunnel/testbed"
)

// platform is what differs between architectures.
type platform struct{ program, machine, console string }

var platforms = map[string]platform{
	"amd64": {"qemu-system-x86_64", "q35", "ttyS0"},
	"arm64": {"qemu-system-aarch64", "virt", "ttyAMA0"},
}

// Program is QEMU for guests like this machine, "" where there is none.
func Program() string { return platforms[runtime.GOARCH].program }

// PortName is the virtio-serial port by which a guest's worker speaks.
const PortName = "windtunnel"

// launch is what one QEMU is started with.
type launch struct {
	vm          testbed.VM
	graph       testbed.Graph
	accelerator string
	kernel      string
	initramfs   string
	agent       string              // path of the socket of the guest's port
	socket      func(string) string // writes folders into a NIC's socket
}

// arguments are QEMU's. Nothing but what is named is in the machine.
func (l launch) arguments() []string {
	p := platforms[runtime.GOARCH]
	cpu, calm := "host", ""
	if l.accelerator == Emulated {
		cpu, calm = "max", " mitigations=off" // which guard against nobody there, and are slow to emulate
	}
	contained := ""
	if l.vm.Container != nil {
		contained = " --container"
	}
	machine := p.machine + ",accel=" + l.accelerator
	args := []string{
		"-name", l.vm.Name + ",debug-threads=on", // so that its threads say what they are
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-cpu", cpu, "-smp", fmt.Sprint(l.vm.CPUs), "-m", fmt.Sprintf("%dM", l.vm.MemoryBytes>>20),
		"-kernel", l.kernel, "-initrd", l.initramfs,
		"-append", fmt.Sprintf("console=%s quiet panic=-1%s rdinit=%s -- agent --guest%s", p.console, calm, Init, contained),
		"-serial", "stdio",
		"-device", "virtio-serial-pci",
		"-chardev", "socket,id=agent,server=on,wait=off,path=" + quoted(l.agent),
		"-device", "virtserialport,chardev=agent,name=" + PortName,
	}
	given := firstExtra // the next of the sockets that QEMU is started with
	for i, nic := range l.vm.NICs {
		args = append(args, l.nic(i, nic, given)...)
		if nic.User != nil && nic.User.By == testbed.UserByPasst {
			given++
		}
		if nic.Socket != "" && !strings.Contains(machine, "memory-backend") {
			machine += ",memory-backend=shared" // which the data plane copies packets from and to
			args = append(args, "-object", fmt.Sprintf("memory-backend-memfd,id=shared,share=on,size=%dM%s", l.vm.MemoryBytes>>20, pages(l.vm.MemoryBytes)))
		}
	}
	return append([]string{"-machine", machine}, args...)
}

// nic are the arguments of one interface. An interface of several queues has an interrupt for each
// of their rings, and two more (virtio_net_pci's vectors). Given is the descriptor of its socket, if its network is passt's.
func (l launch) nic(i int, nic testbed.VNIC, given int) []string {
	inside, tap := l.graph.Attached(nic)
	queues := max(inside.Queues, 1)
	var backend []string
	switch {
	case nic.Socket != "":
		backend = []string{
			"-chardev", fmt.Sprintf("socket,id=data%d,reconnect=1,path=%s", i, // one that was killed comes back
				quoted(l.socket(nic.Socket))),
			"-netdev", fmt.Sprintf("vhost-user,id=net%d,chardev=data%d,queues=%d", i, i, queues),
		}
	case nic.User != nil && nic.User.By == testbed.UserByPasst:
		backend = []string{"-netdev", fmt.Sprintf("stream,id=net%d,server=off,addr.type=fd,addr.str=%d", i, given)}
	case nic.User != nil:
		backend = []string{"-netdev", userNetwork(i, *nic.User, inside)}
	default:
		carried := "off"
		if vhost(l.accelerator) {
			carried = "on"
		}
		text := fmt.Sprintf("tap,id=net%d,ifname=%s,script=no,downscript=no,vhost=%s", i, tap.Device, carried)
		if queues > 1 {
			text += fmt.Sprintf(",queues=%d", queues)
		}
		backend = []string{"-netdev", text}
	}
	device := fmt.Sprintf("virtio-net-pci,netdev=net%d,mac=%s,romfile=", i, inside.MAC)
	if on, named := inside.Offloads[testbed.GRO]; named && !on {
		device += unaggregated
	}
	switch {
	case nic.Socket != "" && l.accelerator == Emulated:
		// QEMU 7.2 looks, without KVM, at what only KVM has made, when a device whose rings are another
		// process's takes its interrupts by messages (virtio_pci_vector_unmask in hw/virtio/virtio-pci.c).
		device += ",vectors=0"
	case queues > 1:
		device += fmt.Sprintf(",mq=on,vectors=%d", 2*queues+2)
	}
	return append(backend, "-device", device)
}

// userNetwork is QEMU's own stack, which gives the guest nothing by DHCP that it asks for.
func userNetwork(i int, u testbed.UserNetwork, inside testbed.Interface) string {
	text := fmt.Sprintf("user,id=net%d,ipv6=off,net=%s,host=%s", i, u.Subnet, u.Gateway)
	for _, address := range inside.Addresses {
		address, _, _ := strings.Cut(address, "/")
		for _, port := range u.Forward {
			text += fmt.Sprintf(",hostfwd=tcp::%d-%s:%d,hostfwd=udp::%d-%s:%d", port, address, port, port, address, port)
		}
	}
	return text
}

// unaggregated has neither side hand the other packets longer than the MTU. A guest that may take them has its tap
// take them from others, whatever that was set to (set_offload in drivers/net/tun.c).
const unaggregated = ",guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off,host_tso4=off,host_tso6=off,host_ecn=off,host_ufo=off"

// quoted is a value of QEMU's, in which a comma would end it.
func quoted(text string) string { return strings.ReplaceAll(text, ",", ",,") }
