//go:build linux

package agent

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"windtunnel/testbed/netns"
)

// journalName is the file in a node's folder of a lease that lists what its
// agent started and changed, an entry a line, written before it can be forgotten.
const journalName = "journal.jsonl"

// maxJournal bounds how much of a journal is read, in lines.
const maxJournal = 10000

// maxEntry bounds a line: that of an interface with its routes is long, and a line that was cut off
// would end the reading.
const maxEntry = 4 << 20

type journal struct {
	mu      sync.Mutex
	file    *os.File  // nil: of an agent that leaves nothing
	changed []Setting // in the order of the changes
}

// entry is a line of a journal: a process that was started, a setting of the
// host that was changed, or what a container engine leaves.
type entry struct {
	Process
	Setting
	Engine Engine `json:"engine,omitzero"`
	Cgroup string `json:"cgroup,omitempty"` // of containers of the testbed's own engine
	// NIC is a host's interface that was taken, and Copied the folder of programs that were brought here.
	NIC    netns.NIC `json:"nic,omitzero"`
	Copied string    `json:"copied,omitempty"`
}

// empty reports whether there is nothing to undo.
func (e entry) empty() bool {
	return e.PID <= 1 && e.File == "" && e.Cgroup == "" && e.Engine.Socket == "" && e.NIC.Device == "" && e.Copied == ""
}

// Engine is one that runs without us, and the label of what it runs for us.
type Engine struct {
	Socket string `json:"socket"`
	Lease  string `json:"lease"`
}

// openJournal makes the node's folder. It must not exist or be empty: the agent
// removes it with all that is in it, and may have been given it by hand.
func openJournal(dir string) (*journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the node's folder: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("looking into the node's folder: %w", err)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("the node's folder %s is not empty (it holds %s), and would be removed at the end: name another", dir, entries[0].Name())
	}
	file, err := os.OpenFile(filepath.Join(dir, journalName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	return &journal{file: file}, nil
}

// note records a process.
func (j *journal) note(pid int, what string) error {
	p, err := ThisProcess(pid, what)
	if err != nil {
		return nil // it is gone already: nothing to clean up
	}
	return j.write(entry{Process: p})
}

func (j *journal) write(e entry) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	_, err = j.file.Write(append(text, '\n'))
	return err
}

// close puts the settings back, the last one first.
func (j *journal) close() error {
	var failed error
	for _, s := range slices.Backward(j.changed) {
		_, err := s.undo()
		failed = errors.Join(failed, err)
	}
	if j.file != nil {
		failed = errors.Join(failed, j.file.Close())
	}
	return failed
}

// readJournal returns what a journal lists; a cut-off last line is passed over.
func readJournal(path string) ([]entry, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []entry
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, maxEntry)
	for scanner.Scan() && len(all) < maxJournal {
		var e entry
		if json.Unmarshal(scanner.Bytes(), &e) == nil && !e.empty() {
			all = append(all, e)
		}
	}
	return all, scanner.Err()
}
