//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// browser is a Chromium without a window, spoken to over two pipes by the DevTools protocol: JSON texts, each ended by a
// zero byte (chromium's --remote-debugging-pipe). Where the tests are root's it has no network.
type browser struct {
	t       testing.TB
	to      *os.File
	from    *bufio.Reader
	pipe    *os.File
	last    int
	session string
	events  []devtools // since they were last taken
}

// devtools is a message of the protocol, as far as tests look.
type devtools struct {
	ID     int             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
	Session string `json:"sessionId,omitempty"`
}

// browserPatience bounds every answer: the machine may be busy.
const browserPatience = 60 * time.Second

// needsBrowser starts one, or skips.
func needsBrowser(t testing.TB) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if at, err := exec.LookPath(name); err == nil {
			program = at
			break
		}
	}
	if program == "" {
		t.Skip("needs Chromium (Debian's chromium)")
	}
	folder := browserFolder(t)
	args := []string{program, "--headless=new", "--remote-debugging-pipe", "--user-data-dir=" + folder, "--no-first-run", "--disable-crash-reporter", "--disable-gpu",
		"--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync", "about:blank"}
	if os.Geteuid() == 0 { // its sandbox refuses root
		args = append([]string{"unshare", "--net"}, append(args, "--no-sandbox")...)
	}
	commands, toUs := pipes(t), pipes(t)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.ExtraFiles = []*os.File{commands[0], toUs[1]} // its file descriptors 3 and 4
	cmd.Env = append(os.Environ(), "HOME="+folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ended := startBound(t, cmd)
	commands[0].Close()
	toUs[1].Close()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	})
	b := &browser{t: t, to: commands[1], pipe: toUs[0], from: bufio.NewReader(toUs[0])}
	b.attach()
	return b
}

// browserFolder is removed when the browser's processes have ended: it has several, which may still write when the first is gone.
func browserFolder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for until := time.Now().Add(5 * time.Second); os.RemoveAll(folder) != nil && time.Now().Before(until); {
			time.Sleep(10 * time.Millisecond)
		}
	})
	return folder
}

func pipes(t testing.TB) [2]*os.File {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close(); write.Close() })
	return [2]*os.File{read, write}
}

// attach opens a tab and has it tell what it asks for and complains of.
func (b *browser) attach() {
	b.t.Helper()
	var target struct {
		ID string `json:"targetId"`
	}
	b.ask(&target, "Target.createTarget", map[string]any{"url": "about:blank"})
	var attached struct {
		Session string `json:"sessionId"`
	}
	b.ask(&attached, "Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true})
	b.session = attached.Session
	for _, domain := range []string{"Page", "Network", "Log", "Runtime"} {
		b.ask(nil, domain+".enable", nil)
	}
}

// ask sends a command and waits for its answer.
func (b *browser) ask(answer any, method string, params map[string]any) {
	b.t.Helper()
	b.last++
	if params == nil {
		params = map[string]any{}
	}
	text, err := json.Marshal(map[string]any{"id": b.last, "method": method, "params": params, "sessionId": b.session})
	if b.session == "" {
		text, err = json.Marshal(map[string]any{"id": b.last, "method": method, "params": params})
	}
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatalf("telling Chromium: %v", err)
	}
	for {
		m := b.receive()
		if m.ID != b.last {
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if answer != nil {
			if err := json.Unmarshal(m.Result, answer); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
		return
	}
}

// receive is the next message; events are kept, too.
func (b *browser) receive() devtools {
	b.t.Helper()
	if err := b.pipe.SetReadDeadline(time.Now().Add(browserPatience)); err != nil {
		b.t.Fatal(err)
	}
	text, err := b.from.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("Chromium says nothing: %v", err)
	}
	var m devtools
	if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
		b.t.Fatalf("Chromium says %q: %v", text, err)
	}
	if m.Method != "" {
		b.events = append(b.events, m)
	}
	return m
}

// open shows a file as a screen of that width and that preference of colours would, and returns what it asked for and what
// the browser complained of.
func (b *browser) open(file string, width int, scheme string) (requests, complaints []string) {
	b.t.Helper()
	b.events = nil
	b.ask(nil, "Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false})
	b.ask(nil, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
	var loaded struct {
		Error string `json:"errorText"`
	}
	b.ask(&loaded, "Page.navigate", map[string]any{"url": "file://" + file})
	if loaded.Error != "" {
		b.t.Fatalf("%s: %s", file, loaded.Error)
	}
	for !b.saw("Page.loadEventFired") {
		b.receive()
	}
	b.evaluate(nil, "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
	for _, e := range b.events {
		switch e.Method {
		case "Network.requestWillBeSent":
			var p struct {
				Request struct {
					URL string `json:"url"`
				} `json:"request"`
			}
			_ = json.Unmarshal(e.Params, &p)
			requests = append(requests, p.Request.URL)
		case "Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled":
			complaints = append(complaints, string(e.Params))
		}
	}
	return requests, complaints
}

func (b *browser) saw(method string) bool {
	for _, e := range b.events {
		if e.Method == method {
			return true
		}
	}
	return false
}

// evaluate runs a script in the page, which the page's own policy does not hinder, and waits for what it promises.
func (b *browser) evaluate(value any, script string) {
	b.t.Helper()
	var answer struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text      string `json:"text"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	b.ask(&answer, "Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true})
	if answer.Exception != nil {
		b.t.Fatalf("%.80s: %s %s", script, answer.Exception.Text, answer.Exception.Exception.Description)
	}
	if value != nil {
		if err := json.Unmarshal(answer.Result.Value, value); err != nil {
			b.t.Fatalf("%.80s: %v", strings.TrimSpace(script), err)
		}
	}
}

// press presses a key and lets it go.
func (b *browser) press(key string, code int) {
	b.t.Helper()
	for _, way := range []string{"rawKeyDown", "keyUp"} {
		b.ask(nil, "Input.dispatchKeyEvent", map[string]any{"type": way, "key": key, "code": key, "windowsVirtualKeyCode": code})
	}
}
