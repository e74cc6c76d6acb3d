//go:build !windows

package ntttcp

import "syscall"

const errConnRefused = syscall.ECONNREFUSED
