package main

import (
	"bufio"
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// vrouter runs the program in this process.
func vrouter(args ...string) (code int, stdout, stderr string) {
	var out, problems bytes.Buffer
	code = run(args, strings.NewReader(""), &out, &problems)
	return code, out.String(), problems.String()
}

func TestExitCodes(t *testing.T) {
	folder := t.TempDir()
	wrong := filepath.Join(folder, "wrong.json")
	if err := os.WriteFile(wrong, []byte("{\"format\":1,\n\"nmae\":\"a\"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(folder, "nowhere")
	cases := []struct {
		name string
		args string
		code int
		want string
	}{
		{"help", "--help", exitDone, ""},
		{"unknown command", "fly", exitRefused, "unknown command \"fly\"; `vrouter --help` lists them"},
		{"nearly a command", "stat", exitRefused, `unknown command "stat"; did you mean "stats"?`},
		{"unknown flag", "run --fly", exitRefused, "unknown flag: --fly; `vrouter run --help` lists them"},
		{"nearly a flag", "trace --prot udp", exitRefused, `unknown flag: --prot; did you mean "--p`},
		{"flag missing", "run --socket " + nowhere, exitRefused, `"config" not set`},
		{"argument missing", "apply --socket " + nowhere, exitRefused, "vrouter apply takes one argument, FILE, not 0; `vrouter apply --help` has examples"},
		{"no configuration", "run --config " + nowhere + " --socket " + nowhere, exitRefused, "reading the configuration"},
		{"endless configuration", "apply /dev/zero --socket " + nowhere, exitRefused, "/dev/zero: larger than 8388608 bytes"},
		{"wrong configuration", "run --config " + wrong + " --socket " + nowhere, exitRefused, wrong + `:2:1: unknown key "nmae"; did you mean "name"?`},
		{"wrong configuration to apply", "apply --socket " + nowhere + " " + wrong, exitRefused, `did you mean "name"?`},
		{"nobody serves", "vif --socket " + nowhere, exitFailed, "is `vrouter run --socket " + nowhere + "` running?"},
		{"nothing to delete", "delete --name no-vrouter-has-this-name", exitDone, `there is no vRouter "no-vrouter-has-this-name"`},
		{"exit code of what", "apply --exit-code " + wrong, exitRefused, "--exit-code is for --dry-run"},
		{"trace of what", "trace --port a", exitRefused, "say which packet: --port and --to"},
		{"live of what", "trace --live --to 10.0.1.4", exitRefused, "--live shows packets that pass"},
		{"no prefix", "rt del 10.0.1.4 --network n1 --socket " + nowhere, exitRefused, "no '/'"},
		{"more than a prefix", "rt add n1 10.0.1.4/32 --network n1", exitRefused, "vrouter rt add takes one argument, PREFIX, not 2"},
		{"no way", "rt add 10.0.1.4/32 --network n1 --socket " + nowhere, exitRefused, `[tunnel port to-network way] is required`},
		{"whose label", "rt add 10.0.1.4/32 --network n1 --way port=a --label 9 --socket " + nowhere, exitRefused, "[label way] were all set"},
		{"no network", "rt del 10.0.1.4/32 --socket " + nowhere, exitRefused, `"network" not set`},
		{"no name", "delete --name ../..", exitRefused, "is no vRouter's name"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			code, _, stderr := vrouter(strings.Fields(c.args)...)
			if code != c.code || !strings.Contains(stderr, c.want) {
				t.Errorf("exit %d, not %d: %s", code, c.code, stderr)
			}
		})
	}
}

// serve answers every request at a socket with one reply.
func serve(t *testing.T, reply string) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "socket")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if _, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
				conn.Write([]byte(reply + "\n"))
			}
			conn.Close()
		}
	}()
	return socket
}

func TestTables(t *testing.T) {
	cases := []struct{ command, reply, want string }{
		{"rt", `{"ok":true,"rt":[{"network":"n1","prefix":"10.0.1.4/32","nh":3,"label":17},{"network":"n1","prefix":"10.0.1.5/32","nh":3,"label":18,"stale":true}]}`,
			"NETWORK  PREFIX       NH  LABEL  STATE\nn1       10.0.1.4/32  3   17\nn1       10.0.1.5/32  3   18     stale\n"},
		{"rt sweep", `{"ok":true,"sweep":{"removed":2,"routes":7}}`, "2 stale routes taken away; 7 are left\n"},
		{"drops", `{"ok":true,"drops":[{"reason":"no_route","says":"none","packets":5,"segments":6,"bytes":7},{"reason":"vlan","says":"tag","packets":0,"segments":0,"bytes":0}]}`,
			"REASON    PACKETS  SEGMENTS  BYTES  MEANS\nno_route  5        6         7      none\n"},
		{"drops --network n1", `{"ok":true,"drops":[{"reason":"no_route","says":"none","direction":"from","packets":5,"segments":6,"bytes":7}]}`,
			"WAY   REASON    PACKETS  SEGMENTS  BYTES  MEANS\nfrom  no_route  5        6         7      none\n"},
		{"drops", `{"ok":true,"drops":[]}`, "nothing was lost\n"},
		{"mpls", `{"ok":true,"mpls":[{"label":16,"nh":2,"port":"sender"},{"label":40,"nh":3,"network":"n1"},{"label":41,"nh":4,"network":"n1","bridged":true}]}`,
			"LABEL  NH  PORT    NETWORK  AS\n16     2   sender\n40     3           n1       routed\n41     4           n1       bridged\n"},
		{"vxlan", `{"ok":true,"vxlan":[{"vni":5001,"network":"n1"},{"vni":6001,"network":"lan","bridged":true}]}`,
			"VNI   NETWORK  AS\n5001  n1       routed\n6001  lan      bridged\n"},
		{"nh", `{"ok":true,"nh":[{"nh":1,"type":"receive","resolved":true}]}`,
			"NH  TYPE     OUT  TUNNEL  AS  MAC  MTU  RESOLVED  MEMBERS\n1   receive                        0    true\n"},
		{"vif", `{"ok":true,"vif":[]}`, "VIF  NAME  INTERFACE  NETWORK  ADDRESS  MAC  MTU  LABEL  DELIVERY  FAST  RX  TX\n"},
	}
	for _, c := range cases {
		t.Run(c.command, func(t *testing.T) {
			code, stdout, stderr := vrouter(append(strings.Fields(c.command), "--socket", serve(t, c.reply))...)
			if code != exitDone || stdout != c.want {
				t.Errorf("exit %d, %s\ngot:\n%s\nwant:\n%s", code, stderr, stdout, c.want)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	if code, stdout, _ := vrouter("rt", "--json", "--socket", serve(t, `{"ok":true,"rt":[{"nh":3}]}`)); code != exitDone || stdout != "[{\"nh\":3}]\n" {
		t.Errorf("exit %d: %s", code, stdout)
	}
}

func TestErrorReply(t *testing.T) {
	if code, _, stderr := vrouter("rt", "--socket", serve(t, `{"error":"no such thing","ok":false}`)); code != exitFailed || stderr != "vrouter: no such thing\n" {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
