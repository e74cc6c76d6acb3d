//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"windtunnel/oneoff"
)

// The limits of Wine's slower steps.
const (
	wineBoot = 3 * time.Minute // fills a new prefix
	wineRun  = time.Minute
)

// wine is a Wine of its own: its prefix, its server, and nothing of the user's.
type wine struct {
	t       *attempt
	loader  string
	server  string
	program string // windtunnel.exe
	env     []string
}

// TestUnderWine is all that runs the Windows binary. To boot a Wine takes as long as any of these tests,
// so they share one; what it started is gone when the last of them has ended.
func TestUnderWine(t *testing.T) { measured(t, testUnderWine) }

func testUnderWine(t *attempt) {
	besideOthers(t)
	w := newWine(t)
	t.Run("node", func(t *attempt) { windowsNode(t, w.of(t)) }) // alone: it has Wine's server elsewhere
	for name, test := range map[string]func(*wine){"measures": windowsMeasures, "iperf3": iperf3UnderWine, "ntttcp": ntttcpUnderWine} {
		t.Run(name, func(t *attempt) {
			besideOthers(t)
			test(w.of(t))
		})
	}
}

// of is the same Wine for another test.
func (w wine) of(t *attempt) *wine {
	w.t = t
	return &w
}

// newWine boots one, or skips.
func newWine(t *attempt) *wine {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("needs an amd64 machine: the Windows binary is for amd64")
	}
	w := &wine{t: t, loader: firstProgram("/usr/lib/wine/wine64", "wine64", "wine"),
		server: firstProgram("/usr/lib/wine/wineserver64", "/usr/lib/wine/wineserver", "wineserver")}
	if w.loader == "" || w.server == "" {
		t.Skip("needs Wine: apt-get install wine64")
	}
	home := t.TempDir()
	prefix := filepath.Join(home, "prefix")
	w.program = buildForWindows(t)
	w.env = append(os.Environ(), "WINEPREFIX="+prefix, "HOME="+home, "WINEDEBUG=-all", "DISPLAY=", "WAYLAND_DISPLAY=",
		"WINEARCH=win64", "WINEDLLOVERRIDES=mscoree=;mshtml=;winemenubuilder.exe=")
	t.Cleanup(w.end)
	w.must(wineBoot, "wineboot", "--init")
	library := filepath.Join(prefix, "drive_c/windows/system32/bcryptprimitives.dll")
	if _, err := os.Stat(library); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(library, forwarder("bcryptprimitives.dll", "ProcessPrng", "advapi32.SystemFunction036"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func firstProgram(names ...string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func buildForWindows(t testing.TB) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "windtunnel.exe")
	build := exec.Command("go", "build", "-overlay", lenientUDP(t), "-o", program, "./cmd/windtunnel")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building for Windows: %v\n%s", err, said)
	}
	return program
}

// lenientUDP is an overlay for Go's package net, and nothing of ours: it takes no
// for an answer where it asks Windows not to report unreachable networks on UDP
// sockets (SIO_UDP_NETRESET), which Wine 8 does not know, so that there could be
// no UDP socket at all.
func lenientUDP(t testing.TB) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src/net/fd_windows.go")
	text, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	lenient := filepath.Join(dir, "fd_windows.go")
	changed := strings.ReplaceAll(string(text), `return wrapSyscallError("wsaioctl", err)`, "return nil")
	overlay, _ := json.Marshal(map[string]map[string]string{"Replace": {original: lenient}})
	for name, content := range map[string]string{lenient: changed, filepath.Join(dir, "overlay.json"): string(overlay)} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "overlay.json")
}

// command is a program under Wine.
func (w *wine) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, w.loader, args...)
	c.Env, c.Dir = w.env, filepath.Dir(w.program)
	c.WaitDelay = 5 * time.Second // what it started may hold its output open
	return c
}

// must runs one to its end and returns what it wrote.
func (w *wine) must(limit time.Duration, args ...string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var said strings.Builder
	c := w.command(ctx, args...)
	c.Stderr = &said
	out, err := c.Output()
	if failed(err) {
		w.t.Fatalf("wine %v: %v\n%s%s", args, err, out, said.String())
	}
	return string(out)
}

// failed tells whether a program under Wine did. It did not if no more is wrong than that Wine's services,
// which it was the first to need, hold its output open.
func failed(err error) bool { return err != nil && !errors.Is(err, exec.ErrWaitDelay) }

// end kills this prefix's processes, by its own server, and waits for them.
func (w *wine) end() {
	for _, how := range []string{"-k", "-w"} {
		ctx, cancel := context.WithTimeout(context.Background(), wineRun)
		c := exec.CommandContext(ctx, w.server, how)
		c.Env = w.env
		if err := c.Run(); err != nil && how == "-w" {
			w.t.Errorf("waiting for Wine's processes: %v", err)
		}
		cancel()
	}
}

// receiver starts `recv` on a free port and returns the port once it listens.
func (w *wine) receiver() string {
	w.t.Helper()
	port := strconv.Itoa(freePort(w.t))
	ctx, cancel := context.WithCancel(context.Background())
	c := w.command(ctx, w.program, "recv", "--bind", "127.0.0.1", "--port", port, "--only", "native", "--json")
	out, err := c.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { cancel(); _ = c.Wait() })
	listens := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		listens <- line
		_, _ = io.Copy(io.Discard, out) // ends with the program, which Wait waits for
	}()
	select {
	case line := <-listens:
		if !strings.Contains(line, `"what":"listening"`) {
			w.t.Fatalf("the receiver under Wine says %q", line)
		}
	case <-time.After(wineRun):
		w.t.Fatal("the receiver under Wine does not listen")
	}
	return port
}

// windowsMeasures has the Windows binary at both ends of TCP and UDP.
// CPU times are the system's own (GetThreadTimes): Wine takes them from Linux.
func windowsMeasures(w *wine) {
	port := w.receiver()
	for _, load := range [][]string{
		{"--kind", "stream"},
		{"--kind", "datagram", "--rate", "200Mbit/s"},
	} {
		w.t.Run(load[1], func(t *attempt) {
			args := append([]string{w.program, "send", "127.0.0.1", "--port", port, "--json", "--no-calibrate",
				"--time", "2s", "--warmup", "500ms", "--interval", "0s"}, load...)
			var got oneoff.Outcome
			text := strings.TrimSpace(w.of(t).must(wineRun, args...))
			if err := json.Unmarshal([]byte(text[strings.LastIndex(text, "\n")+1:]), &got); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			for name, end := range map[string]struct {
				bytes uint64
				cpu   float64
			}{
				"sender":   {got.Pair.Sender.Bytes, got.Pair.Sender.CPUSeconds},
				"receiver": {got.Pair.Receiver.Bytes, got.Pair.Receiver.CPUSeconds},
			} {
				if end.bytes == 0 || end.cpu <= 0 {
					t.Errorf("the %s counted %d bytes and %g s of CPU time: %s", name, end.bytes, end.cpu, text)
				}
			}
		})
	}
}
