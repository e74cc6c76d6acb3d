package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const stat = `cpu  100 5 200 1000 50 10 30 5 7 0
cpu0 50 5 100 500 25 5 15 0 7 0
cpu1 50 0 100 500 25 5 15 5 0 0
intr 12345 0 9
ctxt 1
softirq 6789 1 2
`

func TestParseStat(t *testing.T) {
	cpu, interrupts, softirqs, err := parseStat(stat)
	want := cpuTime{cpus: 2, user: 100, system: 200, idle: 1000, iowait: 50, softirq: 30, total: 1400}
	if err != nil || cpu != want || interrupts != 12345 || softirqs != 6789 {
		t.Errorf("%+v %d %d %v", cpu, interrupts, softirqs, err)
	}
	for _, bad := range []string{"", "cpu 1 2\n", "cpu a b c d e f g\n", "intr x\n", "cpu0 1 1 1 1 1 1 1\n"} {
		if _, _, _, err := parseStat(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestTables(t *testing.T) {
	if mhz, err := megahertz("processor: 0\ncpu MHz\t\t: 2394.462\n"); mhz != 2394.462 || err != nil {
		t.Errorf("%g, %v", mhz, err)
	}
	if _, err := megahertz("processor: 0\n"); err == nil {
		t.Error("no speed was no error")
	}
	interrupts := "           CPU0       CPU1\n 24:        100         11  PCI-MSI mlx4-async\n 25: 1 2 IO-APIC 7-edge rtc0\n 26: 5 5 mlx4-1\n"
	if _, found := deviceInterrupts(interrupts, "nosuchdev"); found {
		t.Error("a device that is not there has interrupts")
	}
	if n, _ := deviceInterrupts(interrupts, "mlx4"); n != 121 {
		t.Errorf("%d interrupts, want 121", n)
	}
}

func FuzzProc(f *testing.F) {
	f.Add(stat)
	f.Add("Tcp: a b\nTcp: 1 2 3\ncpu MHz : 1e999\n 1: 2 3 x")
	f.Fuzz(func(t *testing.T, text string) {
		if cpu, _, _, err := parseStat(text); err == nil && (cpu.cpus < 1 || cpu.total <= 0) {
			t.Errorf("%+v", cpu)
		}
		megahertz(text)
		deviceInterrupts(text, "x")
	})
}

func FuzzCommandLine(f *testing.F) {
	for _, text := range published {
		f.Add(text)
	}
	f.Add("-s 192.0.2.1 -P 64 -n 16 -l 10 -f25001 -6 -V -xout.xml --fq-rate-limit=10G")
	f.Add("-s -m 1,2,3 4,5,6 -n 20k -t 1 -wu 1 -cd 1 -thr 5 -ps 10 -sam 1")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := read(strings.Fields(text))
		switch {
		case err != nil:
			return
		case got.windows != nil:
			if test := got.windows.test(); len(test.Threads) == 0 || test.Message < 1 {
				t.Errorf("%q: %+v", text, test)
			}
			got.windows.notes()
			got.windows.says()
		case got.linux != nil:
			if test := got.linux.test(); len(test.Threads) == 0 || test.Message < 1 {
				t.Errorf("%q: %+v", text, test)
			}
			got.linux.notes()
			got.linux.says()
		}
	})
}

func TestCountersOfThisSystem(t *testing.T) {
	before := readCounters(watched{})
	const spin = 20 * time.Millisecond
	after := before
	for after.process < before.process+spin {
		after = readCounters(watched{})
	}
	u := after.since(before)
	if u.seconds <= 0 || u.process < spin || u.cpu.cpus < 1 {
		t.Errorf("%+v", u)
	}
	if b := u.busy(true); b < 0 || b > 1 {
		t.Errorf("busy %g", b)
	}
}

func TestCountersThatGoBackwards(t *testing.T) {
	now, before := counters{interrupts: 5}, counters{interrupts: 10}
	if u := now.since(before); u.interrupts != 5 {
		t.Errorf("%d", u.interrupts)
	}
}

func TestFilesAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.xml")
	for i, text := range []string{"one", "two", "three"} {
		kept, err := writeFile(path, text)
		if err != nil || (kept == "") != (i == 0) {
			t.Fatalf("%s: kept %q, %v", text, kept, err)
		}
	}
	for name, want := range map[string]string{path: "three", path + ".1": "one", path + ".2": "two"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".ntttcp-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := writeFile(t.TempDir(), "x"); err == nil {
		t.Error("a folder was replaced")
	}
	if _, err := writeFile(filepath.Join(t.TempDir(), "no", "x"), "x"); err == nil {
		t.Error("a file in no folder was written")
	}
}
