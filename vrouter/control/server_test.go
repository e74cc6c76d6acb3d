package control

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadLine(t *testing.T) {
	cases := []struct {
		name, sent, want string
		err              error
	}{
		{"a line", "{\"get\":\"vif\"}\n", "{\"get\":\"vif\"}\n", nil},
		{"no newline", `{"get":"vif"}`, `{"get":"vif"}`, nil},
		{"more than a buffer", strings.Repeat("x", 100_000) + "\n", strings.Repeat("x", 100_000) + "\n", nil},
		{"too long", strings.Repeat("x", maxRequest+1), "", errTooLong},
		{"nothing", "", "", io.EOF},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			here, there := net.Pipe()
			go func() {
				io.WriteString(there, c.sent)
				there.Close()
			}()
			line, err := readLine(here, bufio.NewReader(here))
			here.Close()
			if string(line) != c.want || !errors.Is(err, c.err) {
				t.Errorf("got %d bytes and %v", len(line), err)
			}
		})
	}
}

func TestWrongRequests(t *testing.T) {
	for request, want := range map[string]string{
		`{`:                      "reading the request",
		`{}`:                     `a request is {"get":"..."}`,
		`{"get":"x","apply":{}}`: `a request is {"get":"..."}`,
		`{"get":"x"}`:            `there is no "x" to get`,
	} {
		reply := (&Agent{}).answer(t.Context(), []byte(request), viewer{})
		if text, _ := reply["error"].(string); reply["ok"] != false || !strings.Contains(text, want) {
			t.Errorf("%s: %v", request, reply)
		}
	}
}

func TestListen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	first, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v, %v", info.Mode(), err)
	}
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), "somebody serves") {
		t.Errorf("a second one: %v", err)
	}
	first.(*net.UnixListener).SetUnlinkOnClose(false)
	first.Close()
	second, err := Listen(path) // what a killed vRouter left is taken over
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("over a file: %v", err)
	}
}
