//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"windtunnel/traffic/iperf3/command"
)

// runner runs iperf3's command line: the real one, or ours.
type runner func(t testing.TB, ctx context.Context, args []string) (out string, code int)

func theirCommand(program string) runner {
	return func(t testing.TB, ctx context.Context, args []string) (string, int) {
		cmd := exec.CommandContext(ctx, program, args...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil && errs.Len() > 0 {
			t.Logf("%s %v: %v: %s", program, args, err, errs.String())
		}
		return out.String(), cmd.ProcessState.ExitCode()
	}
}

func ourCommand(t testing.TB, ctx context.Context, args []string) (string, int) {
	var out, errs bytes.Buffer
	code := command.Run(ctx, append(args, "--plain"), strings.NewReader(""), &out, &errs, os.Getenv)
	if errs.Len() > 0 {
		t.Logf("ours %v: %s", args, errs.String())
	}
	return out.String(), code
}

// converse runs one test between a server and a client, and returns what both
// printed.
func converse(t testing.TB, server, client runner, serverFlags, clientFlags string) (atServer, atClient string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	number := freePort(t)
	port := strconv.Itoa(number)
	done := make(chan string, 1)
	go func() {
		out, _ := server(t, ctx, append([]string{"-s", "-1", "-p", port}, strings.Fields(serverFlags)...))
		done <- out
	}()
	awaitListener(t, number)
	atClient, code := client(t, ctx, append([]string{"-c", "127.0.0.1", "-p", port}, strings.Fields(clientFlags)...))
	if code != 0 {
		t.Errorf("the client's exit code is %d: %s", code, atClient)
	}
	select {
	case atServer = <-done:
	case <-ctx.Done():
		t.Fatal("the server did not end after its one client")
	}
	return atServer, atClient
}

// shapeOf lists the members of JSON in their order, each path once, with its type.
func shapeOf(t testing.TB, text string) (paths []string) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	var walk func(path string)
	add := func(path string) {
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	walk = func(path string) {
		token, err := decoder.Token()
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		switch v := token.(type) {
		case json.Delim:
			add(path + " " + v.String())
			for decoder.More() {
				inner := path + "[]"
				if v == '{' {
					name, _ := decoder.Token()
					inner = fmt.Sprintf("%s.%s", path, name)
				}
				walk(inner)
			}
			_, _ = decoder.Token()
		default:
			add(fmt.Sprintf("%s %T", path, v))
		}
	}
	walk("")
	if _, err := decoder.Token(); err != io.EOF {
		t.Errorf("more than one value in %s", text)
	}
	return paths
}

// sameShape wants our JSON to be the newest iperf3's, member by member; of an
// older one ours must have all that it has, of the same types.
func sameShape(t testing.TB, newest bool, what, theirs, ours string) {
	t.Helper()
	want, got := shapeOf(t, theirs), shapeOf(t, ours)
	if newest {
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-theirs +ours):\n%s", what, d)
		}
		return
	}
	for _, path := range want {
		if !slices.Contains(got, path) {
			t.Errorf("%s: ours has no %s", what, path)
		}
	}
}

// isNewest tells whether a program writes what D12 of 3.21 says.
func isNewest(t testing.TB, program string) bool {
	out, err := exec.Command(program, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.HasPrefix(string(out), "iperf 3.21")
}

var outputCases = []string{
	"-t 1", "-t 1 -R", "-t 1 --bidir", "-t 1 --bidir -P 2", "-t 1 -P 2 -T name --extra-data more", "-t 1 -O 1", "-n 5M -b 100M", "-k 40 -b 100M -M 1000",
	"-u -t 1", "-u -t 1 -R", "-u -t 1 --bidir", "-u -t 1 -P 2 -b 10M", "-u -t 1 -O 1",
}

// TestIperf3JSONIsIperf3s compares the members, their order and their types of
// real outputs: iperf3 with itself, ours with ourselves, both ends of each.
func TestIperf3JSONIsIperf3s(t *testing.T) {
	besideOthers(t)
	eachIperf3(t, func(t *testing.T, program string) {
		newest := isNewest(t, program)
		for _, flags := range outputCases {
			t.Run(flags, func(t *testing.T) {
				t.Parallel()
				theirServer, theirClient := converse(t, theirCommand(program), theirCommand(program), "-J", flags+" -J")
				ourServer, ourClient := converse(t, ourCommand, ourCommand, "-J", flags+" -J")
				sameShape(t, newest, "client", theirClient, ourClient)
				sameShape(t, newest, "server", theirServer, ourServer)
			})
		}
	})
}

// TestIperf3JSONStreamIsIperf3s compares each kind of event, in their order.
func TestIperf3JSONStreamIsIperf3s(t *testing.T) {
	besideOthers(t)
	eachIperf3(t, func(t *testing.T, program string) {
		if !isNewest(t, program) {
			t.Skip("it has no --json-stream as today's")
		}
		for _, flags := range []string{"-t 1 --json-stream", "-u -t 1 -R --json-stream --get-server-output", "-t 1 --json-stream --json-stream-full-output"} {
			theirServer, theirClient := converse(t, theirCommand(program), theirCommand(program), "--json-stream", flags)
			ourServer, ourClient := converse(t, ourCommand, ourCommand, "--json-stream", flags)
			for what, both := range map[string][2]string{"client": {theirClient, ourClient}, "server": {theirServer, ourServer}} {
				if d := cmp.Diff(events(t, both[0]), events(t, both[1])); d != "" {
					t.Errorf("%s of %s (-theirs +ours):\n%s", what, flags, d)
				}
			}
		}
	})
}

// events are the shapes of a stream's lines, each kind once; what follows the
// lines is the whole object.
func events(t testing.TB, text string) (shapes []string) {
	t.Helper()
	lines, whole, _ := strings.Cut(text, "\n{\n")
	for line := range strings.Lines(lines) {
		var event struct{ Event string }
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		for _, path := range shapeOf(t, strings.TrimSpace(line)) {
			if shape := event.Event + path; !slices.Contains(shapes, shape) {
				shapes = append(shapes, shape)
			}
		}
	}
	if whole != "" {
		for _, path := range shapeOf(t, "{\n"+whole) {
			shapes = append(shapes, "whole"+path)
		}
	}
	return shapes
}

// TestIperf3TextIsIperf3s compares lines with their numbers taken out: what
// kinds of lines there are, in which order, with which spaces.
func TestIperf3TextIsIperf3s(t *testing.T) {
	besideOthers(t)
	eachIperf3(t, func(t *testing.T, program string) {
		newest := isNewest(t, program)
		for _, flags := range append(slices.Clone(outputCases), "-t 2 -R -P 2", "-t 1 -V", "-u -t 1 -V", "-t 1 -f k", "-t 1 -f M --timestamps=at:", "-t 1 --get-server-output") {
			if !newest && strings.Contains(flags, "-V") {
				continue // an older one says other things
			}
			// In a test of one interval its heading knows already what the server told.
			flags = strings.Replace(flags, "-t 1 -R", "-t 2 -R", 1)
			t.Run(flags, func(t *testing.T) {
				t.Parallel()
				theirServer, theirClient := converse(t, theirCommand(program), theirCommand(program), "", flags)
				ourServer, ourClient := converse(t, ourCommand, ourCommand, "", flags)
				linesOf := linesOf
				if !newest { // a sender's line has a space more there
					linesOf = wordsOf
				}
				if d := cmp.Diff(linesOf(theirClient), linesOf(ourClient)); d != "" {
					t.Errorf("client (-theirs +ours):\n%s", d)
				}
				if d := cmp.Diff(linesOf(theirServer), linesOf(ourServer)); d != "" {
					t.Errorf("server (-theirs +ours):\n%s", d)
				}
			})
		}
	})
}

var outputVaries = []struct {
	what *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`(?m)^iperf 3.*$`), "VERSION"},
	{regexp.MustCompile(`Time: .*`), "Time: TIME"},
	{regexp.MustCompile(`Cookie: .*`), "Cookie: COOKIE"},
	{regexp.MustCompile(`(?m)^Linux .*$`), "SYSTEM"},
	{regexp.MustCompile(` *\d[\d.e+-]*`), " #"},
	{regexp.MustCompile(`# [KMGT]?(Bytes|bits)`), "# $1"},
}

// linesOf are a text's lines without what varies, each once.
func linesOf(text string) (lines []string) {
	for _, v := range outputVaries {
		text = v.what.ReplaceAllString(text, v.as)
	}
	for line := range strings.Lines(text) {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

func wordsOf(text string) (lines []string) {
	for _, line := range linesOf(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

// TestIperf3ServerOutputCrosses has each end show what the other printed.
func TestIperf3ServerOutputCrosses(t *testing.T) {
	besideOthers(t)
	eachIperf3(t, func(t *testing.T, program string) {
		for name, ends := range map[string][2]runner{"our client": {theirCommand(program), ourCommand}, "our server": {ourCommand, theirCommand(program)}} {
			t.Run(name, func(t *testing.T) {
				_, text := converse(t, ends[0], ends[1], "", "-t 1 --get-server-output")
				if !strings.Contains(text, "Server output:\n") || !strings.Contains(text, "Accepted connection from 127.0.0.1") {
					t.Errorf("no server's text in\n%s", text)
				}
				_, text = converse(t, ends[0], ends[1], "-J", "-u -t 1 -J --get-server-output")
				var whole struct {
					Server struct {
						Start struct {
							Accepted struct{ Host string } `json:"accepted_connection"`
						}
						End struct{ Streams []any }
					} `json:"server_output_json"`
				}
				if err := json.Unmarshal([]byte(text), &whole); err != nil || whole.Server.Start.Accepted.Host != "127.0.0.1" || len(whole.Server.End.Streams) != 1 {
					t.Errorf("%v: %+v in\n%s", err, whole, text)
				}
			})
		}
	})
}

// sums is what both ends' JSON says of one direction.
type sums struct {
	End struct {
		Sent     figures `json:"sum_sent"`
		Received figures `json:"sum_received"`
	} `json:"end"`
}

type figures struct {
	Bytes         uint64  `json:"bytes"`
	Seconds       float64 `json:"seconds"`
	BitsPerSecond float64 `json:"bits_per_second"`
	Packets       int64   `json:"packets"`
	Lost          int64   `json:"lost_packets"`
}

// TestIperf3FiguresCross wants both ends, one of them iperf3's, to print the same
// of what the server counted.
func TestIperf3FiguresCross(t *testing.T) {
	eachIperf3(t, func(t *testing.T, program string) {
		for name, ends := range map[string][2]runner{"our client": {theirCommand(program), ourCommand}, "our server": {ourCommand, theirCommand(program)}} {
			for _, flags := range []string{"-t 1 -b 200M", "-t 1 -b 200M -R", "-u -t 1 -b 20M", "-u -t 1 -b 20M -R", "-t 1 -b 100M -O 1"} {
				t.Run(name+" "+flags, func(t *testing.T) {
					t.Parallel()
					began := time.Now()
					atServer, atClient := converse(t, ends[0], ends[1], "-J", flags+" -J")
					took := time.Since(began).Seconds()
					server, client := readSums(t, atServer), readSums(t, atClient)
					told, counted := client.End.Received, server.End.Received
					if strings.Contains(flags, "-R") {
						told, counted = client.End.Sent, server.End.Sent
					}
					for end, f := range map[string]figures{"server": counted, "client": told} {
						if !f.areARate(took) {
							t.Errorf("%s: %g bit/s are not %d bytes in %g s, of %g s in all", end, f.BitsPerSecond, f.Bytes, f.Seconds, took)
						}
					}
					told.Seconds, told.BitsPerSecond = counted.Seconds, counted.BitsPerSecond // by another clock
					if d := cmp.Diff(counted, told); d != "" {
						t.Errorf("what the server counted (-) is not what the client prints (+):\n%s", d)
					}
				})
			}
		}
	})
}

func readSums(t testing.TB, text string) (s sums) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return s
}

// areARate tells whether a rate is that of the bytes, over seconds that lie in those that the test took: each end has its own, which are
// as far apart as the ends wait for a CPU.
func (f figures) areARate(took float64) bool {
	return f.Seconds > 0 && f.Seconds <= took && math.Abs(f.BitsPerSecond*f.Seconds/8-float64(f.Bytes)) <= 1e-3*float64(f.Bytes)
}

// TestTheSourceDocumentsIperf3Line runs what the source document ran, for less long.
func TestTheSourceDocumentsIperf3Line(t *testing.T) {
	besideOthers(t)
	eachIperf3(t, func(t *testing.T, program string) {
		_, text := converse(t, theirCommand(program), ourCommand, "", "-i 1 -t 1 -u -b 2Gb --length 1400")
		if !strings.Contains(text, "Jitter    Lost/Total Datagrams") || !strings.HasSuffix(text, "\niperf Done.\n") {
			t.Errorf("got\n%s", text)
		}
	})
}
