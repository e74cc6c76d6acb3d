package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// cannotBuild is the exit code of scripts/poll.sh where DPDK is missing.
const cannotBuild = 77

// PollProgram builds vrouter-poll, or skips the test. With POLL_SANITIZED set it is the one under the
// sanitizers, and their findings fail the test, though the agent starts another process at once.
func PollProgram(t *testing.T) string {
	t.Helper()
	if os.Getenv("POLL_SANITIZED") == "" {
		return pollTool(t, "")
	}
	return watched(t, pollTool(t, "sanitized"))
}

// watched runs a program whose sanitizers write into files, which must not be there at the end.
func watched(t *testing.T, program string) string {
	t.Helper()
	folder := t.TempDir()
	script := filepath.Join(folder, "vrouter-poll")
	// A VM that takes its memory away raises SIGBUS, which the process looks after itself: no sanitizer's matter.
	options := "log_path=" + filepath.Join(folder, "finding") + ":print_stacktrace=1:handle_sigbus=0"
	text := fmt.Sprintf("#!/bin/sh\nASAN_OPTIONS=%s UBSAN_OPTIONS=%s exec %s \"$@\"\n", options, options, program)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		findings, err := filepath.Glob(filepath.Join(folder, "finding*"))
		if err != nil {
			t.Error(err)
		}
		for _, name := range findings {
			text, err := os.ReadFile(name)
			t.Errorf("the sanitizers found (%v):\n%s", err, text)
		}
	})
	return script
}

// PollStand builds the program that forwards as vrouter-poll does, between ports that are no devices:
// vrouter/poll/testdata/stand.c. Where it cannot be built, the test is skipped.
func PollStand(t *testing.T) string {
	t.Helper()
	return pollTool(t, "stand")
}

// PollFuzzer builds the fuzzer of the same code, vrouter/poll/testdata/fuzz.c, or skips the test.
func PollFuzzer(t *testing.T) string {
	t.Helper()
	return pollTool(t, "fuzz")
}

// PollSwitch gives a program that is vrouter-poll with a NIC's embedded switch behind its ports
// (vrouter/poll/testdata/embedded_switch.c, which has the settings).
func PollSwitch(t *testing.T, settings ...string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "vrouter-poll")
	words := strings.Join(append(settings, "LD_PRELOAD="+pollTool(t, "switch")), " ")
	text := fmt.Sprintf("#!/bin/sh\nexec env %s %s \"$@\"\n", words, PollProgram(t))
	if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return program
}

// pollTool builds one of the programs of scripts/poll.sh.
func pollTool(t *testing.T, what string) string {
	t.Helper()
	name := strings.TrimSuffix("vrouter-poll-"+what, "-")
	// A machine that has no compiler, such as scripts/pci.sh makes, brings them along.
	if folder := os.Getenv("POLL_PROGRAMS"); folder != "" {
		return filepath.Join(folder, name)
	}
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(file), "..", "..", "..")
	openSources(t, filepath.Join(root, "vrouter"))
	text, err := exec.Command("bash", filepath.Join(root, "scripts", "poll.sh"), what).CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == cannotBuild {
		t.Skip("skip: " + strings.TrimSpace(string(text)))
	}
	if err != nil {
		t.Fatalf("building vrouter-poll: %v\n%s", err, text)
	}
	return filepath.Join(root, "bin", name)
}

// openSources opens what the programs are made of: Go repeats a test's last result unless a file that it
// opened has changed, and does not see what a compiler reads.
func openSources(t *testing.T, folder string) {
	t.Helper()
	for _, pattern := range []string{"core/*.h", "core/testdata/*.h", "poll/*.[ch]", "poll/meson.build", "poll/testdata/*.[ch]", "../scripts/poll.sh"} {
		files, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("listing %s: %d files, %v", pattern, len(files), err)
		}
		for _, name := range files {
			file, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			file.Close()
		}
	}
}
