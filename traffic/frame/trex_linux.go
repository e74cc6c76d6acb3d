package frame

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// trex is TRex in its stateless mode on one CPU ("low end"), driven by JSON-RPC over ZeroMQ as its own console does (its "RPC Server
// Specification"). Its port is DPDK's failsafe device around the one at the socket: it takes devices of drivers that it
// knows, and virtio-user is none of them. Its memory is in no files, as it is told a device by --vdev.
type trex struct {
	console *console
	folder  string // its own
	rpc     *requester
	calls   int
	api     string // what its server is told with each request,
	owner   string // and with those about the port
	release string
	counter int      // of the frames sent, among the port's statistics
	begun   trexSums // at the last start
	latest  trexSums
}

// trexSums are of all frames that it ever sent, and of those that it dropped as its port was full.
type trexSums struct{ sent, dropped uint64 }

const (
	// trexMajor and trexMinor are the version of the requests here; servers take lower minor ones.
	trexMajor, trexMinor = 5, 1
	// trexFrames is a rate in frames a second that is beyond what it makes, so that it never sleeps between two.
	trexFrames = 1e9
	// trexSends is what the name of its thread that sends begins with. Its other ones sleep.
	trexSends = "Trex DP"
	// trexFirst is for how long its first frame is waited for.
	trexFirst = 2 * time.Second
	trexLook  = 5 * time.Millisecond
	// trexMTU is its port's, in bytes. With its default its buffers are too small for virtio, and it dies.
	trexMTU = 1500
	// trexOwnMACs has frames keep the addresses that they are given: bits 0 and 1 of a stream's flags.
	trexOwnMACs = 3
	// trexLinks are the most that lead to its program.
	trexLinks = 8
	// longestHandle is the most bytes of what it gives to be told with each request.
	longestHandle = 200
)

func newTrex(ctx context.Context, a aim) (driver, error) {
	folder, err := os.MkdirTemp(filepath.Dir(a.socket), "g") // goes with the data plane's folder, if not before
	if err != nil {
		return nil, fmt.Errorf("making a folder for TRex's configuration: %w", err)
	}
	x := &trex{folder: folder}
	if err := x.begin(ctx, a, consolePatience); err != nil {
		return nil, errors.Join(err, x.close())
	}
	return x, nil
}

// begin is over once its server has the port's orders.
func (x *trex) begin(ctx context.Context, a aim, patience time.Duration) error {
	libraries, err := trexLibraries(a.program)
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	config, err := trexConfig(a, port)
	if err != nil {
		return err
	}
	file := filepath.Join(x.folder, "trex.yaml")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return fmt.Errorf("writing TRex's configuration: %w", err)
	}
	args := []string{a.program, "-i", "--stl", "--cfg", file, "--iom", "0", "--no-key", "--no-termio", "--no-watchdog", "--no-scapy-server", "--no-ofed-check"}
	x.console, err = startConsole(ctx, args, []string{"RUNTIME_DIRECTORY=" + x.folder, "LD_LIBRARY_PATH=" + libraries})
	if err != nil {
		return err
	}
	x.console.patience, x.console.pollers = patience, trexSends
	server := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	x.rpc, err = awaitServer(ctx, x.console.ended, patience, "take requests", func(ctx context.Context) (*requester, error) { return dialRequester(ctx, server) })
	if err == nil {
		err = x.order(a)
	}
	if err != nil {
		return x.console.failure(err)
	}
	return nil
}

// trexLibraries are the folders of those that TRex brings along. They lie beside its program, which a link on PATH may lead to, and of a TRex that
// was built there one link more.
func trexLibraries(program string) (string, error) {
	place, err := exec.LookPath(program)
	if err == nil {
		place, err = filepath.Abs(place)
	}
	if err != nil {
		return "", fmt.Errorf("looking for %s: %w", program, err)
	}
	var folders []string
	for range trexLinks {
		folder := filepath.Dir(place)
		inner, _ := filepath.Glob(filepath.Join(folder, "so", "*")) // one for each architecture; the loader takes those of its own
		folders = append(append(folders, folder), inner...)
		next, err := os.Readlink(place)
		if err != nil { // it is none
			break
		}
		if place = next; !filepath.IsAbs(next) {
			place = filepath.Join(folder, next)
		}
	}
	return strings.Join(folders, ":"), nil
}

// trexConfig is its configuration file. Ports come in pairs, of which the second is a dummy.
func trexConfig(a aim, port int) ([]byte, error) {
	cpu := a.cpu
	if cpu < 0 { // it takes one, and no other word
		var usable unix.CPUSet
		if err := unix.SchedGetaffinity(0, &usable); err != nil {
			return nil, fmt.Errorf("asking for a CPU to use: %w", err)
		}
		for cpu = 0; !usable.IsSet(cpu); cpu++ {
		}
	}
	addresses := map[string]string{"src_mac": a.mac, "dest_mac": a.hop}
	return json.Marshal([]map[string]any{{ // which is YAML, too
		"version": 2, "interfaces": []string{fmt.Sprintf("--vdev=net_failsafe0,mac=%s,dev(%s)", a.mac, a.device()), "dummy"},
		"port_info": []any{addresses, addresses}, "port_mtu": trexMTU, "low_end": true, "low_end_core": cpu,
		"enable_zmq_pub": false, "zmq_rpc_port": port, "prefix": "t",
	}})
}

// freePort is one of TCP that nobody has at the moment in the endpoint's network namespace.
func freePort() (int, error) {
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return 0, fmt.Errorf("looking for a free TCP port: %w", err)
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// order takes the port, and says what to send.
func (x *trex) order(a aim) error {
	stream, err := trexStream(a)
	if err != nil {
		return err
	}
	var server struct{ Version string }
	var api struct {
		Handle string `json:"api_h"`
	}
	var port struct {
		Names []string `json:"xstats_names"`
	}
	err = x.call("get_version", nil, &server)
	if err == nil {
		err = x.call("api_sync_v2", map[string]any{"name": "STL", "major": trexMajor, "minor": trexMinor}, &api)
		x.api = api.Handle
	}
	if err == nil {
		err = x.callPort("acquire", map[string]any{"user": "windtunnel", "session_id": 1, "force": false}, &x.owner)
	}
	if err == nil && len(server.Version)+len(x.api)+len(x.owner) > longestHandle {
		err = fmt.Errorf("its version and handles have over %d bytes", longestHandle)
	}
	if err == nil {
		err = x.callPort("get_port_xstats_names", nil, &port)
	}
	if err == nil {
		err = x.callPort("add_stream", map[string]any{"stream_id": 1, "stream": stream}, nil)
	}
	if err != nil {
		return err
	}
	x.release = "TRex " + server.Version
	if x.counter = slices.Index(port.Names, "tx_good_packets"); x.counter < 0 {
		return fmt.Errorf("its port does not count what it sends: %.200q", port.Names)
	}
	return nil
}

// callPort asks for something about the port.
func (x *trex) callPort(method string, about map[string]any, result any) error {
	all := map[string]any{"port_id": 0, "api_h": x.api, "handler": x.owner}
	for name, value := range about {
		all[name] = value
	}
	return x.call(method, all, result)
}

// call asks for something, and puts what comes of it into result, unless that is nil.
func (x *trex) call(method string, about map[string]any, result any) error {
	x.calls++
	if about == nil {
		about = map[string]any{}
	}
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": x.calls, "method": method, "params": about})
	if err != nil {
		return err
	}
	answer, err := x.rpc.ask(message, x.console.patience, x.console.given)
	if err != nil {
		return fmt.Errorf("asking it to %s: %w", method, err)
	}
	return trexResult(answer, x.calls, method, result)
}

// trexResult reads the answer to a request with a number.
func trexResult(answer []byte, number int, method string, result any) error {
	var reply struct {
		ID     *int
		Result json.RawMessage
		Error  *struct {
			Message string
			Why     string `json:"specific_err"`
		}
	}
	err := json.Unmarshal(answer, &reply)
	switch {
	case err != nil:
		return fmt.Errorf("asked to %s it answers %.200q: %w", method, answer, err)
	case reply.Error != nil:
		return fmt.Errorf("it refuses to %s: %.200q: %.500q", method, reply.Error.Message, reply.Error.Why)
	case reply.ID == nil || *reply.ID != number || reply.Result == nil:
		return fmt.Errorf("asked to %s it answers %.200q, which is to something else", method, answer)
	case result == nil:
		return nil
	}
	if err := json.Unmarshal(reply.Result, result); err != nil {
		return fmt.Errorf("asked to %s it answers %.200q: %w", method, reply.Result, err)
	}
	return nil
}

// trexStream is one stream of copies of a frame, which differ in their source ports alone.
func trexStream(a aim) (map[string]any, error) {
	frame, err := a.frame()
	if err != nil {
		return nil, err
	}
	changes := []any{}
	if a.flows > 1 {
		changes = append(changes,
			map[string]any{"type": "flow_var", "name": "from", "size": 2, "op": "inc", "step": 1,
				"init_value": a.fromPort, "min_value": a.fromPort, "max_value": int(a.fromPort) + a.flows - 1},
			map[string]any{"type": "write_flow_var", "name": "from", "pkt_offset": ethernetSize + ipv4Size, "add_value": 0, "is_big_endian": true})
	}
	return map[string]any{
		"enabled": true, "self_start": true, "flags": trexOwnMACs, "action_count": 0, "isg": 0, "next_stream_id": -1,
		"mode":   map[string]any{"type": "continuous", "rate": map[string]any{"type": "pps", "value": trexFrames}},
		"packet": map[string]any{"binary": base64.StdEncoding.EncodeToString(frame), "meta": ""},
		"vm":     map[string]any{"instructions": changes}, "flow_stats": map[string]any{"enabled": false},
	}, nil
}

// frame is one of those that are to be sent, without FCS, and without a UDP checksum (RFC 768), so that its ports may change.
func (a aim) frame() ([]byte, error) {
	h := header{from: a.from, to: a.to}
	for text, address := range map[string][]byte{a.mac: h.source[:], a.hop: h.destination[:]} {
		mac, err := net.ParseMAC(text)
		if err != nil {
			return nil, fmt.Errorf("an address of the frames to send: %w", err)
		}
		copy(address, mac)
	}
	b := h.template(a.length + fcsSize)
	udp := b[h.udpAt():]
	binary.BigEndian.PutUint16(udp, a.fromPort)
	binary.BigEndian.PutUint16(udp[2:], a.toPort)
	clear(udp[udpSize:]) // it has no number
	return b, nil
}

// start is over once a frame was sent. Until then the thread that sends runs as others do, as it sleeps up to 50 ms while nothing is to do.
func (x *trex) start() (err error) {
	if err := x.console.schedule(unix.SCHED_NORMAL); err != nil {
		return err
	}
	if x.begun, err = x.count(); err != nil {
		return err
	}
	if err := x.callPort("start_traffic", map[string]any{"mul": map[string]any{"type": "raw", "op": "abs", "value": 1}, "duration": -1, "force": true}, nil); err != nil {
		return x.console.failure(err)
	}
	for began, now := time.Now(), x.begun; now.sent == x.begun.sent; time.Sleep(trexLook) {
		if time.Since(began) > trexFirst || x.console.overdue() {
			return x.console.failure(fmt.Errorf("it sent no frame within %s of being told to", time.Since(began).Round(time.Millisecond)))
		}
		if now, err = x.count(); err != nil {
			return err
		}
	}
	return x.console.schedule(unix.SCHED_IDLE)
}

// stop is over when it has: its server answers once the thread that sends has said so, and given its port what it had left.
func (x *trex) stop() error {
	// On a busy machine it might get no CPU to hear of it.
	if err := x.console.schedule(unix.SCHED_NORMAL); err != nil {
		return err
	}
	if err := x.callPort("stop_traffic", nil, nil); err != nil {
		return x.console.failure(err)
	}
	return nil
}

// count is of all frames so far.
func (x *trex) count() (trexSums, error) {
	var port struct {
		Values []uint64 `json:"xstats_values"`
	}
	var all struct {
		Dropped *uint64 `json:"m_total_queue_drop"`
	}
	err := x.callPort("get_port_xstats_values", nil, &port)
	if err == nil {
		err = x.call("get_global_stats", map[string]any{"api_h": x.api}, &all)
	}
	if err == nil && (len(port.Values) <= x.counter || all.Dropped == nil) {
		err = fmt.Errorf("it tells %d statistics of its port, and the frames that it sent are number %d; or not what it dropped", len(port.Values), x.counter)
	}
	if err != nil {
		return trexSums{}, x.console.failure(err)
	}
	now := trexSums{port.Values[x.counter], *all.Dropped}
	if now.sent < x.latest.sent || now.dropped < x.latest.dropped {
		return trexSums{}, x.console.failure(fmt.Errorf("it counts %d frames sent and %d dropped, after %d and %d", now.sent, now.dropped, x.latest.sent, x.latest.dropped))
	}
	x.latest = now
	return now, nil
}

func (x *trex) sent() (sent, refused uint64, err error) {
	now, err := x.count()
	if err != nil {
		return 0, 0, err
	}
	return now.sent - x.begun.sent, now.dropped - x.begun.dropped, nil
}

func (x *trex) version() string { return x.release }

func (x *trex) process() *console { return x.console }

// close ends it, and takes its folder away. It has nothing else that would be left.
func (x *trex) close() (err error) {
	if x.rpc != nil {
		err = x.rpc.close()
	}
	if x.console != nil {
		err = errors.Join(err, x.console.kill())
	}
	return errors.Join(err, os.RemoveAll(x.folder))
}
