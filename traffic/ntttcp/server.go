package ntttcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"windtunnel/traffic"
	meeting "windtunnel/traffic/lobby"
)

// serverPorts is how many data ports a server listens on: as many as
// ntttcp-for-linux's own examples take.
const serverPorts = 64

// Server answers senders of both tools at once. What a client is follows from
// its first contact: a message on the sync port, a token, or data at once.
type Server struct {
	Base  int // the first data port; 0: 5001
	Count int // data ports; 0: 64
}

// Name is ntttcp.
func (Server) Name() string { return "ntttcp" }

// Ports are sync, data and token ports.
func (s Server) Ports() string {
	base, count := s.base(), s.count()
	return fmt.Sprintf("%d-%d, %d-%d", base-1, base+count-1, base+tokenOffset, base+tokenOffset+count-1)
}

func (s Server) base() int {
	if s.Base == 0 {
		return DefaultPort
	}
	return s.Base
}

func (s Server) count() int {
	if s.Count == 0 {
		return serverPorts
	}
	return s.Count
}

// Serve listens until ctx ends. The sync port and the first data port must be
// free; of the others, those that another program has are left out.
func (s Server) Serve(ctx context.Context, config traffic.ServerConfig) error {
	if s.count() < 1 || s.count() > maxWindowsSync || s.base() < 2 || s.base()+tokenOffset+s.count() > maxPort {
		return fmt.Errorf("ntttcp: the ports %s do not lie between 1 and %d", s.Ports(), maxPort)
	}
	h := newHall(s, config)
	defer h.close()
	if err := h.open(ctx); err != nil {
		return err
	}
	if config.Ready != nil {
		config.Ready(h.addresses)
	}
	h.run(ctx)
	return nil
}

const (
	filesOfAPort = 3  // by TCP, by UDP and for tokens
	filesToLeave = 60 // for clients and the other protocols' servers, or half of all
)

// affords is how many of its data ports a process can that may have so many files open.
func (s Server) affords(files int) int {
	return min(s.count(), max(1, (files-min(files/2, filesToLeave))/filesOfAPort))
}

// limitPorts leaves data ports out that the process cannot afford, and tells it.
func (h *hall) limitPorts(files int) error {
	count := h.server.affords(files)
	if count == h.server.count() {
		return nil
	}
	h.server.Count = count
	if h.config.Lacks == nil {
		return nil
	}
	return h.config.Lacks(fmt.Errorf("this process may open no more than %d files, and clients need some: raise its limit (ulimit -n) for the data ports from %d on", files, h.server.base()+count))
}

// open listens everywhere.
func (h *hall) open(ctx context.Context) error {
	if err := h.limitPorts(mostFiles()); err != nil {
		return err
	}
	sync, err := h.listen(ctx, h.server.base()-1)
	if err != nil {
		return fmt.Errorf("ntttcp: listening for ntttcp-for-linux's senders: %w", err)
	}
	h.listeners = append(h.listeners, sync)
	h.accepting.Go(func() { h.accept(sync, func(conn net.Conn) { h.serveSync(ctx, conn) }) })
	var lacks []string
	var errs []error
	for i := range h.server.count() {
		others, data := h.openPort(ctx, i)
		if data != nil && i == 0 {
			return fmt.Errorf("ntttcp: listening for data: %w", data)
		}
		if i > 0 && errors.Join(append(others, data)...) == nil {
			h.shared = append(h.shared, h.server.base()+i)
		}
		for _, err := range append(others, data) {
			if err != nil {
				lacks, errs = append(lacks, err.Error()), append(errs, err)
			}
		}
	}
	if len(lacks) == 0 || h.config.Lacks == nil {
		return nil
	}
	if slices.ContainsFunc(errs, meeting.NoFiles) {
		return h.config.Lacks(fmt.Errorf("this process may not open as many files as there are ports: raise its limit (ulimit -n): %s", strings.Join(lacks, "; ")))
	}
	return h.config.Lacks(fmt.Errorf("who sends to one of these ports reaches the program that has it: %s", strings.Join(lacks, "; ")))
}

// openPort opens a data port, and if that could be, the same of UDP and the token port above it: others are what became of these.
func (h *hall) openPort(ctx context.Context, i int) (others []error, err error) {
	port := h.server.base() + i
	listener, err := h.listen(ctx, port)
	if err != nil {
		return nil, err
	}
	h.lobby.listeners = append(h.lobby.listeners, listener)
	h.lobby.accepting.Go(func() { h.lobby.accept(i, listener, h.take) })
	if i == 0 {
		h.addresses = append(h.addresses, listener.Addr().String())
	}
	token, noToken := h.listen(ctx, port+tokenOffset)
	if noToken == nil {
		h.listeners = append(h.listeners, token)
		h.accepting.Go(func() { h.accept(token, func(conn net.Conn) { h.serveToken(ctx, i, conn) }) })
	}
	packets, noUDP := traffic.ListenPacket(ctx, net.ListenConfig{}, "udp", h.config.Host, strconv.Itoa(port))
	if noUDP == nil {
		socket := packets.(*net.UDPConn)
		socket.SetReadBuffer(udpBuffer) // as much of it as the system gives
		h.sockets = append(h.sockets, socket)
		h.accepting.Go(func() { h.readDatagrams(ctx, i, socket) })
	}
	return []error{noToken, noUDP}, nil
}

const udpBuffer = 4 << 20

func (h *hall) listen(ctx context.Context, port int) (net.Listener, error) {
	config := net.ListenConfig{KeepAlive: -1}
	config.SetMultipathTCP(false)
	return traffic.Listen(ctx, config, "tcp", h.config.Host, strconv.Itoa(port))
}

// The bounds of the sync and token connections that are heard at once: of all
// hosts, and of one, which so keeps nobody else out.
const (
	maxHandlers = 1024
	maxOfAHost  = 256
)

// hears takes a connection of a host in, if there is room; else full says whose bound is reached.
func (h *hall) hears(from netip.Addr) (full string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.heard[from] >= maxOfAHost {
		return fmt.Sprintf("its %d", maxOfAHost)
	}
	select {
	case h.handlers <- struct{}{}:
		h.heard[from]++
		return ""
	default:
		return fmt.Sprintf("%d of all hosts", maxHandlers)
	}
}

// notHeard tells of a sync or token connection that was closed for want of room, once a second at most: whoever floods the ports fills
// no log, and the protocols have no word for it.
func (h *hall) notHeard(from netip.Addr, full string) {
	h.mu.Lock()
	tells := time.Since(h.toldOfCrowd) >= refusalPause
	if tells {
		h.toldOfCrowd = time.Now()
	}
	h.mu.Unlock()
	if tells {
		h.refuse(from, "a sync or token connection was closed: "+full+" are open, and no more are heard at once")
	}
}

func (h *hall) heardOut(from netip.Addr) {
	h.mu.Lock()
	defer h.mu.Unlock()
	<-h.handlers
	if h.heard[from]--; h.heard[from] == 0 {
		delete(h.heard, from)
	}
}

// take is a listener's Accept. Who comes when the process may open no more files is hung up on, and that is told: the protocols have no
// word for it, and a sender that nobody accepts waits without end.
func (h *hall) take(listener net.Listener) (net.Conn, error) {
	for {
		conn, last, err := h.spare.Accept(listener)
		if !last {
			return conn, err
		}
		h.refuse(remoteIP(conn), "this receiver may open no more files: raise its limit (ulimit -n), or try again later")
		conn.Close()
		h.spare.Restore()
		time.Sleep(acceptPause) // who floods it fills no log
	}
}

// accept hears each connection of a listener in its own goroutine.
func (h *hall) accept(listener net.Listener, serve func(net.Conn)) {
	for {
		conn, err := h.take(listener)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(acceptPause)
			continue
		}
		from := remoteIP(conn)
		if full := h.hears(from); full != "" {
			conn.Close()
			h.notHeard(from, full)
			continue
		}
		h.accepting.Go(func() {
			defer h.heardOut(from)
			defer conn.Close()
			serve(conn)
		})
	}
}

// serverTest is what a server's sessions are received with.
func (h *hall) serverTest() *Test {
	return &Test{
		Role: traffic.Receive, Sync: SyncNone, Message: serverMessage, AnyLength: true, SendBuffer: -1, ReceiveBuffer: -1,
		Threads: slices.Repeat([]Thread{{CPU: -1}}, h.server.count()), CPUs: h.config.CPUs,
		HotThreads: max(1, runtime.NumCPU()/(1+h.active())),
	}
}

const serverMessage = 128 << 10
