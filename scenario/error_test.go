package scenario

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the goldens anew")

// TestErrors reads testdata/errors.txtar: a case is a suite, `-- NAME --`, and
// what Parse says of it, `-- NAME.want --`.
func TestErrors(t *testing.T) {
	const file = "testdata/errors.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		given, want := archive.Files[i], &archive.Files[i+1]
		t.Run(given.Name, func(t *testing.T) {
			_, err := Parse([]byte(unescaped(string(given.Data))), "s.yaml", words())
			if err == nil {
				t.Fatal("no error")
			}
			got := err.Error() + "\n"
			if *update {
				want.Data = []byte(got)
			} else if want.Name != given.Name+".want" {
				t.Fatalf("%s follows", want.Name)
			} else if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// unescaped puts in what a text file should not hold: <ESC>, <RLO>, <BAD>, and
// <x1000>, a thousand letters.
func unescaped(text string) string {
	return strings.NewReplacer("<ESC>", "\x1b", "<RLO>", "\u202e", "<BAD>", "\xff", "<BOM>", "\ufeff", "<CR>", "\r",
		"<x70>", strings.Repeat("x", 70), "<x5000>", strings.Repeat("x", 5000)).Replace(text)
}

func TestEveryErrorCanBeReached(t *testing.T) {
	_, err := Parse([]byte("suit: s\n"), "s.yaml", words())
	var all *Errors
	if !errors.As(err, &all) || len(all.All) < 2 {
		t.Fatalf("got %v", err)
	}
	var one Error
	if !errors.As(err, &one) || one != all.All[0] || one.File != "s.yaml" || one.Line != 1 || one.Column != 1 {
		t.Errorf("the first error is %+v", one)
	}
}

func TestNoMoreErrorsThanAPersonReads(t *testing.T) {
	text := head + strings.Repeat("x", 3) + ": 1\n"
	for i := range 40 {
		text += "k" + strings.Repeat("x", i) + ": 1\n"
	}
	_, err := Parse([]byte(text), "s.yaml", words())
	var all *Errors
	if !errors.As(err, &all) || len(all.All) != maxErrors || !all.More {
		t.Fatalf("got %v", err)
	}
	if !strings.HasSuffix(err.Error(), "there is more; correct these first") {
		t.Errorf("got %v", err)
	}
}

func TestTooLargeATextIsRefused(t *testing.T) {
	for text, says := range map[string]string{
		strings.Repeat("#", maxText+1):     "1:1: the suite has 1048577 bytes",
		strings.Repeat("- a\n", maxTokens): "20001:1: the suite has more than 40000 words and signs",
	} {
		if _, err := Parse([]byte(text), "s.yaml", words()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %s", err, says)
		}
	}
}
