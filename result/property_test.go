package result

import (
	"testing"

	"pgregory.net/rapid"
)

func TestUnitsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, largestExact).Draw(t, "size")
		if got, err := ParseSize(FormatSize(size)); err != nil || got != size {
			t.Fatalf("%d is %s is %d, %v", size, FormatSize(size), got, err)
		}
		rate := float64(rapid.Int64Range(0, 1e14).Draw(t, "rate"))
		if got, err := ParseBitRate(FormatBitRate(rate)); err != nil || got != rate {
			t.Fatalf("%g is %s is %g, %v", rate, FormatBitRate(rate), got, err)
		}
	})
}

// One typing mistake in a word of some length is forgiven.
func TestNearestForgivesOneMistake(t *testing.T) {
	valid := []string{"segmentation", "traffic", "hypotheses", "published", "bridge", "vrouter"}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom(valid).Draw(t, "word")
		i := rapid.IntRange(0, len(word)-2).Draw(t, "at")
		var typed string
		switch rapid.IntRange(0, 3).Draw(t, "mistake") {
		case 0:
			typed = word[:i] + word[i+1:]
		case 1:
			typed = word[:i] + "x" + word[i:]
		case 2:
			typed = word[:i] + "x" + word[i+1:]
		default:
			typed = word[:i] + word[i+1:i+2] + word[i:i+1] + word[i+2:]
		}
		if got, ok := Nearest(typed, valid); !ok || got != word {
			t.Fatalf("%s was taken for %s, %v", typed, got, ok)
		}
	})
}
