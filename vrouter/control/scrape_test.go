package control

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMetricsServer: it answers for one path by one method, bounds what it reads, and ends with its
// context.
func TestMetricsServer(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "metrics")
	listener, err := ListenMetrics("unix:" + socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- (&Agent{}).ServeMetrics(ctx, listener) }()
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	for _, c := range []struct {
		method, path, header string
		want                 int
	}{
		{"GET", "/", "", http.StatusNotFound},
		{"POST", "/metrics", "", http.StatusMethodNotAllowed},
		{"GET", "/metrics", strings.Repeat("x", 4*maxMetricsHeader), http.StatusRequestHeaderFieldsTooLarge},
	} {
		request, err := http.NewRequest(c.method, "http://vrouter"+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Long", c.header)
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != c.want {
			t.Errorf("%s %s: %d, not %d", c.method, c.path, response.StatusCode, c.want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// TestScrapeUnderWay: the server does not end before the scrape that it is at, which reads tables that are
// gone then; later ones are not begun.
func TestScrapeUnderWay(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	begun, goOn := make(chan struct{}, 2), make(chan struct{})
	listener, err := ListenMetrics("unix:" + filepath.Join(t.TempDir(), "metrics"))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- serveScrapes(ctx, listener, func(http.ResponseWriter) {
			begun <- struct{}{}
			<-goOn
		})
	}()
	for range 2 { // the second waits for the first
		conn, err := net.DialTimeout("unix", listener.Addr().String(), soon)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET /metrics HTTP/1.1\r\nHost: vrouter\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	<-begun
	cancel()
	select {
	case err := <-ended:
		t.Fatalf("it ended amid a scrape, with %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(goOn)
	if err := endsWith(t, ended); err != nil {
		t.Error(err)
	}
	if len(begun) != 0 {
		t.Error("another scrape was begun")
	}
}
