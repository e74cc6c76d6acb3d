package netns

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/testbed"
)

const bondType = "bond"

// makeBond makes a bonding device without members: these join it when they are made.
func (c *cell) makeBond(b testbed.Bond) error {
	err := c.stacks[b.Node].Do(func() error {
		return withLinks(func(h *handle) error { return h.addBond(b.Device, b.MonitorMilliseconds) })
	})
	if err != nil {
		return err
	}
	return c.configure(bondPort(b))
}

// bondPort is a bond as a port of its bridge.
func bondPort(b testbed.Bond) testbed.Interface {
	return testbed.Interface{Place: b.Node, Device: b.Device, MTU: b.MTU, Bridge: b.Bridge, Offloads: b.Offloads}
}

func (h *handle) addBond(device string, monitor int) error {
	loadBonding()
	attrs := netlink.NewLinkAttrs()
	attrs.Name = device
	bond := netlink.NewLinkBond(attrs)
	bond.Mode, bond.XmitHashPolicy, bond.Miimon = netlink.BOND_MODE_BALANCE_XOR, netlink.BOND_XMIT_HASH_POLICY_LAYER3_4, monitor
	err := h.LinkAdd(bond)
	if err == unix.EOPNOTSUPP {
		return fmt.Errorf("this kernel has no bonding devices (CONFIG_BONDING, `modprobe bonding`): %w", err)
	}
	if err != nil {
		return fmt.Errorf("making a bonding device: %w", err)
	}
	return nil
}

// loadBonding loads the kernel's module as asking for a bond would, but for the device that the module then makes by itself in the
// host's own stack (max_bonds in drivers/net/bonding/bond_main.c). Whether it could be loaded shows when the bond is made.
func loadBonding() {
	if _, err := os.Stat("/sys/module/bonding"); err == nil {
		return
	}
	loader, err := os.ReadFile("/proc/sys/kernel/modprobe") // Documentation/admin-guide/sysctl/kernel.rst
	if err != nil || strings.TrimSpace(string(loader)) == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = exec.CommandContext(ctx, strings.TrimSpace(string(loader)), "-q", "bonding", "max_bonds=0").Run()
}

// NoBonding is why this kernel has no bonding devices, as far as its files tell; "": it has them, or a module that was not tried.
func NoBonding() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return ""
	}
	return noBonding("/", unix.ByteSliceToString(name.Release[:]))
}

// noBonding is that of a root and a kernel's release.
func noBonding(root, release string) string {
	if _, err := os.Stat(filepath.Join(root, "sys/module/bonding")); err == nil { // loaded, or built in
		return ""
	}
	modules := filepath.Join(root, "lib/modules", release)
	known := false
	for _, list := range []string{"modules.builtin", "modules.dep"} { // Documentation/kbuild/kbuild.rst, modules.builtin; depmod(8)
		text, err := os.ReadFile(filepath.Join(modules, list))
		if strings.Contains(string(text), "/bonding.ko") {
			return ""
		}
		known = known || err == nil
	}
	if !known {
		return fmt.Sprintf("this kernel (%s) shows no bonding, loaded or built in, and there are no modules of its in %s", release, modules)
	}
	return fmt.Sprintf("this kernel (%s) has no bonding devices: neither it nor its modules have them", release)
}

// bondDifference tells whether a bond sends as it should.
func (c *cell) bondDifference(b testbed.Bond) error {
	stack := c.stacks[b.Node]
	if stack == nil {
		return nil
	}
	return stack.Do(func() error {
		return withLinks(func(h *handle) error {
			device, err := h.LinkByName(b.Device)
			if err != nil {
				return fmt.Errorf("finding the bond %s: %w", b.Device, err)
			}
			bond, is := device.(*netlink.Bond)
			if !is || bond.Mode != netlink.BOND_MODE_BALANCE_XOR || bond.XmitHashPolicy != netlink.BOND_XMIT_HASH_POLICY_LAYER3_4 || bond.Miimon != b.MonitorMilliseconds {
				return fmt.Errorf("%s/%s is not a bond that sends by layer3+4 and looks at carriers every %d ms", b.Node, b.Device, b.MonitorMilliseconds)
			}
			return nil
		})
	})
}

// tryBonding makes one, and takes it away.
func tryBonding(*Stack) error {
	return withLinks(func(h *handle) error {
		const device = "trybond"
		if err := h.addBond(device, 100); err != nil {
			return err
		}
		bond, err := h.LinkByName(device)
		if err != nil {
			return fmt.Errorf("finding the bonding device: %w", err)
		}
		return h.LinkDel(bond)
	})
}
