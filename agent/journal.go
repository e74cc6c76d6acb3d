package agent

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// journalName is the file in a node's folder of a lease that lists what its
// agent started, one Process a line, written before it can be forgotten.
const journalName = "journal.jsonl"

// maxJournal bounds how much of a journal is read, in lines.
const maxJournal = 10000

type journal struct {
	mu   sync.Mutex
	file *os.File
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
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, err = j.file.Write(append(text, '\n'))
	return err
}

func (j *journal) close() error { return j.file.Close() }

// readJournal returns the processes that a journal names; a cut-off last line
// is passed over.
func readJournal(path string) ([]Process, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []Process
	scanner := bufio.NewScanner(file)
	for scanner.Scan() && len(all) < maxJournal {
		var p Process
		if json.Unmarshal(scanner.Bytes(), &p) == nil && p.PID > 1 {
			all = append(all, p)
		}
	}
	return all, scanner.Err()
}
