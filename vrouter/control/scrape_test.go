package control

import (
	"context"
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
