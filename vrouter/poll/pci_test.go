package poll

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPCIFree: devices that DPDK cannot have are refused, with what to do.
func TestPCIFree(t *testing.T) {
	const address = "0000:03:00.0"
	for _, c := range []struct{ name, class, driver, inside, says string }{
		{"shared", "0x020000", "mlx5_core", "", ""},
		{"the kernel's", "0x020000", "e1000e", "net/eth3", "is the kernel's, with its driver e1000e, as eth3; `modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci 0000:03:00.0`"},
		{"without an interface", "0x028000", "e1000e", "", "is the kernel's, with its driver e1000e; `modprobe"},
		{"nobody's", "0x020000", "", "iommu_group", "has no driver; `modprobe vfio-pci"},
		{"nobody's, without an IOMMU", "0x020000", "", "", "is behind no IOMMU"},
		{"uio", "0x020000", "uio_pci_generic", "", "physical addresses"},
		{"a disk", "0x010000", "vfio-pci", "", "is no network controller (its class is 0x010000)"},
		{"not there", "", "", "", "there is no PCI device 0000:03:00.0; `lspci -D`"},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			if c.class != "" {
				fakePCI(t, folder, address, c.class, c.driver)
			}
			if c.inside != "" {
				must(t, os.MkdirAll(filepath.Join(folder, address, c.inside), 0o700))
			}
			err := pciFree(folder, folder, address)
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%v, not %q", err, c.says)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fakePCI makes a device as sysfs shows it, with a driver or without.
func fakePCI(t *testing.T, folder, address, class, driver string) {
	t.Helper()
	device := filepath.Join(folder, address)
	must(t, os.MkdirAll(device, 0o700))
	must(t, os.WriteFile(filepath.Join(device, "class"), []byte(class+"\n"), 0o600))
	if driver != "" {
		must(t, os.Symlink("../../drivers/"+driver, filepath.Join(device, "driver")))
	}
}

// TestPCIGroup: a device of VFIO's is refused unless an IOMMU keeps it, and nobody else has its group.
func TestPCIGroup(t *testing.T) {
	const address, beside = "0000:03:00.0", "0000:03:00.1"
	for _, c := range []struct{ name, beside, group, file, says string }{
		{"free", "", "", "7", ""},
		{"with its bridge", "pcieport", "", "7", ""},
		{"with one of nobody", "nobody", "", "7", ""},
		{"with the kernel's", "ixgbe", "", "7", "shares its IOMMU group with 0000:03:00.1, which has the driver ixgbe"},
		{"without a group", "", "none", "7", "is behind no IOMMU"},
		{"without an IOMMU", "", "vfio-noiommu", "noiommu-7", "is behind no IOMMU"},
		{"without a file", "", "", "8", "cannot be opened"},
	} {
		t.Run(c.name, func(t *testing.T) {
			devices, groups := t.TempDir(), t.TempDir()
			fakePCI(t, devices, address, "0x020000", vfioDriver)
			group := filepath.Join(groups, "of", "7")
			must(t, os.MkdirAll(filepath.Join(group, "devices"), 0o700))
			must(t, os.Symlink(filepath.Join(devices, address), filepath.Join(group, "devices", address)))
			if c.beside != "" {
				fakePCI(t, devices, beside, "0x020000", strings.TrimSuffix(c.beside, "nobody"))
				must(t, os.Symlink(filepath.Join(devices, beside), filepath.Join(group, "devices", beside)))
			}
			if c.group != "" {
				must(t, os.WriteFile(filepath.Join(group, "name"), []byte(c.group+"\n"), 0o600))
			}
			if c.group != "none" {
				must(t, os.Symlink(group, filepath.Join(devices, address, "iommu_group")))
			}
			must(t, os.WriteFile(filepath.Join(groups, c.file), nil, 0o600))
			err := pciFree(devices, groups, address)
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%v, not %q", err, c.says)
			}
		})
	}
}

// TestPCIGroupRights: a user who may not open the group is told so.
func TestPCIGroupRights(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skip: needs root (to be another user on one thread)")
	}
	folder := t.TempDir()
	for _, open := range []string{folder, filepath.Dir(folder)} {
		must(t, os.Chmod(open, 0o755))
	}
	must(t, os.MkdirAll(filepath.Join(folder, "7", "devices"), 0o755))
	must(t, os.Symlink(filepath.Join(folder, "7"), filepath.Join(folder, "iommu_group")))
	groups := filepath.Join(folder, "groups")
	must(t, os.Mkdir(groups, 0o755))
	must(t, os.WriteFile(filepath.Join(groups, "7"), nil, 0o600))
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // which ends with it, so nobody else gets its user
		_ = unix.Setfsuid(65534)
		failed <- groupFree(filepath.Join(folder, "iommu_group"), groups, "0000:03:00.0")
	}()
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "which this user may not open; run vrouter as root") {
		t.Error(err)
	}
}
