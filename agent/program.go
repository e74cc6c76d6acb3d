package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// ProgramFor finds our program for a machine of Linux, by Go's name of its architecture: the one that runs, or what
// `make dist` put beside it.
func ProgramFor(self, architecture string) (string, error) {
	if architecture == runtime.GOARCH && runtime.GOOS == "linux" {
		return self, nil
	}
	path := filepath.Join(filepath.Dir(self), "windtunnel-linux-"+filepath.Base(architecture))
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("its machine is %.40q, and this program is for %s: put that machine's beside it, as %s (`make dist` builds amd64's and arm64's)",
			architecture, runtime.GOARCH, path)
	}
	return path, nil
}
