//go:build !linux

package traffic

import "net"

// takeBoth leaves it to Go: there are no network namespaces here.
func takeBoth(*net.ListenConfig) bool { return false }
