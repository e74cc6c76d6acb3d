package command

import "golang.org/x/sys/unix"

// systemInfo is what uname -snrvm says.
func systemInfo() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "Linux"
	}
	text := func(b []byte) string { return unix.ByteSliceToString(b) }
	return text(u.Sysname[:]) + " " + text(u.Nodename[:]) + " " + text(u.Release[:]) + " " + text(u.Version[:]) + " " + text(u.Machine[:])
}
