//go:build linux

package vm

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"windtunnel/testbed"
)

// What runs a guest's instructions.
const (
	KVM      = "kvm"
	Emulated = "tcg" // QEMU's own translation
)

// Accelerator is KVM where it works here, else Emulated, and why not KVM.
func Accelerator() (name string, why error) {
	if err := tryKVM(); err != nil {
		return Emulated, err
	}
	return KVM, nil
}

// Requests of KVM (linux/kvm.h), none of which takes more than a number.
const (
	kvmGetAPIVersion = 0xae00
	kvmCreateVM      = 0xae01
	kvmCreateCPU     = 0xae41
	kvmAPIVersion    = 12
)

// hardware are the modules that have KVM run guests by the CPU. Without one of them KVM may be there all the same, as
// for guests whose kernels know that they are none of a CPU's (kvm_pvm), and an ordinary kernel hangs.
var hardware = map[string][]string{"amd64": {"kvm_intel", "kvm_amd"}}

// tryKVM makes a machine with a CPU: the device alone says nothing of what the CPU can do.
func tryKVM() (err error) {
	if modules := hardware[runtime.GOARCH]; len(modules) > 0 && !slices.ContainsFunc(modules, loaded) {
		return fmt.Errorf("the CPU's virtualization is not there, or not KVM's to use: none of the modules %s is loaded", strings.Join(modules, ", "))
	}
	kvm, err := unix.Open("/dev/kvm", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening /dev/kvm: %w", err)
	}
	defer unix.Close(kvm)
	version, err := unix.IoctlRetInt(kvm, kvmGetAPIVersion)
	if err != nil || version != kvmAPIVersion {
		return fmt.Errorf("KVM's interface has the version %d, and QEMU speaks %d (%v)", version, kvmAPIVersion, err)
	}
	machine, err := unix.IoctlRetInt(kvm, kvmCreateVM)
	if err != nil {
		return fmt.Errorf("making a machine by KVM: %w", err)
	}
	defer unix.Close(machine)
	cpu, err := unix.IoctlRetInt(machine, kvmCreateCPU)
	if err != nil {
		return fmt.Errorf("making a CPU by KVM: %w", err)
	}
	return unix.Close(cpu)
}

func loaded(module string) bool {
	_, err := os.Stat("/sys/module/" + module)
	return err == nil
}

func tryVhostNet() error {
	device, err := unix.Open("/dev/vhost-net", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening /dev/vhost-net (modprobe vhost_net): %w", err)
	}
	return unix.Close(device)
}

// vhost tells whether the kernel carries a machine's packets: with an emulated one it does not, since that one's
// notices are QEMU's.
func vhost(accelerator string) bool { return accelerator == KVM && tryVhostNet() == nil }

// Missing returns the reason for each feature of virtual machines that does not work here.
func Missing() map[string]string {
	kernel, noKernel := FindKernel()
	noContainers := noKernel
	if noKernel == nil {
		_, noKernel = kernel.files(guestModules)
		_, noContainers = kernel.files(containerModules)
	}
	missing := map[string]string{}
	for feature, err := range map[string]error{
		testbed.FeatureGuestKernel: noKernel, testbed.FeatureGuestContainer: noContainers, testbed.FeatureKVM: tryKVM(), testbed.FeatureVhostNet: tryVhostNet(),
	} {
		if err != nil {
			missing[feature] = err.Error()
		}
	}
	return missing
}
