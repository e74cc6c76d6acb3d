package scenario

import (
	"fmt"
	"strings"
	"testing"
)

const entered = `
suite: mine
nodes: {web: {exec: [docker, exec, -i, web], address: "10.0.0.2:5201"}, db: {exec: "netns:db", program: /opt/windtunnel}, c: {}}
traffic: {kind: stream}
path: wire
cells: {one: {pairs: [{from: web, to: {exec: [nsenter, -t, "7", -n], on: c}}]}}
`

func TestPlacesThatRunAlready(t *testing.T) {
	spec := parse(t, entered)
	want := []string{"[docker exec -i web]  10.0.0.2:5201", "[nsenter --net=/run/netns/db] /opt/windtunnel ", "[nsenter -t 7 -n]  "}
	for i, n := range spec.Nodes {
		if got := fmt.Sprintf("%v %s %s", n.Exec, n.Program, n.Address); got != want[i] {
			t.Errorf("node %s: %q, want %q", n.Name, got, want[i])
		}
	}
	if got := spec.Cells[0].Load.Text("congestion"); got != "system" {
		t.Errorf("the congestion control is %q", got)
	}
	if place := spec.Cells[0].Pairs[0].To; place.Node != "c" || place.Container != "" {
		t.Errorf("the receiver is at %+v", place)
	}
}

func TestPlacesRefused(t *testing.T) {
	for bad, says := range map[string]string{
		"a: {exec: []}":                                        "`exec` is empty",
		"a: {exec: {}}":                                        "it takes a list",
		"a: {exec: [[x]]}":                                     "a word of `exec`",
		"a: {exec: nowhere}":                                   "places are here, netns:NAME",
		"a: {address: 10.0.0.2}":                               "say how it is entered",
		"a: {program: /x}":                                     "say how it is entered",
		"a: {exec: here, cpus: shared}":                        "leave out `cpus: shared`",
		"a: {exec: here, address: host}":                       "is no address",
		"a: {exec: here, address: \"10.0.0.2:0\"}":             "is no address",
		"a: {exec: [" + strings.Repeat("x, ", maxExec) + "x]}": "at most 64",
	} {
		_, err := Parse([]byte(strings.Replace(entered, "c: {}", bad, 1)), "s.yaml", words())
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for bad, says := range map[string]string{
		"{exec: [env], on: web}":               "give each place a node of its own",
		"{exec: [env]}":                        "lacks `on`",
		"{exec: [env], container: x, on: web}": "not both",
	} {
		_, err := Parse([]byte(strings.Replace(entered, `{exec: [nsenter, -t, "7", -n], on: c}`, bad, 1)), "s.yaml", words())
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestShortForms(t *testing.T) {
	for text, want := range map[string]string{
		"here":                               "[env] ",
		"netns:red":                          "[nsenter --net=/run/netns/red] ",
		"pid:4711":                           "[nsenter --target 4711 --net] ",
		"docker:web":                         "[docker exec -i web] ",
		"podman:web":                         "[podman exec -i web] ",
		"lxc:web":                            "[lxc exec -T web --] ",
		"pod:shop/web-0":                     "[kubectl exec -i -n shop web-0 --] ",
		"pod:shop/web-0/app":                 "[kubectl exec -i -n shop web-0 -c app --] ",
		"exec:sudo nsenter -t 7 -n":          "[sudo nsenter -t 7 -n] ",
		"ssh://h1":                           "[ssh -T -o BatchMode=yes -o ConnectTimeout=10 -- h1] ",
		"ssh://root@[fd00::1]:2222?data=::2": "[ssh -T -o BatchMode=yes -o ConnectTimeout=10 -p 2222 -l root -- fd00::1] ::2",
	} {
		n, err := ParsePlace(text)
		if got := fmt.Sprint(n.Exec, " ", n.Address); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "there", "netns:", "netns:../x", "docker:-v", "docker:a b", "pod:web", "pod:a/b/c/d", "pod:-n/x", "pid:x", "pid:-1",
		"exec:", "ssh://", "ssh://-oProxyCommand=x", "ssh://a:b@h", "ssh://-l@h", "ssh://h/path", "ssh://h?x=1", "ssh://h?data=x", "ssh:h"} {
		if n, err := ParsePlace(bad); err == nil {
			t.Errorf("%q is %v", bad, n.Exec)
		}
	}
}

func TestMeshes(t *testing.T) {
	const head = "suite: m\nnodes: {a: {}, b: {}, c: {}}\ntraffic: {kind: stream}\npath: wire\ncells: {one: {pairs: "
	for pairs, want := range map[string]string{
		"every":                                "ab ac ba bc ca cb",
		"[{from: [b, c], to: a}]":              "ba ca",
		"[{from: a, to: [b, c]}]":              "ab ac",
		"[{from: [a, b], to: [a, b]}]":         "ab ba",
		"[{from: a, to: b}, {from: c, to: a}]": "ab ca",
	} {
		spec := parse(t, head+pairs+"}}")
		var got []string
		for _, p := range spec.Cells[0].Pairs {
			got = append(got, p.From.Name()+p.To.Name())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", pairs, got, want)
		}
	}
	for pairs, says := range map[string]string{
		"all":                     "it takes a list",
		"[{from: [], to: a}]":     "an empty list",
		"[{from: [a, a], to: a}]": "from a to itself",
		"[{from: [a, b], to: c}, {from: a, to: c}]": "stands here twice",
		"[{from: [a, x], to: c}]":                   "node",
		"[{from: [[a]], to: c}]":                    "a place is a list",
	} {
		if _, err := Parse([]byte(head+pairs+"}}"), "s.yaml", words()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", pairs, err)
		}
	}
	if _, err := Parse([]byte(strings.Replace(head, "a: {}, b: {}, c: {}", "a: {}", 1)+"every}}"), "s.yaml", words()); err == nil || !strings.Contains(err.Error(), "0 pairs of 1 nodes") {
		t.Errorf("one node: %v", err)
	}
}
