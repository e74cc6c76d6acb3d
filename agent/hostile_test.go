//go:build linux

package agent

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestHostileAgents: what another host starts in an agent's place costs little time and memory, and says
// why it is no agent.
func TestHostileAgents(t *testing.T) {
	hello := `echo '{"windtunnel":1,"role":"node","pid":1}'`
	for _, c := range []struct{ name, script, says string }{
		{"garbage", "yes garbage", "not an agent's hello"},
		{"gigabytes", "exec cat /dev/zero", "longer than"},
		{"another version", `echo '{"windtunnel":99,"role":"node"}'; sleep 20`, "version 99"},
		{"nothing", "exit 3", "reading the hello"},
		{"errors without end", "yes error >&2 & sleep 0.2; kill $!; exit 3", "error"},
		{"garbage after the hello", hello + "; yes garbage", "not a reply"},
		{"gigabytes after the hello", hello + "; exec cat /dev/zero", "longer than"},
		{"an answer to nobody", hello + `; while read line; do echo '{"id":7777,"host":{"cpus":[0]}}'; done`, "in time"},
		{"a host that cannot be", hello + `; while read line; do echo '{"id":1,"host":{"cpus":[-5],"memory_bytes":9}}'; done`, "CPU -5"},
		{"a system without end", hello + `; while read line; do printf '{"id":1,"host":{"cpus":[0],"system":"%0200d"}}\n' 7; done`, "names its system in 200 bytes"},
		{"no host", hello + `; while read line; do echo '{"id":1}'; done`, "says nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			client, err := Spawn("b", []string{"sh", "-c", c.script})
			if err == nil {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				_, err = client.Look(ctx, nil, "")
				defer client.CloseWithin(0)
			}
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; it should say %q", err, c.says)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; time.Since(began) > 8*time.Second || grown > 64<<20 || err != nil && len(err.Error()) > 64<<10 {
				t.Errorf("%s, %d bytes, a message of %d", time.Since(began), grown, len(err.Error()))
			}
		})
	}
}
