package offload

import (
	"bytes"
	"context"
	"encoding/hex"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"windtunnel/vrouter/core"
)

// smallPlan is all of testdata/node.json, and a flow of each kind.
func smallPlan(t *testing.T, target Target) Plan {
	m, o := smallNode(t, target)
	o.Flows = []Flow{
		flow("sender", core.ProtocolTCP, "10.0.1.3:40000", "10.0.1.4:5201"),
		flow("sender", core.ProtocolTCP, "[fd00:1::3]:40000", "[fd00:1::4]:5201"),
		flow("sender", core.ProtocolICMP, "10.0.1.3:0", "10.0.1.4:0"),
		flow("guarded", core.ProtocolUDP, "10.0.2.4:40000", "10.7.0.1:80"),
	}
	return Translate(m, o)
}

// dpdk runs testpmd without a port, and gives what it says to each command.
func dpdk(t *testing.T, commands []string) []string {
	t.Helper()
	path, err := exec.LookPath("dpdk-testpmd")
	if err != nil {
		t.Skip("skip: needs dpdk-testpmd (Debian: apt-get install dpdk-dev)")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	args := []string{"--no-huge", "-m", "64", "--no-pci", "--no-telemetry", "--lcores", "0@0,1@0"}
	run := exec.CommandContext(ctx, path, append(args, "--", "-i", "--total-num-mbufs=2048")...)
	run.Env = append(os.Environ(), "RUNTIME_DIRECTORY="+t.TempDir()) // it leaves files there
	run.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\nquit\n")
	text, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("testpmd: %v\n%s", err, text)
	}
	answers := strings.Split(string(text), "\ntestpmd> ")
	if len(answers) != len(commands)+2 {
		t.Fatalf("%d answers to %d commands:\n%s", len(answers)-2, len(commands), text)
	}
	return answers[1 : len(answers)-1]
}

var hexLine = regexp.MustCompile(`(?m)^[0-9A-F]{8}: ((?:[0-9A-F]{2} ?)+)`)

// TestTestpmdReadsRules: DPDK's own parser takes every rule, and makes of what is pushed the rule's bytes.
// There is no port that could take a rule, and it says so: that is behind the parser.
func TestTestpmdReadsRules(t *testing.T) {
	p := smallPlan(t, RTEFlow)
	var text bytes.Buffer
	if err := p.Testpmd(&text); err != nil {
		t.Fatal(err)
	}
	commands := []string{"flow validate 0 transfer pattern eth / nonsense / end actions drop / end"}
	for line := range strings.Lines(text.String()) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		if commands = append(commands, strings.Replace(line, "flow create", "flow validate", 1)); strings.HasPrefix(line, "set raw_encap") {
			commands = append(commands, "show raw_encap 0")
		}
	}
	var headers []string
	for _, r := range p.Rules {
		for _, a := range r.Actions {
			if a.Do == RawEncap {
				headers = append(headers, hex.EncodeToString(a.Header))
			}
		}
	}
	shown := 0
	for i, answer := range dpdk(t, commands) {
		switch refused := strings.Contains(answer, "Bad arguments"); {
		case i == 0 && !refused:
			t.Fatal("testpmd takes nonsense, so that its yes says nothing")
		case i == 0:
		case refused, strings.HasPrefix(commands[i], "flow") && !strings.Contains(answer, "No such device"):
			t.Errorf("testpmd does not read %q:\n%s", commands[i], answer)
		case strings.HasPrefix(commands[i], "show"):
			var got string
			for _, line := range hexLine.FindAllStringSubmatch(answer, -1) {
				got += strings.ToLower(strings.ReplaceAll(line[1], " ", ""))
			}
			if got != headers[shown] {
				t.Errorf("testpmd pushes\n%s, not\n%s, by %q", got, headers[shown], commands[i-1])
			}
			shown++
		}
	}
	if shown != len(headers) || shown == 0 {
		t.Errorf("%d of %d headers were compared", shown, len(headers))
	}
}

// TestTcReadsRules: tc's own parser takes every command. It ends with 1 where it does not, and with 2 where
// the kernel does not, which has nothing to attach a filter to in this namespace.
func TestTcReadsRules(t *testing.T) {
	if _, err := exec.LookPath("tc"); err != nil {
		t.Skip("skip: needs tc (Debian: apt-get install iproute2)")
	}
	if text, err := exec.Command("unshare", "-rn", "true").CombinedOutput(); err != nil {
		t.Skipf("skip: needs a network namespace of its own: %v %s", err, text)
	}
	var text bytes.Buffer
	if err := smallPlan(t, Flower).Flower(&text); err != nil {
		t.Fatal(err)
	}
	commands := []string{"tc filter add dev lo ingress protocol ip prio 1 flower ip_proto nonsense action drop"}
	device := regexp.MustCompile(`\bdev \S+`)
	for line := range strings.Lines(text.String()) {
		if strings.HasPrefix(line, "tc ") {
			commands = append(commands, device.ReplaceAllString(strings.TrimSpace(line), "dev lo"))
		}
	}
	run := exec.Command("unshare", "-rn", "sh", "-c", `while read -r line; do $line >/dev/null 2>&1; echo $?; done`)
	run.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	output, err := run.Output()
	if err != nil {
		t.Fatal(err)
	}
	codes := strings.Fields(string(output))
	if len(codes) != len(commands) || len(codes) < 20 || codes[0] != "1" {
		t.Fatalf("%d answers to %d commands, and %v to nonsense", len(codes), len(commands), codes[:1])
	}
	for i, code := range codes[1:] {
		if code != "2" {
			t.Errorf("tc ends with %s: %s", code, commands[i+1])
		}
	}
}
