package traffic

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// SetCongestion chooses a TCP socket's congestion control, which stays as it is by SystemCongestion; its error says
// which the kernel has, or lets this user have.
func SetCongestion(fd int, name string) error {
	if name == SystemCongestion {
		return nil
	}
	err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
	switch {
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("this kernel has no congestion control %q: it has %s", name, algorithms("available"))
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("congestion control %q is for root only: others may use %s, or %s, which is this machine's own", name, algorithms("allowed"), SystemCongestion)
	case err != nil:
		return fmt.Errorf("setting the congestion control %q: %w", name, err)
	}
	return nil
}

func algorithms(which string) string {
	text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_" + which + "_congestion_control")
	if err != nil {
		return "none that could be listed"
	}
	return strings.Join(strings.Fields(string(text)), ", ")
}
