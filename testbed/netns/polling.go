package netns

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// LetPoll stops the daemons that would poll beside a cell that has its turn, on its
// CPUs, and lets that cell's own go on. Every other daemon stands idle by itself.
func (b *Backend) LetPoll(cell string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var failed error
	for name, c := range b.cells {
		signal := syscall.SIGSTOP
		if name == cell {
			signal = syscall.SIGCONT
		}
		for _, d := range c.daemons {
			if !d.want.Polls || d.process == nil {
				continue
			}
			// Verify tells of one that has ended.
			if err := d.process.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
				failed = errors.Join(failed, fmt.Errorf("sending %s to the daemon %s of cell %s: %w", signal, d.Name, name, err))
			}
		}
	}
	return failed
}

// resume lets a daemon go on, if it was stopped.
func (d *daemon) resume() {
	if d.process != nil {
		_ = d.process.Process.Signal(syscall.SIGCONT) // it may have ended, and is then told of
	}
}
