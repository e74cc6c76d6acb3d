package result

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// longestWord is how many bytes of a word are compared.
const longestWord = 64

// Nearest returns the valid word that was most likely meant: the same but for
// its case, the only one that begins so, the one at the fewest typing mistakes,
// or the only one of which it is a word between hyphens. It reports false when
// none is near.
func Nearest(word string, valid []string) (string, bool) {
	if word == "" || len(word) > longestWord {
		return "", false
	}
	best, fewest := "", -1
	for _, v := range valid {
		if d := mistakes(strings.ToLower(word), strings.ToLower(v)); fewest < 0 || d < fewest {
			best, fewest = v, d
		}
	}
	if begun, ok := onlyPrefixed(word, valid); ok && fewest > 0 {
		return begun, true
	}
	if fewest < 0 || fewest > tolerated(word) {
		return onlyOne(valid, func(v string) bool { return slices.Contains(strings.Split(v, "-"), strings.ToLower(word)) })
	}
	return best, true
}

// tolerated is how many mistakes still leave a word recognisable: one in three
// letters, and never all of it.
func tolerated(word string) int {
	n := utf8.RuneCountInString(word)
	return min(n-1, max(1, n/3))
}

func onlyPrefixed(word string, valid []string) (string, bool) {
	const enough = 3
	if len(word) < enough {
		return "", false
	}
	return onlyOne(valid, func(v string) bool { return strings.HasPrefix(strings.ToLower(v), strings.ToLower(word)) })
}

func onlyOne(valid []string, is func(string) bool) (string, bool) {
	found := ""
	for _, v := range valid {
		if is(v) {
			if found != "" {
				return "", false
			}
			found = v
		}
	}
	return found, found != ""
}

// mistakes counts insertions, deletions, substitutions and swapped neighbours
// between two words (the optimal string alignment distance).
func mistakes(from, to string) int {
	a, b := []rune(from), []rune(to)
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range b {
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+differs(a[i], b[j]))
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

func differs(a, b rune) int {
	if a == b {
		return 0
	}
	return 1
}

// UnknownWord says that a word is none of the valid ones, which one was
// probably meant, and what there is.
func UnknownWord(what, word string, valid []string) string {
	text := fmt.Sprintf("unknown %s `%s`", what, Clip(word))
	if near, ok := Nearest(word, valid); ok {
		text += fmt.Sprintf("; did you mean `%s`?", near)
	}
	return text + " (valid: " + Listed(valid) + ")"
}

// Listed writes words for a message, so many as a person reads.
func Listed(words []string) string {
	const enough = 48
	if len(words) == 0 {
		return "none"
	}
	if len(words) <= enough {
		return strings.Join(words, ", ")
	}
	return strings.Join(words[:enough], ", ") + fmt.Sprintf(" and %d more", len(words)-enough)
}

// Clip shortens what a message quotes.
func Clip(text string) string {
	const enough = 64
	if utf8.RuneCountInString(text) <= enough {
		return text
	}
	return string([]rune(text)[:enough]) + "..."
}
