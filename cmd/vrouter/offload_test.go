package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"windtunnel/vrouter/offload"
)

// someEthernet is an interface of this machine that could be a fabric's; nothing is done to it.
func someEthernet(t *testing.T) string {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if len(i.HardwareAddr) == 6 {
			return i.Name
		}
	}
	t.Skip("skip: needs an Ethernet interface in this network namespace, of any kind")
	return ""
}

// someNode is a configuration on such an interface; its port's is not there.
func someNode(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "node.json")
	text := `{"format":1,"name":"D-a","fabric":{"interface":"` + someEthernet(t) + `","address":"10.9.0.1"},
 "networks":[{"name":"n1","subnet":"10.0.1.0/24","gateway":"10.0.1.254"}],
 "ports":[{"name":"a","interface":"no-such","network":"n1","address":"10.0.1.3","mac":"02:00:00:00:01:03","label":16}],
 "routes":[{"network":"n1","prefix":"10.0.1.4/32","via":{"tunnel":"10.9.0.2","encapsulation":"mplsoudp","label":17}}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOffload: each format, and what is refused.
func TestOffload(t *testing.T) {
	path := someNode(t)
	cases := []struct {
		args, want string
		code       int
	}{
		{"", "# not offloaded: fabric, mplsoudp to 10.9.0.1, label 16: not_forwarded", exitDone},
		{"--format tc", "# not offloaded: fabric, mplsoudp to 10.9.0.1, label 16: not_forwarded", exitDone},
		{"--flow a,tcp,10.0.1.3:1,10.0.1.4:2 --port a", `there is no port "a"`, exitDone},
		{"--format tv", `there is no format "tv"; did you mean "tc"?`, exitRefused},
		{"--port b", `there is no port "b" in`, exitRefused},
		{"--limit 0", "leaves no rule", exitRefused},
		{"--flow a,tcp", "is no flow such as", exitRefused},
	}
	for _, c := range cases {
		t.Run(c.args, func(t *testing.T) {
			code, stdout, stderr := vrouter(append([]string{"offload", "--config", path}, strings.Fields(c.args)...)...)
			if code != c.code || !strings.Contains(stdout+stderr, c.want) {
				t.Errorf("exit %d: %s%s", code, stdout, stderr)
			}
		})
	}
	code, stdout, stderr := vrouter("offload", "--config", path, "--format", "json")
	var plans []struct {
		Target  offload.Target    `json:"target"`
		Refused []offload.Refusal `json:"refused"`
		Rules   []json.RawMessage `json:"rules"`
	}
	if err := json.Unmarshal([]byte(stdout), &plans); err != nil || code != exitDone || len(plans) != 2 || len(plans[0].Refused) == 0 {
		t.Errorf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
}
