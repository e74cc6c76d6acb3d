package wire

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// measured is a distance that is measured as told, and then as the last one.
func measured(all ...time.Duration) *distance {
	return &distance{measure: func() (time.Duration, error) {
		now := all[0]
		if len(all) > 1 {
			all = all[1:]
		}
		return now, nil
	}}
}

func TestWhatIsApart(t *testing.T) {
	d := measured(40, 79, 81, 170, 30, 61, 60)
	for i, want := range []bool{false, false, true, true, false, false, false} { // a single 30 is not what is usual
		if is, err := d.apart(); is != want || err != nil {
			t.Errorf("measurement %d: %v, %v", i, is, err)
		}
	}
	d = measured(slices.Concat(slices.Repeat([]time.Duration{30, 170}, looks), []time.Duration{75, 170})...) // every other one
	for i := range 2*looks + 2 {
		if is, err := d.apart(); is != (i%2 == 1 || i == 2*looks) || err != nil {
			t.Errorf("measurement %d of two in turn: %v, %v", i, is, err)
		}
	}
	if len(d.seen) > looks {
		t.Errorf("%d are kept", len(d.seen))
	}
	d = measured(slices.Concat(slices.Repeat([]time.Duration{75}, 5), []time.Duration{24}, slices.Repeat([]time.Duration{90}, 9))...)
	for i := range 15 {
		if is, err := d.apart(); is || err != nil {
			t.Errorf("measurement %d, around one of a third: %v, %v", i, is, err)
		}
	}
}

func TestTrialsWaitUntilTheCPUsAreNear(t *testing.T) {
	d := measured(40, 170, 170, 45)
	if _, err := d.apart(); err != nil {
		t.Fatal(err)
	}
	if err := d.await(context.Background(), time.Hour, time.Nanosecond); err != nil || d.near() != 40 {
		t.Errorf("near: %v, %v", d.near(), err)
	}
	d.measure = measured(170).measure // for good
	if err := d.await(context.Background(), 0, time.Nanosecond); err != nil || d.near() != 0 {
		t.Errorf("what never was near again is taken as it is: %v, %v", d.near(), err)
	}
	if is, err := d.apart(); is || err != nil {
		t.Errorf("from then on: %v, %v", is, err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	d.seen = []time.Duration{40}
	if err := d.await(ended, time.Hour, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that is over: %v", err)
	}
}

// TestATrialWithTheCPUsApartIsRepeated, also where it was the least disturbed one by other programs.
func TestATrialWithTheCPUsApartIsRepeated(t *testing.T) {
	trial := func(rate, others float64, apart bool) Sample {
		s := Sample{PerSecond: rate, Apart: apart, Others: time.Duration(others * float64(time.Second))}
		s.Sender.WindowSeconds, s.Receiver.WindowSeconds = 1, 1
		return s
	}
	for name, c := range map[string]struct {
		trials []Sample
		rate   float64
	}{
		"near":                {[]Sample{trial(1, 0, false)}, 1},
		"apart once":          {[]Sample{trial(1, 0, true), trial(2, 0.05, false)}, 2},
		"disturbed, then not": {[]Sample{trial(1, 1, false), trial(2, 0.05, false)}, 2},
		"near and disturbed":  {[]Sample{trial(1, 1, false), trial(2, 0, true), trial(3, 0, true), trial(4, 0, true)}, 1},
	} {
		made := 0
		best, err := undisturbed(context.Background(), measured(40), func() (Sample, error) { made++; return c.trials[made-1], nil })
		if err != nil || best.PerSecond != c.rate || made != len(c.trials) {
			t.Errorf("%s: trial %g of %d, %v", name, best.PerSecond, made, err)
		}
	}
}

// TestHowTheCPUsLay: trials of two machines cannot be compared, those of one that is apart all through can, but with no others.
func TestHowTheCPUsLay(t *testing.T) {
	round := func(far ...time.Duration) []Sample {
		all := []Sample{{Far: 1, Failed: errors.New("hung")}}
		for _, f := range far {
			all = append(all, Sample{Far: f})
		}
		return all
	}
	type look struct {
		round  []Sample
		lie    Lie
		nearer bool
	}
	for name, looks := range map[string][]look{
		"near, apart, near": {
			{round(26, 31, 26), Near, false}, {round(170, 207, 290), Away, false}, {round(26, 170, 31), Moved, false}, {round(24, 26, 40), Near, false},
			{round(170, 0, 207), Away, false}, {round(), Near, false},
		},
		"apart first": {{round(170, 207), Near, false}, {round(160, 290), Near, false}, {round(26, 31), Near, true}, {round(170, 190), Away, false}},
		"a Xeon's":    {{round(130, 105), Near, false}, {round(30, 85, 80), Near, false}, {round(130, 110), Near, false}, {round(50, 105), Near, false}},
	} {
		var l Lies
		for i, look := range looks {
			if lie, nearer := l.Of(look.round); lie != look.lie || nearer != look.nearer {
				t.Errorf("%s, round %d: %v, %t", name, i+1, lie, nearer)
			}
		}
	}
}

func TestHandoff(t *testing.T) {
	took, err := handoff(A.CPU, B.CPU)
	if err != nil {
		t.Skipf("not measured here: %v", err)
	}
	if took < time.Nanosecond || took > 10*time.Microsecond {
		t.Errorf("%v", took)
	}
	if _, err := handoff(A.CPU, 1<<13); err == nil {
		t.Error("there is a CPU 8192")
	}
}
