package command

import (
	"os"
	"runtime"
	"strings"
)

// computer is this machine's name.
func computer() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// machine is the processor's architecture as `uname -m` says it.
func machine() string {
	switch runtime.GOARCH {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	}
	return runtime.GOARCH
}

// systemName is what `uname -a` says of a Linux, elsewhere what the program was
// built for.
func systemName() string {
	if runtime.GOOS != "linux" {
		return runtime.GOOS + " " + runtime.GOARCH
	}
	var words []string
	for _, name := range []string{"ostype", "hostname", "osrelease", "version"} {
		text, err := os.ReadFile("/proc/sys/kernel/" + name)
		if err == nil {
			words = append(words, strings.TrimSpace(string(text)))
		}
	}
	return strings.Join(append(words, machine(), "GNU/Linux"), " ")
}
