package traffic

import (
	"errors"
	"slices"
	"syscall"
)

// NoRoute is what to look at where a connection was not made as there is no route; "" of any other reason. A host that does not answer is
// none of them: a firewall may say that of one that is there.
func NoRoute(err error) string {
	var errno syscall.Errno
	// On Windows they are WSAENETDOWN, WSAENETUNREACH and WSAEADDRNOTAVAIL.
	no := []syscall.Errno{syscall.ENETDOWN, syscall.ENETUNREACH, syscall.EADDRNOTAVAIL, 10050, 10051, 10049}
	if !errors.As(err, &errno) || !slices.Contains(no, errno) {
		return ""
	}
	return "this host, or a router on the way, has no route there, or there is no address here to come from: is the interface up, and has it one of that IP version?"
}
