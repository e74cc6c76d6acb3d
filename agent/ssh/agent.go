package ssh

import (
	"context"
	"net/netip"
	"strings"
	"time"
)

// Agent is the line that starts a node's agent from the folder where its programs were brought. Toward
// are the other node's data addresses, and may be none.
func (h Host) Agent(folder, work string, toward []netip.Addr) []string {
	words := []string{"exec", folder + "/windtunnel", "agent", "--node", h.Node, "--lease", Quote(work), "--copied"}
	return h.Command(strings.Join(append(words, h.DataFlags(toward)...), " "))
}

// DataFlags tell an agent by which interfaces data goes.
func (h Host) DataFlags(toward []netip.Addr) (flags []string) {
	for _, address := range h.Data {
		flags = append(flags, "--data", address.String())
	}
	for _, address := range toward {
		flags = append(flags, "--toward", address.String())
	}
	return flags
}

// sweepWithin is how long a host may take to clean up after an agent that could not.
const sweepWithin = 15 * time.Second

// Sweep has the host take away what a killed agent left there, and the programs that were brought.
func (h Host) Sweep(folder string) error {
	ctx, cancel := context.WithTimeout(context.Background(), sweepWithin)
	defer cancel()
	// The program itself removes its folder, unless another run there has the same
	// programs. 126 and 127 are a shell's, for one that cannot be started.
	_, err := h.Run(ctx, "p="+folder+"; $p/windtunnel clean --copied >/dev/null; r=$?; if [ $r = 126 ] || [ $r = 127 ]; then rm -rf $p; exit 0; fi; exit $r", nil)
	return err
}
