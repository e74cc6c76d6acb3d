//go:build linux

package main

import (
	"strings"
	"testing"
)

func TestPlaceNames(t *testing.T) {
	for _, c := range []struct{ from, to, a, b string }{
		{"docker:web", "docker:db", "web", "db"},
		{"netns:red", "pod:shop/red", "red", "red-2"},
		{"here", "ssh://root@h1.example.org:22?data=10.0.0.2", "here", "h1-example-or"},
		{"exec:sudo nsenter --target 7 --net", "docker:___", "sudo-nsenter", "place"},
		{"docker:averyveryverylongname", "docker:averyveryverylongnamE", "averyveryvery", "averyveryvery-2"},
	} {
		if a, b := placeNames(c.from, c.to); a != c.a || b != c.b || len(b) > longestPlace {
			t.Errorf("%s and %s are %s and %s, want %s and %s", c.from, c.to, a, b, c.a, c.b)
		}
	}
}

func TestTheSuiteOfTwoPlaces(t *testing.T) {
	spec, err := betweenSuite("docker:web", `exec:env "X=a: b" x`, betweenFlags{kinds: []string{"stream", "ping", "stream"}, to: "192.0.2.1:5201"})
	if err != nil {
		t.Fatal(err)
	}
	var cells []string
	for _, c := range spec.Cells {
		cells = append(cells, c.Name+" "+c.Pairs[0].From.Node)
	}
	if got := strings.Join(cells, ", "); got != "stream web, stream-back env--X-a--b, ping web" || len(spec.Ratios) != 1 || spec.Nodes[1].Address != "192.0.2.1:5201" {
		t.Errorf("%s; %+v", got, spec.Nodes)
	}
	for says, f := range map[string]betweenFlags{"is not stream": {kinds: []string{"frame"}}, "is no address": {kinds: []string{"ping"}, to: "x"}} {
		if _, err := betweenSuite("here", "netns:x", f); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v", f, err)
		}
	}
	if _, err := betweenSuite("nowhere", "here", betweenFlags{kinds: []string{"ping"}}); err == nil || !strings.Contains(err.Error(), "places are") {
		t.Errorf("got %v", err)
	}
}
