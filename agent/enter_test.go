//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// greeter is a program that greets as a place's agent does, and ends with its input.
const greeter = `#!/bin/sh
rm -r "${5%/}"
echo '{"windtunnel":1,"role":"node","pid":1,"place":{"cpus":[0],"addresses":[]}}'
while read -r line; do :; done
`

// places is a folder for what is brought, and how a place that has it is entered.
func places(t *testing.T, program string) (dir string, entry Entry) {
	t.Helper()
	dir = t.TempDir()
	brought := filepath.Join(t.TempDir(), "windtunnel")
	if err := os.WriteFile(brought, []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir, Entry{Name: "web", Exec: []string{"env", "TMPDIR=" + dir}, Bring: func(system, architecture string) (string, error) {
		if system != "linux" || architecture != runtime.GOARCH {
			return "", fmt.Errorf("asked for %s on %s", architecture, system)
		}
		return brought, nil
	}}
}

// mustBeEmpty: nothing that was brought stays. A shell that was killed cannot have removed anything, so it is waited for.
func mustBeEmpty(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s holds %s", dir, entries[0].Name())
		}
	}
}

// These tests do not run beside those that stop every process which this one has started.
func TestOurProgramIsBroughtIntoAPlace(t *testing.T) {
	for name, through := range map[string][]string{
		"as words":                           nil,
		"through another shell, as ssh does": {"sh", "-c", `exec sh -c "$*"`, "ssh"},
		"with a greeting":                    {"sh", "-c", `echo "Welcome to this host"; exec "$@"`, "greeting"},
		"through a command that stays, as docker does": {"sh", "-c", `exec 3<&0; "$@" <&3 & wait`, "stays"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, entry := places(t, greeter)
			entry.Exec = append(through, entry.Exec...)
			c, err := Enter(t.Context(), entry)
			if err != nil {
				t.Fatal(err)
			}
			if place := c.Told(); place == nil || len(place.CPUs) != 1 {
				t.Errorf("it told %+v", place)
			}
			mustBeEmpty(t, dir)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPlacesThatCannotBeEntered: each ends at once, in words, and leaves nothing.
func TestPlacesThatCannotBeEntered(t *testing.T) {
	fakes := t.TempDir() // programs that come before the system's
	for name, text := range map[string]string{"uname": `case $1 in -s) echo Linux;; *) echo riscv64;; esac`, "df": `echo head; echo /dev/x 9 9 1000 99% /`, "head": `exec 0<&-; echo "No space left on device" >&2; exit 1`, "sha256sum": `echo 0000 x`} {
		if err := os.MkdirAll(filepath.Join(fakes, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(fakes, name, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	faked := func(name string) []string {
		return []string{"env", "PATH=" + filepath.Join(fakes, name) + ":/usr/bin:/bin"}
	}
	for name, c := range map[string]struct {
		through []string
		says    string
	}{
		"no such command":       {[]string{"no-such-command-here"}, "no-such-command-here"},
		"no shell":              {[]string{"sh", "-c", `echo "exec: \"sh\": executable file not found in \$PATH" >&2; exit 127`}, "no shell in it"},
		"a terminal":            {[]string{"sh", "-c", "echo the input device is not a TTY >&2; exit 1"}, "leave out -t"},
		"no standard input":     {[]string{"sh", "-c", `exec "$@" </dev/null`, "sh"}, "standard input open"},
		"another system":        {[]string{"sh", "-c", `uname() { echo FreeBSD; }; . /dev/stdin`}, "FreeBSD"},
		"a Mac":                 {[]string{"sh", "-c", `uname() { [ "$1" = -s ] && echo Darwin || echo arm64; }; . /dev/stdin`}, "asked for arm64 on darwin"},
		"another machine":       {faked("uname"), "asked for riscv64 on linux"},
		"no room by df":         {faked("df"), "1000 KiB free"},
		"no room while writing": {faked("head"), "No space left on device"},
		"damaged":               {faked("sha256sum"), "damaged"},
		"garbage":               {[]string{"sh", "-c", "while echo garbage; do :; done"}, "none of ours"},
		"a line without end":    {[]string{"sh", "-c", "tr '\\0' x </dev/zero"}, "something else than a shell"},
		"escapes":               {[]string{"sh", "-c", `printf '\033[2Jgone' >&2; exit 1`}, "?[2Jgone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, entry := places(t, greeter)
			entry.Exec = append(append([]string{}, c.through...), entry.Exec...)
			began := time.Now()
			_, err := Enter(t.Context(), entry)
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "entering web by") {
				t.Errorf("got %v", err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
			mustBeEmpty(t, dir)
		})
	}
}

// TestWhereThereIsNoShell is known by how what enters ends, which may be told later than that its output has ended. Of ssh's own
// failures it is not known.
func TestWhereThereIsNoShell(t *testing.T) {
	for does, none := range map[string]bool{"exit 1": true, "exec >&-; sleep 0.7; exit 1": true, "exit 255": false, "kill -9 $$": false} {
		t.Run(does, func(t *testing.T) {
			t.Parallel()
			_, err := Enter(t.Context(), Entry{Name: "web", Exec: []string{"sh", "-c", does}})
			if err == nil || errors.Is(err, ErrNoShell) != none {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestAProgramThatDoesNotGreet: what was brought is removed though it ran.
func TestAProgramThatDoesNotGreet(t *testing.T) {
	for program, says := range map[string]string{
		"#!/bin/sh\necho no license >&2; exit 3\n":                                                   "no license",
		"#!/bin/sh\necho '{\"windtunnel\":99}'\n":                                                    "version 99",
		"#!/bin/sh\necho '{\"windtunnel\":1,\"role\":\"worker\"}'; while read -r line; do :; done\n": "no agent of a place",
	} {
		dir, entry := places(t, program)
		if _, err := Enter(t.Context(), entry); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %s", err, says)
		}
		mustBeEmpty(t, dir)
	}
}

func TestEnteringIsGivenUp(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := Enter(ctx, Entry{Name: "web", Exec: []string{"sh", "-c", "sleep 60 & wait"}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestOnlyWhatWasBroughtIsRemoved, whatever folder an agent is told.
func TestOnlyWhatWasBroughtIsRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), broughtPrefix+"x")
	mine := filepath.Join(dir, "mine")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(mine, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{dir, filepath.Dir(dir), "/"} {
		if err := removeBrought(folder); err == nil {
			t.Errorf("%s is removed", folder)
		}
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
}

func TestListsOfCPUs(t *testing.T) {
	for text, want := range map[string]string{"0-3,8": "[0 1 2 3 8]", "0": "[0]", "": "[]", "3-1": "[]", "x": "[]", "0-99999999": "[]"} {
		if got := fmt.Sprint(cpuList(text)); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
