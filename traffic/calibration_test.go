package traffic

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
)

func TestCalibrationsKeepRates(t *testing.T) {
	c := Calibrations{Path: filepath.Join(t.TempDir(), "new", "calibrations.json")}
	if _, ok := c.Get("a"); ok {
		t.Error("an absent file holds something")
	}
	for key, rate := range map[string]float64{"a": 1, "b": 2e9} {
		if err := c.Put(key, rate); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Put("a", 3); err != nil {
		t.Fatal(err)
	}
	if a, ok := c.Get("a"); !ok || a != 3 {
		t.Errorf("a is %g, %t; want 3", a, ok)
	}
	if b, ok := c.Get("b"); !ok || b != 2e9 {
		t.Errorf("b is %g, %t; want 2e9", b, ok)
	}
	left, _ := os.ReadDir(filepath.Dir(c.Path))
	if len(left) != 1 {
		t.Errorf("left %v beside the file", left)
	}
}

func TestCalibrationsForgetTheOldest(t *testing.T) {
	c := Calibrations{Path: filepath.Join(t.TempDir(), "calibrations.json")}
	for i := range maxCalibrations + 3 {
		if err := c.Put(fmt.Sprint(i), 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := c.Get("2"); ok {
		t.Error("the third of too many is still there")
	}
	if _, ok := c.Get("3"); !ok {
		t.Error("the oldest that has room is gone")
	}
}

// TestCalibrationsTrustNoFile replaces whatever is not as it should be.
func TestCalibrationsTrustNoFile(t *testing.T) {
	now := time.Now().UTC().Format(time.RFC3339)
	entry := func(rate string, at string) string {
		return fmt.Sprintf(`{"version":%d,"entries":[{"key":"a","per_second":%s,"at":%q}]}`, calibrationVersion, rate, at)
	}
	old := time.Now().Add(-calibrationLasts - time.Hour).UTC().Format(time.RFC3339)
	tomorrow := time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)
	whole := Calibrations{Path: filepath.Join(t.TempDir(), "calibrations.json")}
	if err := os.WriteFile(whole.Path, []byte(entry("5", now)), 0o644); err != nil {
		t.Fatal(err)
	}
	if rate, ok := whole.Get("a"); rate != 5 || !ok {
		t.Fatalf("took %g, %t from a file that is as it should be", rate, ok)
	}
	for name, text := range map[string]string{
		"empty": "", "garbage": "\x00\xff{{", "cut off": entry("5", now)[:40], "another version": strings.Replace(entry("5", now), fmt.Sprintf(`"version":%d`, calibrationVersion), `"version":1`, 1),
		"no rate": entry("0", now), "below zero": entry("-5", now), "too fast": entry("1e300", now), "a word": entry(`"5"`, now),
		"old": entry("5", old), "from tomorrow": entry("5", tomorrow), "huge": strings.Repeat(" ", maxCalibrationFile) + entry("5", now),
	} {
		t.Run(name, func(t *testing.T) {
			c := Calibrations{Path: filepath.Join(t.TempDir(), "calibrations.json")}
			if err := os.WriteFile(c.Path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if rate, ok := c.Get("a"); ok {
				t.Errorf("took %g from it", rate)
			}
			if err := c.Put("a", 7); err != nil {
				t.Fatal(err)
			}
			if rate, ok := c.Get("a"); !ok || rate != 7 {
				t.Errorf("after a Put: %g, %t", rate, ok)
			}
		})
	}
	c := Calibrations{Path: filepath.Join(t.TempDir(), "calibrations.json")}
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if c.Put("a", rate) == nil {
			t.Errorf("kept a rate of %g", rate)
		}
	}
}

// TestCalibrationsWithoutAPlace are known as long as this process lasts, and it is said that they are not kept.
func TestCalibrationsWithoutAPlace(t *testing.T) {
	c := Unkept(errors.New("neither $XDG_CACHE_HOME nor $HOME are defined"))
	err := c.Put("a", 7)
	if err == nil || err.Error() != "there is no place to keep a calibration in (neither $XDG_CACHE_HOME nor $HOME are defined): set HOME" {
		t.Errorf("said %v", err)
	}
	if rate, ok := c.Get("a"); rate != 7 || !ok || !c.Wanted() {
		t.Errorf("knows %g, %t, wanted: %t", rate, ok, c.Wanted())
	}
	if (Calibrations{}).Wanted() || (Calibrations{Path: "p"}).Unkept() != nil {
		t.Error("no store is taken for one, or a file for none")
	}
}

func TestCalibrationKey(t *testing.T) {
	options := []result.Option{{Name: "message", Type: result.Size}, {Name: "rate", Type: result.BitRate}, {Name: "nodelay", Type: result.Switch}}
	key := func(load result.Options) string { return CalibrationKey("machine", "stream", options, load) }
	one := key(result.Options{"message": int64(1390), "rate": 1e9})
	if one != key(result.Options{"message": 1390.0, "rate": 2e9}) {
		t.Error("a rate, or a trip through JSON, makes another generator")
	}
	if one == key(result.Options{"message": int64(1391)}) || one == key(result.Options{"message": int64(1390), "nodelay": true}) {
		t.Error("another size or switch makes no other generator")
	}
	if one == key(result.Options{"message": int64(1390)}) {
		t.Error("a loop without a rate is the same generator as one with")
	}
	if m := Machine(); m == "" || m != Machine() || strings.Contains(m, "\n") {
		t.Errorf("the machine is %q", m)
	}
}

// FuzzCalibrations reads any file without a crash, and only sound entries.
func FuzzCalibrations(f *testing.F) {
	f.Add([]byte(`{"version":4,"entries":[{"key":"a","per_second":5,"at":"2026-01-01T00:00:00Z"}]}`))
	f.Add([]byte(`{"version":4,"entries":[{"key":"","per_second":1e999}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, e := range decodeCalibrations(text) {
			if !e.sound() {
				t.Errorf("%+v is not sound", e)
			}
		}
	})
}
