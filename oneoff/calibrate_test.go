package oneoff

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestTheFarEndTellsItsCalibration: who sends back says what its generator is known to reach, whichever way it was measured, and
// nothing where that is not known.
func TestTheFarEndTellsItsCalibration(t *testing.T) {
	store := traffic.Calibrations{Path: filepath.Join(t.TempDir(), "calibrations.json")}
	config, _ := receiver(t, Native{Calibrations: store}, traffic.ServerConfig{MaxClients: 1})
	config.Kind, config.Load, config.Window = "datagram", result.Options{"packets": 1000.0}, 200*time.Millisecond
	config, err := config.Check()
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := KindByName("datagram")
	for _, known := range []float64{0, 123e6} {
		if known > 0 {
			if err := store.Put(config.generator(kind), known); err != nil {
				t.Fatal(err)
			}
		}
		for _, direction := range []string{"reverse", "both"} {
			config.Load["direction"] = direction
			got, err := Send(within(t, time.Minute), config, Show{})
			if err != nil {
				t.Fatal(err)
			}
			ways := got.Pair.Ways()
			if back := ways[len(ways)-1]; !back.Back || back.Sender.Offered.CalibratedPerSecond != known {
				t.Errorf("%s: %+v, want %g", direction, back.Sender.Offered, known)
			}
		}
		config.Load["direction"] = "forward"
	}
}

// TestACalibrationThatIsNotKept is made all the same, and it is said at the start that the next run makes it again.
func TestACalibrationThatIsNotKept(t *testing.T) {
	config, err := (SendConfig{Host: "127.0.0.1", Kind: "datagram", Window: time.Second, Calibrations: traffic.Unkept(errors.New("no HOME"))}).Check()
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := KindByName("datagram")
	var said []string
	show := Show{Say: func(line string) { said = append(said, line) }}
	first := calibrate(within(t, time.Minute), kind, config, show)
	again := calibrate(within(t, time.Minute), kind, config, show)
	if !(first > 0) || again != first || len(said) != 2 || said[1] != "there is no place to keep a calibration in (no HOME): set HOME; the next run calibrates again" {
		t.Errorf("%g, then %g, said %q", first, again, said)
	}
}

// TestCalibration is measured once and then known, and is not less than what the
// sender has shown since.
func TestCalibration(t *testing.T) {
	config, _ := receiver(t, Native{}, traffic.ServerConfig{MaxClients: 1})
	config.Kind, config.Load = "datagram", result.Options{"packets": 1000.0}
	config.Window = time.Second // in which a sender without a CPU has one at last
	config.Calibrations = traffic.Calibrations{Path: filepath.Join(t.TempDir(), "calibrations.json")}
	config, err := config.Check()
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := KindByName("datagram")
	said := 0
	for range 2 {
		got, err := Send(within(t, time.Minute), config, Show{Say: func(string) { said++ }})
		if err != nil {
			t.Fatal(err)
		}
		if got.Pair.Sender.Offered.CalibratedPerSecond <= 1000 {
			t.Errorf("the generator reaches %g packets/s by itself, it says", got.Pair.Sender.Offered.CalibratedPerSecond)
		}
	}
	if said != 3 { // one of calibrating, two of sending
		t.Errorf("it said %d lines", said)
	}
	if err := config.Calibrations.Put(config.generator(kind), 10); err != nil {
		t.Fatal(err)
	}
	if _, err := Send(within(t, time.Minute), config, Show{}); err != nil {
		t.Fatal(err)
	}
	if now, _ := config.Calibrations.Get(config.generator(kind)); now <= 10 {
		t.Errorf("it still believes in %g packets/s", now)
	}
}
