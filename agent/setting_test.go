//go:build linux

package agent

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"windtunnel/testbed/docker"
	"windtunnel/testbed/netns"
)

func setting(t *testing.T, value string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "setting")
	if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func mustBe(t *testing.T, file, want string) {
	t.Helper()
	if got, err := readSetting(file); err != nil || got != want {
		t.Errorf("%s is %q (%v), want %q", file, got, err, want)
	}
}

func TestARaisedSettingIsPutBack(t *testing.T) {
	low, high := setting(t, "1000"), setting(t, "20000")
	notes, err := openJournal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{low, high, low} {
		if err := notes.raise(file, 10000); err != nil {
			t.Fatal(err)
		}
	}
	mustBe(t, low, "10000")
	mustBe(t, high, "20000")
	if err := notes.close(); err != nil {
		t.Fatal(err)
	}
	mustBe(t, low, "1000")
	mustBe(t, high, "20000")
}

// TestAKilledAgentsSettingIsPutBack leaves a journal whose agent never closed it:
// the conductor's release puts the setting back, and so does clean when the
// conductor died too. What somebody else set since then stays.
func TestAKilledAgentsSettingIsPutBack(t *testing.T) {
	for name, undo := range map[string]func(root string, l *Lease) error{
		"release": func(_ string, l *Lease) error { return l.Release() },
		"clean": func(root string, l *Lease) error {
			lease := filepath.Join(l.Dir, "lease.json")
			if err := os.WriteFile(lease, []byte(`{"owner":{"pid":1,"start":"gone"}}`), 0o600); err != nil {
				return err
			}
			_, err := Clean(root)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			root, file, touched := t.TempDir(), setting(t, "1000"), setting(t, "1000")
			l, err := Acquire(root, "x")
			if err != nil {
				t.Fatal(err)
			}
			notes, err := openJournal(filepath.Join(l.Dir, "a"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range []string{file, touched} {
				if err := notes.raise(f, 10000); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(touched, []byte("3000"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := undo(root, l); err != nil {
				t.Fatal(err)
			}
			mustBe(t, file, "1000")
			mustBe(t, touched, "3000")
		})
	}
}

func TestAnUnreadableSettingIsAnError(t *testing.T) {
	notes, err := openJournal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer notes.close()
	if err := notes.raise("/nonexistent", 1); err == nil || !strings.Contains(err.Error(), "reading a setting") {
		t.Errorf("got %v", err)
	}
}

// TestContainersAreUndone: control groups that are gone are no failure, and an engine that does not run is
// left alone with what to do about it.
func TestContainersAreUndone(t *testing.T) {
	if said, _, err := (entry{Cgroup: docker.CgroupPrefix + "none-such"}).undoContainers(); err != nil || len(said) != 0 {
		t.Errorf("%q, %v", said, err)
	}
	if _, _, err := (entry{Cgroup: "/docker"}).undoContainers(); err == nil {
		t.Error("it removes others' control groups")
	}
	said, owed, err := (entry{Engine: Engine{Socket: filepath.Join(t.TempDir(), "s"), Lease: "L"}}).undoContainers()
	if err != nil || !owed || len(said) != 1 || !strings.Contains(said[0], "--filter label=windtunnel.lease=L") {
		t.Errorf("%q, %v", said, err)
	}
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestALeaseWaitsForItsEngine: its folder stays while the engine does not run, and is no failure.
func TestALeaseWaitsForItsEngine(t *testing.T) {
	lease := filepath.Join(t.TempDir(), "lease-999999999-1")
	node := filepath.Join(lease, "b")
	if err := os.MkdirAll(node, 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	line := `{"engine":{"socket":"` + socket + `","lease":"L/A"}}` + "\n"
	if err := os.WriteFile(filepath.Join(node, journalName), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if said, err := Clean(filepath.Dir(lease)); err != nil || len(said) != 1 || !strings.Contains(said[0], "start it, and `windtunnel clean`") || !isThere(lease) {
			t.Fatalf("%q, %v", said, err)
		}
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	engine := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			fmt.Fprint(w, `{"ApiVersion":"1.41","Version":"20.10"}`)
			return
		}
		fmt.Fprint(w, `[]`)
	})}
	go engine.Serve(listener)
	defer engine.Close()
	if said, err := Clean(filepath.Dir(lease)); err != nil || len(said) != 1 || said[0] != "removed "+lease || isThere(lease) {
		t.Errorf("%q, %v", said, err)
	}
}

// TestWhatAnEngineKeepsIsOwed: it is tried again at the end, and then said with what to do.
func TestWhatAnEngineKeepsIsOwed(t *testing.T) {
	h := newHostEngines()
	gone := Engine{Socket: filepath.Join(t.TempDir(), "s"), Lease: "L"}
	for _, remove := range []func() error{
		func() error { return h.remove(context.Background(), gone) }, func() error { return h.remove(context.Background(), gone) },
		func() error { return h.close(context.Background()) },
	} {
		if err := remove(); err == nil || !strings.Contains(err.Error(), "docker rm -f $(docker ps -aq --filter label=windtunnel.lease=L)") || len(h.owed) != 1 {
			t.Errorf("%v; owed: %v", err, h.owed)
		}
	}
}

// TestAnEngineThatHangsKeepsNothingElse: an agent's end does not wait for it until it is too late for everything else.
func TestAnEngineThatHangsKeepsNothingElse(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	hung, err := net.Listen("unix", socket) // and nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer hung.Close()
	config := NodeConfig{Name: "a", Dir: t.TempDir()}
	backend := netns.New(config.Name, nil, config.Dir)
	l := local{backend, newEngines(backend, config, nil), nil, newMachines(backend, config, nil)}
	l.engines.cells["A"] = &contained{foreign: []Engine{{Socket: socket, Lease: "L/A"}}}
	l.engines.hosts.owed = []Engine{{Socket: socket, Lease: "L"}}
	began := time.Now()
	err = l.close(100 * time.Millisecond)
	if took := time.Since(began); took > teardownPatience/2 || enginesPatience > teardownPatience/2 {
		t.Errorf("it took %s", took)
	}
	for _, lease := range []string{"L", "L/A"} {
		if err == nil || !strings.Contains(err.Error(), "filter label=windtunnel.lease="+lease+")") {
			t.Errorf("of %s is not said: %v", lease, err)
		}
	}
}

// TestAnEngineIsAskedOnceForALease: its cell may have been built anew for every trial.
func TestAnEngineIsAskedOnceForALease(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan int)
	go func() {
		n := 0
		for {
			c, err := listener.Accept()
			if err != nil {
				asked <- n
				return
			}
			n++
			c.Close()
		}
	}()
	path := filepath.Join(dir, journalName)
	line := `{"engine":{"socket":"` + socket + `","lease":"L/A"}}` + "\n"
	if err := os.WriteFile(path, []byte(strings.Repeat(line, 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := undoJournal(path); err == nil || strings.Count(err.Error(), "\n") > 0 {
		t.Errorf("%v", err)
	}
	listener.Close()
	if n := <-asked; n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}
