package command

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// writePidfile keeps the process's number in a file, as iperf3 does: without a
// newline, for its owner only, and not over that of a living process.
func writePidfile(name string) (remove func(), err error) {
	if name == "" {
		return func() {}, nil
	}
	if pid := readPid(name); pid > 0 && pid != os.Getpid() && lives(pid) {
		return nil, fmt.Errorf("another instance of iperf3 appears to be running: %s holds process %d", name, pid)
	}
	const owner = 0o600
	if err := os.WriteFile(name, []byte(strconv.Itoa(os.Getpid())), owner); err != nil {
		return nil, fmt.Errorf("unable to write PID file: %w", err)
	}
	return func() { _ = os.Remove(name) }, nil
}

// readPid is the number that a file begins with, 0 for none.
func readPid(name string) int {
	file, err := os.Open(name)
	if err != nil {
		return 0
	}
	defer file.Close()
	const longest = 32
	text, _ := io.ReadAll(io.LimitReader(file, longest))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}
