package command

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// lockedBuffer is written by the server while the test waits.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

// TestManyClientsOverTheRealEngine has several clients at once, and a whole JSON
// object of each on both sides.
func TestManyClientsOverTheRealEngine(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	_ = l.Close()
	ctx, stop := context.WithCancel(t.Context())
	var atServer, complaints lockedBuffer
	ended := make(chan int, 1)
	go func() {
		ended <- Run(ctx, []string{"-s", "-J", "-p", port, "-B", "127.0.0.1"}, nil, &atServer, &complaints, noEnvironment)
	}()
	defer func() { stop(); <-ended }()
	client := []string{"-c", "127.0.0.1", "-p", port, "-J", "-n", "256K"}
	for deadline := time.Now().Add(10 * time.Second); Run(ctx, client, nil, io.Discard, io.Discard, noEnvironment) != exitDone; {
		if time.Now().After(deadline) {
			t.Fatalf("nobody answers: %s", complaints.String())
		}
	}
	const clients = 6
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			var out bytes.Buffer
			if code := Run(ctx, client, nil, &out, &complaints, noEnvironment); code != exitDone || !json.Valid(out.Bytes()) {
				t.Errorf("exit %d: %s", code, out.String())
			}
		})
	}
	all.Wait()
	stop()
	if code := <-ended; code != exitDone {
		t.Errorf("the server's exit code is %d: %s", code, complaints.String())
	}
	ended <- exitDone
	if got := sessionsIn(t, atServer.String()); got != clients+1 {
		t.Errorf("%d sessions at the server, want %d:\n%s", got, clients+1, atServer.String())
	}
}

// TestAServersRefusalIsInIperf3sWords at both ends.
func TestAServersRefusalIsInIperf3sWords(t *testing.T) {
	const words = "client's requested duration exceeds the server's maximum permitted limit"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	_ = l.Close()
	var atServer, complaints lockedBuffer
	ended := make(chan int, 1)
	go func() {
		ended <- Run(t.Context(), []string{"-s", "-1", "-J", "--server-max-duration", "1", "-p", port, "-B", "127.0.0.1"}, nil, &atServer, &complaints, noEnvironment)
	}()
	var out, says bytes.Buffer
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(says.String(), words); { // until it listens
		if time.Now().After(deadline) {
			t.Fatalf("nobody refuses: %s %s %s", out.String(), says.String(), complaints.String())
		}
		says.Reset()
		Run(t.Context(), []string{"-c", "127.0.0.1", "-p", port, "-t", "3"}, nil, &out, &says, noEnvironment)
	}
	<-ended
	if !strings.Contains(atServer.String(), "error - "+words) {
		t.Errorf("the server says %s%s", atServer.String(), complaints.String())
	}
}

func noEnvironment(string) string { return "" }

// sessionsIn counts the objects of a server's JSON that hold a test of 256 KiB.
func sessionsIn(t *testing.T, text string) (count int) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	for decoder.More() {
		var one struct {
			Error string
			End   struct {
				Received struct{ Bytes int } `json:"sum_received"`
			}
		}
		if err := decoder.Decode(&one); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if one.Error == "" && one.End.Received.Bytes == 256<<10 {
			count++
		}
	}
	return count
}
