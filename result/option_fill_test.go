package result

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
)

var fillable = []Option{
	{Name: "streams", Type: Count, Min: 1, Max: 8, Default: int64(1)},
	{Name: "message", Type: Size, Min: 1, Words: []string{"mixed"}},
	{Name: "rate", Type: BitRate, Min: 1, Max: 1e12},
	{Name: "nodelay", Type: Switch, Default: false},
	{Name: "copy", Type: Word, Words: []string{"plain", "zero"}, Default: "plain"},
	{Name: "congestion", Type: Word},
	{Name: "depth", Type: Count, Default: int64(9), Beside: []string{"rate", "ramp"}},
	{Name: "ramp", Type: Duration},
}

func TestFillMakesOptionsWhole(t *testing.T) {
	cases := map[string]struct{ given, want Options }{
		"nothing":            {nil, Options{"streams": int64(1), "nodelay": false, "copy": "plain"}},
		"after JSON":         {Options{"streams": 3.0, "message": 1390.0}, Options{"streams": int64(3), "message": int64(1390), "nodelay": false, "copy": "plain"}},
		"a word for a size":  {Options{"message": "mixed"}, Options{"streams": int64(1), "message": "mixed", "nodelay": false, "copy": "plain"}},
		"absent in words":    {Options{"copy": "", "congestion": "", "rate": nil}, Options{"streams": int64(1), "nodelay": false, "copy": "plain"}},
		"what a rate needs":  {Options{"rate": 5}, Options{"streams": int64(1), "rate": 5.0, "nodelay": false, "copy": "plain", "depth": int64(9)}},
		"beside another":     {Options{"ramp": 1.5, "depth": 2.0}, Options{"streams": int64(1), "ramp": 1.5, "nodelay": false, "copy": "plain", "depth": int64(2)}},
		"everything, though": {Options{"streams": 8, "rate": 5, "nodelay": true, "copy": "zero", "congestion": "reno"}, Options{"streams": int64(8), "rate": 5.0, "nodelay": true, "copy": "zero", "congestion": "reno", "depth": int64(9)}},
	}
	for name, c := range cases {
		got, err := Fill(fillable, c.given)
		if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestFillRefuses(t *testing.T) {
	cases := map[string]struct {
		given Options
		says  string
	}{
		"another name":    {Options{"stream": 1}, "did you mean `streams`?"},
		"idle":            {Options{"depth": 9}, "`depth: 9` has no effect without rate or ramp: set rate or ramp, or leave depth out"},
		"idle beside 0":   {Options{"depth": 3, "ramp": 0.0}, "`depth: 3` has no effect"},
		"too few":         {Options{"streams": 0}, "option streams: `0` is too small; at least 1"},
		"too many":        {Options{"streams": 9.0}, "`9` is too large; at most 8"},
		"half a stream":   {Options{"streams": 1.5}, "1.5 is not a whole number"},
		"no number":       {Options{"rate": math.NaN()}, "NaN is no number"},
		"without an end":  {Options{"message": math.Inf(1)}, "is no number"},
		"beyond integers": {Options{"message": 1e300}, "not a whole number"},
		"a word's number": {Options{"copy": 1.0}, "its value is a float64, not a word"},
		"a number's word": {Options{"streams": "one"}, "its value is a string, not a count"},
		"no such word":    {Options{"message": "mixd"}, "its value is a string, not a size"},
		"a list":          {Options{"nodelay": []any{true}}, "not a switch"},
		"unknown word":    {Options{"copy": "zer"}, "did you mean `zero`?"},
		"a long word":     {Options{"congestion": strings.Repeat("x", longestValue+1)}, "too long"},
	}
	for name, c := range cases {
		if got, err := Fill(fillable, c.given); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v, want a word of %q", name, got, err, c.says)
		}
	}
}

// TestANumberBeyondAllTypesIsSaidAsItIs: of 1e300 bytes it was said that "-9223372036854775808B" are too large.
func TestANumberBeyondAllTypesIsSaidAsItIs(t *testing.T) {
	for kind, most := range map[OptionType]float64{Size: 65507, Count: 64, Duration: 60} {
		for _, v := range []float64{1e300, 1e19, -1e300} {
			_, err := Fill([]Option{{Name: "x", Type: kind, Min: 1, Max: most}}, Options{"x": v})
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("`%g` is too", v)) {
				t.Errorf("%s of %g: %v", kind, v, err)
			}
		}
	}
}
