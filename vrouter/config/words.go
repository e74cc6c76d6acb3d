package config

import (
	"fmt"
	"slices"
	"strings"
)

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Nearest is what to add to an error about a word that is none of words, such as "; did you mean ...?"
func Nearest(word string, words []string) string { return nearest(word, slices.Clone(words)) }

// nearest is what to add to an error about a word that is none of words: the one that was probably
// meant, or all of them when there are few.
func nearest(word string, words []string) string {
	slices.Sort(words)
	best, bestDistance := "", len(word)/2+1
	for _, candidate := range words {
		if d := distance(strings.ToLower(word), strings.ToLower(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	if best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	if len(words) == 0 || len(words) > 8 {
		return ""
	}
	return fmt.Sprintf("; there is %s", strings.Join(words, ", "))
}

// distance is Levenshtein's: how many letters must be put in, taken out or changed.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
