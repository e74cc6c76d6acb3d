package ntttcp

import "syscall"

// errConnRefused is Winsock's WSAECONNREFUSED, which package syscall does not name.
const errConnRefused = syscall.Errno(10061)
