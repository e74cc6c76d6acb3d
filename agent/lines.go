package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"windtunnel/agent/proto"
	"windtunnel/result"
)

// errTooLong is a message over proto.MaxMessage; the stream cannot be trusted
// after it.
var errTooLong = fmt.Errorf("a message is longer than %d bytes", proto.MaxMessage)

// errTooMany is a message with more in it than proto.MaxValues.
var errTooMany = fmt.Errorf("a message has more than %d values", proto.MaxValues)

// lines is a stream of newline-delimited JSON, bounded in both directions.
type lines struct {
	in    *bufio.Reader
	mu    sync.Mutex
	out   io.Writer
	limit int
}

func newLines(in io.Reader, out io.Writer) *lines {
	return &lines{in: bufio.NewReaderSize(in, 64<<10), out: out, limit: proto.MaxMessage}
}

// read returns the next line that is not empty, without its newline. It returns
// io.EOF at the end of the stream; a last line without newline counts as cut off.
func (l *lines) read() ([]byte, error) {
	for {
		line, err := l.readLine()
		if err != nil {
			return nil, err
		}
		if result.ValuesIn(line) > proto.MaxValues {
			return nil, errTooMany
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

func (l *lines) readLine() ([]byte, error) {
	var line []byte
	for {
		piece, err := l.in.ReadSlice('\n')
		if len(line)+len(piece) > l.limit {
			return nil, errTooLong
		}
		line = append(line, piece...)
		if err == nil {
			return line, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// write sends one message as one line; it may be called from several goroutines.
func (l *lines) write(message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	if len(text) >= l.limit {
		return errTooLong
	}
	if result.ValuesIn(text) > proto.MaxValues {
		return errTooMany
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.out.Write(append(text, '\n'))
	return err
}
