//go:build e2e

package e2e

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestOldestKernel: the oldest kernel that vrouter/README.md names takes the vRouter's programs, and they do there
// with golden packets what they do here. `make kernels` runs all of the vRouter's tests there.
func TestOldestKernel(t *testing.T) {
	besideOthers(t)
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		t.Skip("skip: needs QEMU (Debian's qemu-system-x86)")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	const tests = "^(TestGoldenPackets|TestQuotes|TestFlowPackets|TestStack|TestVerifierEffort)$"
	cmd := exec.CommandContext(ctx, "bash", "../../scripts/kernels.sh", "6.1", "-packages", "kernel", "-run", tests, "-minutes", "8")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // which it takes the guest away on
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 3:
		t.Skipf("skip: needs a package of the kernel: %s", out)
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	}
}
