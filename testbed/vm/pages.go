//go:build linux

package vm

import "golang.org/x/sys/unix"

// pages says that a guest's memory is huge pages, where the machine has room for it in them now: the kernel sets
// aside what is mapped (Documentation/mm/hugetlbfs_reserv.rst), so that QEMU's own mapping cannot fail later.
func pages(bytes int64) string {
	const size = 2 << 20
	if bytes%size != 0 {
		return ""
	}
	fd, err := unix.MemfdCreate("windtunnel-pages", unix.MFD_CLOEXEC|unix.MFD_HUGETLB|unix.MFD_HUGE_2MB)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, bytes); err != nil {
		return ""
	}
	memory, err := unix.Mmap(fd, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return ""
	}
	_ = unix.Munmap(memory) // it was only tried
	return ",hugetlb=on,hugetlbsize=2M"
}
