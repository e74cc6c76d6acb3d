package frame

import "testing"

// TestIMIX: shares, mean and name are those that its comment and RFC 6985 give it.
func TestIMIX(t *testing.T) {
	of := map[int]int{}
	for sequence := range uint64(1200) {
		of[simpleIMIX.of(number{flow: 7, sequence: sequence})]++
	}
	if len(of) != 3 || of[64] != 700 || of[570] != 400 || of[1518] != 100 {
		t.Errorf("1200 frames of a flow: %v", of)
	}
	if want := (7*64 + 4*570 + 1518) / 12.0; simpleIMIX.mean() != want {
		t.Errorf("a mean of %g, not %g", simpleIMIX.mean(), want)
	}
	if name := simpleIMIX.genome(); name != "aAaaAagaAaaA (a 64, A 570, g 1518)" {
		t.Errorf("named %q", name)
	}
}

// TestARoundIsMixedToo: one frame of each of many flows has the same shares.
func TestARoundIsMixedToo(t *testing.T) {
	of := map[int]int{}
	for flow := range uint32(12000) {
		of[simpleIMIX.of(number{flow: flow, sequence: 5})]++
	}
	if of[64] != 7000 || of[570] != 4000 || of[1518] != 1000 {
		t.Errorf("a round of 12,000 flows: %v", of)
	}
}

func TestOneSizeIsNoMix(t *testing.T) {
	one := mix{570}
	if one.code() != 570 || one.genome() != "" || one.of(number{sequence: 9}) != 570 || simpleIMIX.code() == (mix{12}).code() {
		t.Errorf("code %d, name %q", one.code(), one.genome())
	}
}
