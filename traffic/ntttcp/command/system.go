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
	return strings.Join(append(words, runtime.GOARCH), " ")
}
