package main

import (
	"bufio"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// TestRouteAdd: the flags of a route become the request that PROTOCOL.md describes.
func TestRouteAdd(t *testing.T) {
	const begin = `{"routes":[{"network":"n1","prefix":"10.0.1.9/32","via":{`
	for _, c := range []struct{ flags, want string }{
		{"--tunnel 10.0.0.2 --encapsulation mplsoudp --label 17", `"tunnel":"10.0.0.2","encapsulation":"mplsoudp","label":17}}]}`},
		{"--tunnel fd00::2 --encapsulation vxlan --vni 7 --mac 02:00:00:00:00:09", `"tunnel":"fd00::2","encapsulation":"vxlan","vni":7,"mac":"02:00:00:00:00:09"}}]}`},
		{"--port web1", `"port":"web1"}}]}`},
		{"--to-network n2", `"network":"n2"}}]}`},
		{"--way port=web1 --way tunnel=10.0.0.2,encapsulation=mplsogre,label=17", `"ecmp":[{"port":"web1"},{"tunnel":"10.0.0.2","encapsulation":"mplsogre","label":17}]}}]}`},
	} {
		socket, asked := filepath.Join(t.TempDir(), "socket"), make(chan string, 1)
		listener, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer listener.Close()
			if conn, err := listener.Accept(); err == nil {
				line, _ := bufio.NewReader(conn).ReadString('\n')
				asked <- line
				conn.Write([]byte(`{"ok":true,"routes":{"changes":1,"routes":1}}` + "\n"))
				conn.Close()
			}
		}()
		code, _, stderr := vrouter(append([]string{"rt", "add", "10.0.1.9/32", "--network", "n1", "--socket", socket}, strings.Fields(c.flags)...)...)
		if code != exitDone {
			listener.Close()
			t.Errorf("%s: exit %d: %s", c.flags, code, stderr)
		} else if line := <-asked; line != begin+c.want+"\n" {
			t.Errorf("%s: asked for %s", c.flags, line)
		}
	}
	for flags, want := range map[string]string{
		"--port a --to-network b":          "none of the others can be",
		"--tunnel 10.0.0.2":                "[encapsulation]",
		"--way prot=a":                     `--way prot=a: there is no "prot"; did you mean "port"?`,
		"--way port=a --way tunnel=x":      "--way tunnel=x: --tunnel: ",
		"--way tunnel=10.0.0.2,label=blue": `label: "blue" is no number`,
	} {
		code, _, stderr := vrouter(append([]string{"rt", "add", "10.0.1.9/32", "--network", "n1", "--socket", "nowhere"}, strings.Fields(flags)...)...)
		if code != exitRefused || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d: %s", flags, code, stderr)
		}
	}
}
