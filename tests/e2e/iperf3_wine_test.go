//go:build e2e

package e2e

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// iperf3UnderWine has the Windows binary as iperf3's client and server, with
// Debian's iperf3 at the other end.
func iperf3UnderWine(w *wine) {
	program, err := exec.LookPath("iperf3")
	if err != nil {
		w.t.Skip("needs iperf3: apt-get install iperf3")
	}
	under := func(t testing.TB, ctx context.Context, args []string) (string, int) {
		c := w.command(ctx, append([]string{w.program, "iperf3"}, args...)...)
		var said strings.Builder
		c.Stderr = &said
		out, err := c.Output()
		if err != nil {
			t.Logf("under Wine, %v: %v: %s%s", args, err, out, said.String())
		}
		return string(out), c.ProcessState.ExitCode()
	}
	for _, flags := range []string{"-t 1 -b 100M", "-t 1 -b 100M -R", "-u -t 1 -b 10M", "-u -t 1 -b 10M -R"} {
		for name, ends := range map[string][2]runner{"client": {theirCommand(program), under}, "server": {under, theirCommand(program)}} {
			w.t.Run(name+" "+flags, func(t *attempt) {
				atServer, atClient := converse(t, ends[0], ends[1], "-J", flags+" -J")
				server, client := readSums(t, atServer), readSums(t, atClient)
				told, counted := client.End.Received, server.End.Received
				if strings.Contains(flags, "-R") {
					told, counted = client.End.Sent, server.End.Sent
				}
				if told.Bytes != counted.Bytes || told.Bytes == 0 || client.End.Received.Bytes == 0 {
					t.Errorf("the server counted %+v, the client prints %+v\n%s", counted, told, atClient)
				}
			})
		}
	}
	w.t.Run("refusals", func(t *attempt) {
		ctx, cancel := context.WithTimeout(t.Context(), wineRun)
		defer cancel()
		port := strconv.Itoa(freePort(t))
		var said strings.Builder
		c := w.command(ctx, w.program, "iperf3", "-s", "-D", "-p", port)
		c.Stderr = &said
		if err := c.Run(); err == nil || !strings.Contains(said.String(), "this system has no daemons") {
			t.Errorf("%v: %s", err, said.String())
		}
		if out, code := under(t, ctx, []string{"-c", "127.0.0.1", "-p", port, "-J", "--connect-timeout", "2000"}); code != 1 || !strings.Contains(out, cannotConnect) {
			t.Errorf("exit %d: %s", code, out)
		}
	})
}

// cannotConnect is how iperf3 begins to say so.
const cannotConnect = "unable to connect to server"
