package report

import (
	"slices"
	"strings"
)

// The sizes of pictures' types, as style/picture.css has them.
const textSize, smallSize = 13.0, 11.0

// textWidth is about how wide a text is. Which face draws it is not known here, so wide ones of the common faces are
// assumed: a gap is better than a clipped label.
func textWidth(s string, size float64) float64 {
	ems := 0.0
	for _, r := range s {
		ems += runeWidth(r)
	}
	return ems * size
}

// runeWidth is in ems.
func runeWidth(r rune) float64 {
	switch {
	case strings.ContainsRune("iIjlt.,:;'|!()[] fr-/", r):
		return 0.38
	case strings.ContainsRune("mwMW%@", r):
		return 0.95
	case r >= 'A' && r <= 'Z':
		return 0.70
	case r >= 0x1100: // East Asian ones are as wide as high
		return 1
	}
	return 0.60
}

// fit cuts a text to a width.
func fit(s string, size, room float64) string {
	if textWidth(s, size) <= room {
		return s
	}
	runes := []rune(bounded(s, mostCell))
	for len(runes) > 0 && textWidth(string(runes)+"…", size) > room {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

// widestText is the width of the widest text, at most most.
func widestText(texts []string, size, most float64) float64 {
	width := 0.0
	for _, s := range texts {
		width = max(width, textWidth(bounded(s, mostCell), size))
	}
	return min(width, most)
}

func hasWord(words, word string) bool { return slices.Contains(strings.Fields(words), word) }
