package frame

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// TestRequester: a request is one message, an answer may come in parts, among commands of the connection.
func TestRequester(t *testing.T) {
	r := dialled(t, func(conn net.Conn, reader *bufio.Reader) {
		message, err := readAnswer(reader)
		if err != nil || string(message) != "who?" {
			t.Errorf("it is asked %q, %v", message, err)
		}
		_, _ = conn.Write([]byte("\x01\x00\x04\x05\x04PING\x01\x02me\x00\x01!")) // the other end tells
	})
	answer, err := r.ask([]byte("who?"), time.Minute, nil)
	if err != nil || string(answer) != "me!" {
		t.Errorf("it answers %q, %v", answer, err)
	}
	if answer, err := r.ask([]byte("who?"), time.Minute, nil); !errors.Is(err, io.EOF) && !isReset(err) {
		t.Errorf("a server that has gone answers %q, %v", answer, err)
	}
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op)
}

// TestRequesterWaits: for no longer than it was told, and not for who has given up.
func TestRequesterWaits(t *testing.T) {
	still := make(chan struct{})
	defer close(still)
	r := dialled(t, func(net.Conn, *bufio.Reader) { <-still })
	if _, err := r.ask([]byte("?"), time.Millisecond, nil); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	given := make(chan struct{})
	close(given)
	if _, err := r.ask([]byte("?"), time.Hour, given); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

// dialled is connected to a server that has greeted, and then does as it is told.
func dialled(t *testing.T, serve func(net.Conn, *bufio.Reader)) *requester {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		reader := bufio.NewReader(conn)
		if _, err := conn.Write(greeting("REP")); err == nil && readGreeting(reader) == nil {
			serve(conn, reader)
		}
	}()
	r, err := dialRequester(t.Context(), listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.close() })
	return r
}

// TestRequesterRefuses: who is no server of ZeroMQ, or says more than is read, is an error that says so.
func TestRequesterRefuses(t *testing.T) {
	whole := string(greeting("REP"))
	const empty = "\x01\x00"
	long := func(flags byte, size uint64) string {
		return string(binary.BigEndian.AppendUint64([]byte{flags | frameLong}, size))
	}
	for says, said := range map[string]string{
		"it is no server of ZMTP 3":           strings.Repeat("x", 100),
		"it refuses: ":                        whole[:zmtpGreeting] + "\x04\x08\x05ERROR\x01x",
		"a frame has the flags 0x8":           whole + "\x08",
		"an answer begins with \"{}\"":        whole + "\x00\x02{}",
		"an answer has nothing in it":         whole + "\x00\x00",
		"a frame has 18446744073709551615":    whole + empty + long(0, 1<<64-1),
		"an answer has over 1048576 bytes":    whole + empty + long(frameMore, longestReply) + strings.Repeat("x", longestReply) + "\x00\x01x",
		"an answer has over 100 frames":       whole + strings.Repeat(empty, replyFrames+1),
		"unexpected EOF":                      whole + empty + "\x00\x05four",
		"it is no server of ZMTP 3 without s": whole[:12] + "CURVE" + whole[17:],
	} {
		if _, err := conversation([]byte(said)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// conversation reads what a server says: its greeting, and answers.
func conversation(said []byte) (answers [][]byte, err error) {
	r := bufio.NewReader(bytes.NewReader(said))
	if err := readGreeting(r); err != nil {
		return nil, err
	}
	for {
		answer, err := readAnswer(r)
		if err != nil {
			return answers, err
		}
		answers = append(answers, answer)
	}
}

// TestRequesterDialEnds: a dial ends with its context, whatever the other end does not say.
func TestRequesterDialEnds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // whose connections nobody takes
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := dialRequester(ctx, listener.Addr().String()); err == nil {
		t.Error("nobody greets")
	}
}

// FuzzTrexAnswers: whatever a server says, no more is read than is allowed, and what is read as an answer is one.
func FuzzTrexAnswers(f *testing.F) {
	whole := greeting("REP")
	f.Add(append(whole, request([]byte(`{"jsonrpc":"2.0","id":1,"result":{"xstats_values":[0,42]}}`))...))
	f.Add(append(whole, "\x01\x00\x00\x02{}"...))
	f.Fuzz(func(t *testing.T, said []byte) {
		answers, err := conversation(said)
		if err == nil {
			t.Fatal("it never ends")
		}
		for _, answer := range answers {
			if len(answer) > longestReply {
				t.Fatalf("an answer has %d bytes", len(answer))
			}
			if again, err := readAnswer(bufio.NewReader(bytes.NewReader(request(answer)))); err != nil || !bytes.Equal(again, answer) {
				t.Fatalf("%q is read as %q, %v", answer, again, err)
			}
			var port struct {
				Values []uint64 `json:"xstats_values"`
			}
			if err := trexResult(answer, 1, "count", &port); err != nil && len(err.Error()) > 4<<10 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
		}
	})
}
