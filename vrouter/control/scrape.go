package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"
)

// metricsTime bounds each step of a scrape: reading the request, and writing the reply.
const metricsTime = 5 * time.Second

// maxScrapers bounds the connections at a time. Any process of the machine may open some at an address;
// those above wait, and none that is silent keeps its place for longer than metricsTime.
const maxScrapers = 16

// maxMetricsHeader bounds a request's header, in bytes.
const maxMetricsHeader = 8 << 10

// ListenMetrics makes the socket of the metrics: 127.0.0.1:PORT or unix:/path. Whoever reaches it
// reads every tenant's counters, and nothing asks who it is; so it is never one for other machines.
func ListenMetrics(address string) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return Listen(path)
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, Refuse(fmt.Errorf("%q is no address for metrics; give 127.0.0.1:9100, [::1]:9100 or unix:/run/vrouter-metrics.sock", address))
	}
	if !at.Addr().IsLoopback() {
		return nil, Refuse(fmt.Errorf("metrics at %s would show every network's counters to other machines, without asking who they are; give 127.0.0.1:%d or unix:/path, and put a proxy with authentication in front", at, at.Port()))
	}
	listener, err := net.Listen("tcp", at.String())
	if err != nil {
		if errors.Is(err, syscall.EADDRNOTAVAIL) {
			err = fmt.Errorf("%w; is the loopback up in this network namespace? `ip link set lo up`", err)
		}
		return nil, fmt.Errorf("serving metrics at %s: %w", at, err)
	}
	return listener, nil
}

// ServeMetrics answers Prometheus at a socket until the context ends, one scrape at a time.
func (a *Agent) ServeMetrics(ctx context.Context, listener net.Listener) error {
	return serveScrapes(ctx, listener, a.scrape)
}

func serveScrapes(ctx context.Context, listener net.Listener, scrape func(http.ResponseWriter)) error {
	ctx, cancel := context.WithCancel(ctx)
	var one sync.Mutex
	defer func() {
		cancel()   // so that no other scrape begins
		one.Lock() // the last one is through, and reads the tables no more
		defer one.Unlock()
	}()
	handler := http.NewServeMux()
	handler.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		one.Lock()
		defer one.Unlock()
		if ctx.Err() == nil {
			scrape(w)
		}
	})
	server := &http.Server{
		Handler: handler, MaxHeaderBytes: maxMetricsHeader, ErrorLog: log.New(io.Discard, "", 0),
		ReadTimeout: metricsTime, WriteTimeout: metricsTime, IdleTimeout: metricsTime,
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(newCrowd(listener, maxScrapers)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving metrics at %s: %w", listener.Addr(), err)
	}
	return nil
}

func (a *Agent) scrape(w http.ResponseWriter) {
	stats, err := a.Stats(Scope{})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_ = WriteMetrics(w, a.Status(), stats) // a scraper that went away has no use for an error
}
