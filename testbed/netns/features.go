package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"windtunnel/ethtool"
	"windtunnel/testbed"
)

// trials try each feature in a throw-away stack, on its thread, in the order of
// testbed.Features: the pair that veth makes stays for those that come later.
var trials = map[string]func(*Stack) error{
	testbed.FeatureNetns:         func(*Stack) error { return nil },
	testbed.FeatureVeth:          tryVeth,
	testbed.FeatureBridge:        tryBridge,
	testbed.FeatureVXLAN:         tryVXLAN,
	testbed.FeatureMacvlan:       tryMacvlan,
	testbed.FeatureBonding:       tryBonding,
	testbed.FeatureBPF:           tryBPF,
	testbed.FeatureTCX:           tryTCX,
	testbed.FeatureThreaded:      tryThreaded,
	testbed.FeatureRPS:           tryRPS,
	testbed.FeatureShaper:        tryShaper,
	testbed.FeatureSmartNIC:      trySmartNIC,
	testbed.FeatureDesktopEngine: tryDesktopEngine,
	testbed.FeatureTap:           tryTap,
}

// Missing tries each of testbed.Features that are of stacks on this machine, in one that is
// thrown away, and returns the reason for each that does not work.
func Missing(ctx context.Context) map[string]string {
	missing := map[string]string{}
	stack, err := trialStack()
	if err != nil {
		for _, feature := range testbed.Features {
			missing[feature] = err.Error()
		}
		return missing
	}
	for _, feature := range testbed.Features {
		err, trial := ctx.Err(), trials[feature]
		if trial == nil {
			continue // no stack's: that of another backend
		}
		if err == nil {
			err = stack.Do(func() error { return trial(stack) })
		}
		if err != nil {
			missing[feature] = err.Error()
		}
	}
	if err := errors.Join(stack.Close(), os.Remove(stack.sysfs), os.Remove(filepath.Dir(stack.sysfs))); err != nil {
		missing[testbed.FeatureNetns] = err.Error()
	}
	return missing
}

// tryDesktopEngine always has a reason: testbeds are Linux, whose engines run containers in its own kernel.
func tryDesktopEngine(*Stack) error {
	return errors.New("this is Linux, whose containers are in its own kernel; the figures are of an engine in a virtual machine of Windows or macOS")
}

// MissingByFiles are the reasons that can be known without trying: nothing is made or loaded, and nobody need be root.
func MissingByFiles() map[string]string {
	missing := map[string]string{}
	if why := NoBonding(); why != "" {
		missing[testbed.FeatureBonding] = why
	}
	for feature, try := range map[string]func(*Stack) error{testbed.FeatureSmartNIC: trySmartNIC, testbed.FeatureDesktopEngine: tryDesktopEngine} {
		if err := try(nil); err != nil {
			missing[feature] = err.Error()
		}
	}
	return missing
}

// trialFolder begins the name of the folder in which a trial's sysfs is mounted.
const trialFolder = "windtunnel-features-"

// forgotten is how old the folder of a trial is that was killed: a trial takes less than a second.
const forgotten = time.Hour

// removeForgotten removes the folders that trials left which were killed. Nobody else's mounts are looked at: they are in
// namespaces of their own, and a folder goes with what is mounted on it there (detach_mounts in fs/namespace.c).
func removeForgotten(now time.Time) {
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), trialFolder+"*"))
	for _, dir := range folders {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && now.Sub(info.ModTime()) > forgotten {
			_ = os.Remove(filepath.Join(dir, "sys"))
			_ = os.Remove(dir) // which has to be empty
		}
	}
}

func trialStack() (*Stack, error) {
	removeForgotten(time.Now())
	dir, err := os.MkdirTemp("", trialFolder)
	if err != nil {
		return nil, fmt.Errorf("making a folder for the trial: %w", err)
	}
	stack, err := NewStack("trial", dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return stack, nil
}

// The pair of the trials.
const (
	trialDevice = "try0"
	trialPeer   = "try1"
)

func tryVeth(*Stack) error {
	return withLinks(func(h *handle) error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = trialDevice
		if err := h.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: trialPeer}); err != nil {
			return fmt.Errorf("making a virtual pair (CONFIG_VETH): %w", err)
		}
		return errors.Join(h.up(trialDevice), h.up(trialPeer))
	})
}

func tryBridge(*Stack) error {
	return withLinks(func(h *handle) error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "trybr"
		if err := h.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
			return fmt.Errorf("making a bridge (CONFIG_BRIDGE): %w", err)
		}
		return nil
	})
}

func tryVXLAN(*Stack) error {
	return withLinks(func(h *handle) error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "tryvx"
		device := &netlink.Vxlan{LinkAttrs: attrs, VxlanId: 1, Port: 4789, Group: net.IPv4(192, 0, 2, 1)}
		if err := h.LinkAdd(device); err != nil {
			return fmt.Errorf("making a VXLAN device (CONFIG_VXLAN): %w", err)
		}
		return nil
	})
}

func tryMacvlan(*Stack) error {
	return withLinks(func(h *handle) error {
		parent, err := h.LinkByName(trialDevice)
		if err != nil {
			return fmt.Errorf("there is no virtual pair to stand on: %w", err)
		}
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.ParentIndex = "trymv", parent.Attrs().Index
		device := &netlink.Macvlan{LinkAttrs: attrs, Mode: netlink.MACVLAN_MODE_BRIDGE}
		if err := h.LinkAdd(device); err != nil {
			return fmt.Errorf("making a macvlan device (CONFIG_MACVLAN): %w", err)
		}
		return h.LinkDel(device)
	})
}

// nothing is the least of programs: it lets every packet pass.
func nothing() (*ebpf.Program, error) {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.SchedCLS, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		return nil, fmt.Errorf("loading a BPF program (CONFIG_BPF_SYSCALL, CAP_BPF): %w", err)
	}
	return program, nil
}

func tryBPF(*Stack) error {
	program, err := nothing()
	if err != nil {
		return err
	}
	return program.Close()
}

func tryTCX(*Stack) error {
	program, err := nothing()
	if err != nil {
		return err
	}
	defer program.Close()
	device, err := net.InterfaceByName(trialDevice)
	if err != nil {
		return fmt.Errorf("there is no virtual pair to attach to: %w", err)
	}
	attached, err := link.AttachTCX(link.TCXOptions{
		Interface: device.Index, Program: program, Attach: ebpf.AttachTCXIngress,
	})
	if err != nil {
		return fmt.Errorf("attaching a BPF program by tcx (Linux 6.6 and later): %w", err)
	}
	return attached.Close()
}

func tryThreaded(stack *Stack) error {
	err := withEthtool(func(tool *ethtool.Socket) error {
		have, err := tool.Features(trialDevice)
		if err != nil {
			return fmt.Errorf("reading the offloads of a virtual pair: %w", err)
		}
		return tool.Change(trialDevice, features(have, map[string]bool{testbed.GRO: true}))
	})
	if err != nil {
		return fmt.Errorf("switching GRO on: %w", err)
	}
	_, err = steerThreaded(stack, testbed.Interface{Device: trialDevice, Steering: testbed.SteerThreaded}, nil)
	return err
}

func tryRPS(stack *Stack) error {
	return steerRPS(stack.device(trialDevice), true, []int{0})
}

func tryShaper(*Stack) error {
	return withLinks(func(h *handle) error {
		device, err := h.LinkByName(trialDevice)
		if err != nil {
			return fmt.Errorf("there is no virtual pair to shape: %w", err)
		}
		return setRate(h, device, testbed.Interface{BitsPerSecond: 1e9})
	})
}
