package lobby

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Spare is a file kept in reserve: a listener whose process may open no more files gives it up for one more connection, so that
// whoever connects is told why nobody serves it, and does not wait until it gives up.
type Spare struct {
	mu     sync.Mutex
	file   *os.File // nil while it is given up
	closed bool
}

// NewSpare opens it, where there is a file left for it.
func NewSpare() *Spare {
	s := &Spare{}
	s.Restore()
	return s
}

// Accept is the listener's, of which several may share the spare. Last tells that the connection has the spare's place and no more files
// can be had: it is to be told so and closed soon, and then Restore is called. That there is no file is an error while nobody comes, so
// that the spare is not given to somebody else: rest, and try again.
func (s *Spare) Accept(listener net.Listener) (conn net.Conn, last bool, err error) {
	conn, err = listener.Accept()
	if NoFiles(err) && somebodyWaits(listener) {
		s.giveUp()
		conn, err = listener.Accept()
	}
	had := s.Restore() // files may have come back, or another listener's spare place has gone to this connection
	return conn, err == nil && !had, err
}

// Restore takes the spare's place again, and tells whether there was a file for it.
func (s *Spare) Restore() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil || s.closed {
		return s.file != nil
	}
	var err error
	s.file, err = anyFile()
	return err == nil
}

// anyFiles are what is opened for the sake of a file's number alone. A root directory of its own (chroot) may be without the first.
var anyFiles = []string{os.DevNull, "/"}

// anyFile opens one of them. That there is no more is the error; nil without one: nothing of them can be opened here.
func anyFile() (*os.File, error) {
	for _, name := range anyFiles {
		if f, err := os.Open(name); err == nil || NoFiles(err) {
			return f, err
		}
	}
	return nil, nil
}

func (s *Spare) giveUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file.Close() // which takes nil
	s.file = nil
}

// Close gives it up for good, also where whoever was the last is still being told; nothing is accepted by it any more.
func (s *Spare) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.giveUp()
}

// NoFiles tells whether an error is that this process, or the system, may open no more files.
func NoFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// AcceptPause is how long a listener rests that could not accept: it is out of files, or somebody was gone again.
const AcceptPause = 50 * time.Millisecond
