//go:build linux

package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"windtunnel/agent/proto"
	"windtunnel/testbed"
)

// TestCleanRemovesWhatWasBrought, as a killed agent's journal has it.
func TestCleanRemovesWhatWasBrought(t *testing.T) {
	root, cache := t.TempDir(), t.TempDir()
	folder := filepath.Join(cache, "programs", "0123456789abcdef")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "lease-1-0", "b")
	j, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.write(entry{Copied: folder}); err != nil {
		t.Fatal(err)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	said, err := Clean(root)
	if err != nil || !strings.Contains(strings.Join(said, "\n"), "removed "+folder) {
		t.Errorf("%v, %v", said, err)
	}
	if entries, _ := os.ReadDir(cache); len(entries) != 0 {
		t.Errorf("%v are left", entries)
	}
}

// TestProgramsOfALivingLeaseStay, and those of a dead one and of nobody go.
func TestProgramsOfALivingLeaseStay(t *testing.T) {
	root, cache := t.TempDir(), t.TempDir()
	lease, err := Acquire(root, "a test")
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	ours, others := filepath.Join(cache, "ours"), filepath.Join(cache, "others")
	for _, folder := range []string{ours, others} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	j, err := openJournal(filepath.Join(lease.Dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	if err := j.write(entry{Copied: ours}); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{ours, others} {
		if err := RemoveCopied(root, folder); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(ours); err != nil {
		t.Error("a living lease's programs are gone")
	}
	if _, err := os.Stat(others); err == nil {
		t.Error("programs of nobody are left")
	}
}

// TestForgottenProgramsAreRemoved, and neither new ones nor what has another name.
func TestForgottenProgramsAreRemoved(t *testing.T) {
	cache := t.TempDir()
	old := time.Now().Add(-2 * forgotten)
	for name, when := range map[string]time.Time{"0000000000000001": old, "0000000000000002": time.Now(), ".new.abc123": old, "mine": old, "0000000000000003": old} {
		path := filepath.Join(cache, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	removeForgotten(filepath.Join(cache, "0000000000000003"))
	var left []string
	entries, _ := os.ReadDir(cache)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if got := strings.Join(left, " "); got != "0000000000000002 0000000000000003 mine" {
		t.Errorf("left: %s", got)
	}
}

// TestHostsThatCannotBe are refused: they would be planned with.
func TestHostsThatCannotBe(t *testing.T) {
	nic := proto.NIC{NIC: testbed.NIC{MTU: 1500}}
	good := proto.Host{CPUs: []int{0, 3}, MemoryBytes: 1 << 30, NIC: &nic, Members: []proto.NIC{nic}}
	if err := checkHost(&good); err != nil {
		t.Error(err)
	}
	for _, h := range []*proto.Host{nil, {MemoryBytes: 1}, {CPUs: []int{-1}, MemoryBytes: 1}, {CPUs: []int{1, 1}, MemoryBytes: 1}, {CPUs: []int{maxCPUs}, MemoryBytes: 1},
		{CPUs: []int{0}}, {CPUs: make([]int, maxCPUs+1), MemoryBytes: 1}, {CPUs: []int{0}, MemoryBytes: 1, NIC: &proto.NIC{NIC: testbed.NIC{MTU: -1}}},
		{CPUs: []int{0}, MemoryBytes: 1, NIC: &nic, Members: []proto.NIC{{}}}, {CPUs: []int{0}, MemoryBytes: 1, Members: []proto.NIC{nic}},
		{CPUs: []int{0}, MemoryBytes: 1, NIC: &nic, Members: slices.Repeat([]proto.NIC{nic}, testbed.MostNICs)},
		{CPUs: []int{0}, MemoryBytes: 1, Engine: &testbed.HostEngine{MTU: 1 << 40}}, {CPUs: []int{0}, MemoryBytes: 1, Engine: &testbed.HostEngine{Proxy: "maybe"}}} {
		if checkHost(h) == nil {
			t.Errorf("%+v passes", h)
		}
	}
	evil := proto.Host{Kernel: "6\x1b[2J", Programs: map[string]string{"x": "\x1b]0;y\a"}, NIC: &proto.NIC{Driver: "\x1bc"}, Members: []proto.NIC{{NIC: testbed.NIC{Device: "\x1bd"}}}}
	cleanHost(&evil)
	if strings.ContainsAny(evil.Kernel+evil.Programs["x"]+evil.NIC.Driver+evil.Members[0].Device+fit("a\x1bb\nc"), "\x1b\a") {
		t.Errorf("%+v", evil)
	}
}
