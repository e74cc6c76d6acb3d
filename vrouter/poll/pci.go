package poll

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// pciDevices is where the kernel lists them.
const pciDevices = "/sys/bus/pci/devices"

// vfioGroups is where the files of IOMMU groups are that VFIO has a device of (Documentation/driver-api/vfio.rst).
const vfioGroups = "/dev/vfio"

const vfioDriver = "vfio-pci"

// vfioBeside are drivers that a group's other devices may have (vfio_dev_driver_allowed): what has none may be there, too.
var vfioBeside = []string{vfioDriver, "pci-stub", "pcieport"}

// pciShared are drivers of the kernel that DPDK's work beside (DPDK's guides to mlx4 and mlx5).
var pciShared = []string{"mlx4_core", "mlx5_core"}

// pciFree refuses a device that DPDK cannot have, and says how it can. groups is where the files of IOMMU
// groups are.
func pciFree(folder, groups, address string) error {
	class, err := os.ReadFile(filepath.Join(folder, address, "class"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no PCI device %s; `lspci -D` lists them", address)
	}
	if err != nil {
		return fmt.Errorf("looking at the PCI device %s: %w", address, err)
	}
	if !strings.HasPrefix(string(class), "0x02") { // network controllers: PCI code and ID assignment, base class 02h
		return fmt.Errorf("the PCI device %s is no network controller (its class is %s); `lspci -D` lists them", address, strings.TrimSpace(string(class)))
	}
	target, err := os.Readlink(filepath.Join(folder, address, "driver"))
	driver := filepath.Base(target)
	const bind = "`modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci %s` (of Debian's dpdk) gives it to the poll mode"
	switch {
	case errors.Is(err, fs.ErrNotExist) && !isThere(filepath.Join(folder, address, "iommu_group")):
		return behindNone(address) // nor would vfio-pci take it
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the PCI device %s has no driver; "+bind, address, address)
	case err != nil:
		return fmt.Errorf("looking for the driver of the PCI device %s: %w", address, err)
	case driver == "uio_pci_generic" || driver == "igb_uio":
		return fmt.Errorf("the PCI device %s has the driver %s, by which DPDK needs physical addresses, which the vRouter does not ask for; "+bind, address, driver, address)
	case driver == vfioDriver:
		return groupFree(filepath.Join(folder, address, "iommu_group"), groups, address)
	case slices.Contains(pciShared, driver):
		return nil
	}
	device := ""
	if names, err := os.ReadDir(filepath.Join(folder, address, "net")); err == nil && len(names) > 0 {
		device = ", as " + names[0].Name()
	}
	return fmt.Errorf("the PCI device %s is the kernel's, with its driver %s%s; "+bind+", and takes it from the kernel", address, driver, device, address)
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func behindNone(address string) error {
	return fmt.Errorf("the PCI device %s is behind no IOMMU, so DPDK would need physical addresses, which the vRouter does not ask for; switch the IOMMU on, in the firmware (VT-d, AMD-Vi) and by intel_iommu=on in the kernel's command line, or give a virtual machine one", address)
}

// groupFree refuses a device of VFIO's that no IOMMU keeps apart, as without one DPDK would need physical
// addresses, and one whose group is not all VFIO's, not this process's to open, or in use.
func groupFree(group, groups, address string) error {
	target, err := os.Readlink(group)
	name, _ := os.ReadFile(filepath.Join(group, "name")) // only some groups have one
	switch {
	case errors.Is(err, fs.ErrNotExist) || strings.HasPrefix(string(name), "vfio-noiommu"):
		return behindNone(address)
	case err != nil:
		return fmt.Errorf("looking for the IOMMU group of the PCI device %s: %w", address, err)
	}
	others, err := os.ReadDir(filepath.Join(group, "devices"))
	if err != nil {
		return fmt.Errorf("looking at the IOMMU group of the PCI device %s: %w", address, err)
	}
	for _, other := range others {
		driver, err := os.Readlink(filepath.Join(group, "devices", other.Name(), "driver"))
		if err == nil && !slices.Contains(vfioBeside, filepath.Base(driver)) {
			return fmt.Errorf("the PCI device %s shares its IOMMU group with %s, which has the driver %s; bind that to vfio-pci as well, or take a device with a group of its own", address, other.Name(), filepath.Base(driver))
		}
	}
	file := filepath.Join(groups, filepath.Base(target))
	opened, err := os.OpenFile(file, os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the PCI device %s is by %s, which this user may not open; run vrouter as root, or give the file to the user", address, file)
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("the PCI device %s is by %s, which another process has open; `fuser %s` names it", address, file, file)
	case err != nil:
		return fmt.Errorf("the PCI device %s is VFIO's, and its IOMMU group cannot be opened: %w", address, err)
	}
	return opened.Close()
}
