package command

import "testing"

func TestPrettyLaysOutAsIperf3(t *testing.T) {
	tree := (&object{}).add("start", (&object{}).
		add("connected", []any{(&object{}).add("socket", 5), (&object{}).add("socket", 7)}).
		add("version", "a<b")).
		add("intervals", []any{}).
		add("end", &object{})
	want := "{\n\t\"start\":\t{\n\t\t\"connected\":\t[{\n\t\t\t\t\"socket\":\t5\n\t\t\t}, {\n\t\t\t\t\"socket\":\t7\n\t\t\t}],\n" +
		"\t\t\"version\":\t\"a<b\"\n\t},\n\t\"intervals\":\t[],\n\t\"end\":\t{\n\t}\n}"
	if got := pretty(tree); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := compact(tree), `{"start":{"connected":[{"socket":5},{"socket":7}],"version":"a<b"},"intervals":[],"end":{}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", 1.001203: "1.001203", 20265567319.381824: "20265567319.381824",
		0.1: "0.1", 2590900224: "2590900224", 1e20: "1e+20",
	} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %s, want %s", v, got, want)
		}
	}
}

func FuzzParseTree(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.50,{"b":null}],"c":"x"}`, `[[[`, `{"a":1}{`, `1e999`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tree, err := parseTree(text)
		if err != nil {
			return
		}
		again, err := parseTree([]byte(pretty(tree)))
		if err != nil || compact(again) != compact(tree) {
			t.Errorf("%q came back as %q, %v", compact(tree), compact(again), err)
		}
	})
}
