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
			line, err := readLine(newGuests(1).enter(here), bufio.NewReader(here))
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
		`{"get":"vifs"}`:         `there is no "vifs" to get; did you mean "vif"?`,

		`{"apply":{},"dryrun":true}`:             `unknown key "dryrun"; did you mean "dry_run"?`,
		`{"Apply":{}}`:                           `unknown key "Apply"; did you mean "apply"?`,
		`{"get":"drops","netwrok":"n1"}`:         `unknown key "netwrok"; did you mean "network"?`,
		`{"trace":{"prot":"a","to":"10.0.1.4"}}`: `reading the request, trace: unknown key "prot"; did you mean "proto"?`,
		`{"watch":{"cuont":1}}`:                  `reading the request, watch: unknown key "cuont"; did you mean "count"?`,
		`{"routes":[],"dry_run":true}`:           `"dry_run" is of "apply" only`,
		`{"get":"vif","network":"n1"}`:           `"network" and "port" are of stats, drops, flow only`,
		`{"trace":{},"port":"a"}`:                `"network" and "port" are of stats, drops, flow only`,
		`{"get":"vif","limit":1}`:                `"limit" is of "flow" and "rule" only`,
		`{"get":"vif"}{}`:                        `reading the request`,
		`[]`:                                     `reading the request`,
		`{"trace":5}`:                            `reading the request, trace`,
		`{"get":"flow","limit":-1}`:              `-1 flows cannot be listed`,
		`{"watch":{"count":-1}}`:                 `a watch shows 1 to 1000 packets`,
	} {
		reply := (&Agent{}).answer(t.Context(), []byte(request), viewer{})
		if text, _ := reply["error"].(string); reply["ok"] != false || reply["refused"] != true || !strings.Contains(text, want) {
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
