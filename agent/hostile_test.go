//go:build linux

package agent

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"windtunnel/agent/proto"
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

// TestHostileTrials: what another host tells of a trial becomes no more memory than its lines' length lets expect, and nothing that a
// terminal would obey.
func TestHostileTrials(t *testing.T) {
	filled := func(fields, element string) string {
		room := proto.MaxMessage - len(fields) - 100
		return strings.Replace(fields, "X", strings.TrimSuffix(strings.Repeat(element, room/len(element)), ","), 1)
	}
	for name, c := range map[string]struct{ reply, says string }{
		"ends without end":     {filled(`{"id":1,"trial":{"ends":[X]}}`, "{},"), "values"},
		"links without end":    {filled(`{"id":1,"trial":{"sample":{"links":[X]}}}`, "{},"), "values"},
		"machines without end": {filled(`{"id":1,"trial":{"sample":{"vms":[X]}}}`, "{},"), "values"},
		"lists without end":    {filled(`{"id":1,"trial":{"profile":{"tasks":[{"frames":[X]}]}}}`, "[],"), "values"},
		"words without end":    {filled(`{"id":1,"error":"X"}`, "word "), "word"},
		"no trial":             {`{"id":1}`, "holds no trial"},
	} {
		t.Run(name, func(t *testing.T) {
			client := answering(t, c.reply)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := client.Result(within10(t), "A")
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 64<<10 {
				t.Errorf("%.200v; it should say %q", err, c.says)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
				t.Errorf("a line of %d bytes took %d", len(c.reply), grown)
			}
		})
	}
	attack := `\u001b]0;title\u0007\u202e`
	trial, err := answering(t, `{"id":1,"trial":{"ends":[{"place":"`+attack+`","error":"`+attack+`","end":{"error":"`+attack+`"}}],"sample":{"links":[{"device":"`+attack+
		`"}],"missing":{"`+attack+`":"x"}}}}`).Result(within10(t), "A")
	if err != nil || len(trial.Ends) != 1 || len(trial.Sample.Links) != 1 {
		t.Fatalf("%+v, %v", trial, err)
	}
	words := []string{trial.Ends[0].Place, trial.Ends[0].Error, trial.Ends[0].End.Error, trial.Sample.Links[0].Device}
	for key := range trial.Sample.Missing {
		words = append(words, key)
	}
	for _, word := range words {
		if word == "" || strings.ContainsAny(word, "\x1b\x07\u202e") {
			t.Errorf("%q reaches a terminal", word)
		}
	}
}

// answering is a client of what answers its first question with a line.
func answering(t *testing.T, reply string) *Client {
	t.Helper()
	file := filepath.Join(t.TempDir(), "reply")
	if err := os.WriteFile(file, []byte(reply+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := Spawn("b", []string{"sh", "-c", `echo '{"windtunnel":1,"role":"node","pid":1}'; read line; cat "$0"; exec sleep 20`, file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.CloseWithin(0) })
	return client
}

func within10(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}
