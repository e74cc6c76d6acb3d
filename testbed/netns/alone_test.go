package netns

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"windtunnel/testbed"
)

// running counts the processes with a word in their command lines.
func running(word string) (n int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte(word)) {
			n++
		}
	}
	return n
}

// What an alone daemon has begun and mounted ends with it, though nobody told it to.
func TestAnAloneDaemonTakesEverythingWithIt(t *testing.T) {
	needRoot(t)
	ctx, b := context.Background(), New("a", nil, t.TempDir())
	defer b.Close()
	word := fmt.Sprintf("%d.%d", 1000+os.Getpid(), time.Now().UnixNano())
	g := daemonGraph(t, "")
	g.Daemons[0] = testbed.Daemon{
		Name: "alone", Node: "a", Program: "sh", Args: []string{"{dir}/start", word}, Alone: true, Ends: testbed.EndsByKill, Up: testbed.Up{Says: "begun"},
		Files: map[string]string{"start": "mount -t tmpfs tmpfs /mnt && setsid sleep \"$1\" &\nsetsid sleep \"$1\" &\necho begun $$\nwait\n"},
	}
	if err := b.Apply(ctx, g, nil); err != nil {
		t.Fatal(err)
	}
	if said := b.cells["D"].daemons["alone"].stderr.Quoted(); said != "; it said: begun 1" {
		t.Errorf("it is not the first process of its namespace: %s", said)
	}
	if err := await(ctx, 5*time.Second, func() error {
		if running(word) != 3 { // the shell's own arguments have it, too
			return fmt.Errorf("%d of 3 run", running(word))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := b.Restore(ctx, "D"); err != nil {
		t.Fatal(err)
	}
	if n := running(word); n != 0 {
		t.Errorf("%d processes outlive it", n)
	}
}

// A socket's path may have 107 bytes, and a cell's folder more: it is reached by the daemon's root.
func TestAnAloneDaemonsSocketHasAShortPath(t *testing.T) {
	needRoot(t)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, b := context.Background(), New("a", nil, t.TempDir())
	defer b.Close()
	g := daemonGraph(t, "")
	g.Cell = strings.Repeat("long", 30)
	g.Daemons[0] = testbed.Daemon{
		Name: "alone", Node: "a", Program: "sh", Args: []string{"{dir}/start", "{dir}", own}, Alone: true, Ends: testbed.EndsByKill,
		Up: testbed.Up{Socket: "{root}/mnt/s"}, Socket: "{root}/mnt/s",
		Files: map[string]string{"start": "mount --bind \"$1\" /mnt && exec \"$2\" play-listener /mnt/s\n"},
	}
	if err := b.Apply(ctx, g, nil); err != nil {
		t.Fatal(err)
	}
	if socket := b.Daemons(g.Cell)[0].Socket; !takesConnections(socket) || len(b.Daemons(g.Cell)[0].Dir) < maxSocketPath {
		t.Errorf("nobody listens at %s", socket)
	}
}

func TestJoinedStacksAreThoseOfOthers(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	theirs, err := NewStack("theirs", filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	if err := theirs.Do(func() error { return tryVeth(theirs) }); err != nil {
		t.Fatal(err)
	}
	joined, err := JoinStack("joined", filepath.Join(dir, "b"), theirs.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := joined.Do(func() error { _, err := net.InterfaceByName(trialDevice); return err }); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(joined.device(trialDevice)); err == nil {
		t.Error("its sysfs shows in this mount namespace")
	}
	if err := joined.Do(func() error { _, err := os.Stat(joined.device(trialDevice)); return err }); err != nil {
		t.Error(err)
	}
	if err := joined.Close(); err != nil {
		t.Error(err)
	}
	if _, err := JoinStack("nobody", filepath.Join(dir, "c"), "/proc/0/ns/net"); err == nil {
		t.Error("joined nobody's")
	}
}
