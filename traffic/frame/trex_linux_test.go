package frame

import (
	"bufio"
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
	"strings"
	"testing"
	"time"

	"windtunnel/result"
)

// trexEnv lets this program stand in for TRex: its value says in which way.
const trexEnv = "FRAME_TEST_TREX"

// trexServer has a thread that would send, and TRex's server of requests.
type trexServer struct {
	pretender // its thread
	way       string
	asked     int    // for counts
	told      uint64 // the last one
}

func (s *trexServer) run(args []string) int {
	switch s.way {
	case "dies":
		fmt.Println("EAL: no memory")
		return 3
	case "silent":
		select {}
	}
	named := make(chan struct{})
	go s.send(trexSends+" core 1", named)
	<-named
	if err := s.serve(args[slices.Index(args, "--cfg")+1]); err != nil {
		fmt.Println(err)
	}
	return 1
}

func (s *trexServer) serve(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var config []struct {
		Port       int `json:"zmq_rpc_port"`
		Interfaces []string
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", config[0].Port))
	if err != nil {
		return err
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go s.converse(conn)
	}
}

func (s *trexServer) converse(conn net.Conn) {
	defer conn.Close()
	if s.way == "deaf" {
		select {}
	}
	reader := bufio.NewReader(conn)
	if _, err := conn.Write(greeting("REP")); err != nil || readGreeting(reader) != nil {
		return
	}
	for {
		message, err := readAnswer(reader)
		if err != nil {
			return
		}
		var asked struct {
			ID     int
			Method string
			Params map[string]any
		}
		if json.Unmarshal(message, &asked) != nil {
			return
		}
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, asked.ID, s.answer(asked.Method, asked.Params))
		if s.way == "misnumbers" {
			answer = `{"jsonrpc":"2.0","id":77,"result":{}}`
		}
		out := request([]byte(answer))
		if s.way == "babbles" {
			out = binary.BigEndian.AppendUint64([]byte{frameLong}, 1<<62)
		}
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}

func (s *trexServer) answer(method string, about map[string]any) string {
	if method != "get_version" && method != "api_sync_v2" && about["api_h"] != "h" || strings.HasSuffix(method, "_traffic") && about["handler"] != "o" {
		return `"error":{"code":-32000,"message":"Server error","specific_err":"no handle"}`
	}
	switch method {
	case "get_version":
		return `"result":{"version":"v3.08","build_date":"Nov 23 2026"}`
	case "api_sync_v2":
		return `"result":{"api_h":"h"}`
	case "acquire":
		if s.way == "refuses" {
			return `"error":{"code":-32000,"message":"Server error","specific_err":"port is already taken by 'x'"}`
		}
		return `"result":"o"`
	case "get_port_xstats_names":
		if s.way == "uncounted" {
			return `"result":{"xstats_names":["rx_good_packets"]}`
		}
		return `"result":{"xstats_names":["rx_good_packets","tx_good_packets"]}`
	case "get_port_xstats_values":
		return s.values()
	case "get_global_stats":
		return fmt.Sprintf(`"result":{"m_cpu_util":0.5,"m_total_queue_drop":%d}`, 3*s.told)
	case "start_traffic":
		if s.way == "falls" {
			os.Exit(5)
		}
		s.sending.Store(1)
	case "stop_traffic":
		s.sending.Store(0)
	}
	return `"result":{}`
}

func (s *trexServer) values() string {
	sent := 1000 + s.sent.Load()
	switch s.asked++; {
	case s.way == "still":
		sent = 1000
	case s.way == "backwards":
		sent = uint64(1000 - s.asked)
	case s.way == "short":
		return `"result":{"xstats_values":[0]}`
	case s.way == "negative":
		return `"result":{"xstats_values":[0,-1]}`
	}
	s.told = sent
	return fmt.Sprintf(`"result":{"xstats_values":[0,%d]}`, sent)
}

// TestTrex: it is told what to send and when, its frames and what a full port did not take are counted, and nothing of it is left.
func TestTrex(t *testing.T) {
	a := standingIn(t, trexEnv, "answers")
	d, err := newTrex(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if d.version() != "TRex v3.08" || !strings.Contains(d.process().line(), "-i --stl --cfg "+filepath.Dir(a.socket)) {
		t.Errorf("%s: %s", d.version(), d.process().line())
	}
	for range 2 { // a start begins anew
		if err := d.start(); err != nil {
			t.Fatal(err)
		}
		last, _, err := d.sent()
		if err != nil || last == 0 {
			t.Fatalf("%d are sent, %v", last, err)
		}
		if err := d.stop(); err != nil {
			t.Fatal(err)
		}
		first, refused, err := d.sent()
		if err != nil || first < last || refused != 3*first { // as the stand-in has it
			t.Errorf("%d sent and %d refused once it stands, %v; %d before", first, refused, err, last)
		}
	}
	closes(t, d, a)
}

// TestTrexFails: one that dies, hangs, babbles, refuses or counts nonsense is an error that says so, in time, and leaves nothing.
func TestTrexFails(t *testing.T) {
	for way, says := range map[string]string{
		"dies": "it said: EAL: no memory", "silent": "it did not take requests within", "deaf": "it did not take requests within",
		"refuses": "it refuses to acquire: \"Server error\": \"port is already taken by 'x'\"",
		"babbles": "a frame has 4611686018427387904 bytes, and 1048576 are read", "misnumbers": "which is to something else",
		"uncounted": "its port does not count what it sends", "short": "it tells 1 statistics of its port", "negative": "it answers",
		"backwards": "frames sent and", "still": "it sent no frame within", "falls": "asking it to ",
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			a := standingIn(t, trexEnv, way)
			x := &trex{folder: filepath.Join(filepath.Dir(a.socket), "g")}
			if err := os.Mkdir(x.folder, 0o700); err != nil {
				t.Fatal(err)
			}
			patience := consolePatience
			if slices.Contains([]string{"silent", "deaf"}, way) {
				patience = 2 * time.Second
			}
			err := x.begin(t.Context(), a, patience)
			if err == nil {
				err = x.start()
			}
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%v, want %q", err, says)
			}
			closes(t, x, a)
		})
	}
}

// TestTrexGivenUp: who no longer wants it does not wait for it.
func TestTrexGivenUp(t *testing.T) {
	for _, way := range []string{"silent", "deaf"} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		a := standingIn(t, trexEnv, way)
		_, err := newTrex(ctx, a)
		cancel()
		if err == nil || !strings.Contains(err.Error(), "it did not take requests") {
			t.Error(err)
		}
		if left, _ := filepath.Glob(filepath.Dir(a.socket) + "/g*"); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	}
}

// TestTrexOrders: the configuration and the stream say what TRex's manual has for them, and the frame is one of IPv4 and UDP.
func TestTrexOrders(t *testing.T) {
	a := pretended(t, "answers")
	a.cpu, a.flows = 5, 100
	config, err := trexConfig(a, 4501)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := trexStream(a)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(stream)
	if err != nil {
		t.Fatal(err)
	}
	for all, wants := range map[string][]string{
		string(config): {`"low_end_core":5`, `"low_end":true`, `"port_mtu":1500`, `"zmq_rpc_port":4501`, `"dummy"]`, "dev(net_virtio_user0,path=" + a.socket, `"dest_mac":"02:00:00:00:00:08"`},
		string(text):   {`"value":1000000000`, `"type":"continuous"`, `"init_value":1024`, `"max_value":1123`, `"min_value":1024`, `"pkt_offset":34`, `"is_big_endian":true`},
	} {
		for _, want := range wants {
			if !strings.Contains(all, want) {
				t.Errorf("%q is not in %s", want, all)
			}
		}
	}
	a.flows = 1
	if stream, _ := trexStream(a); len(stream["vm"].(map[string]any)["instructions"].([]any)) != 0 {
		t.Error("one flow is varied")
	}
	a.cpu = -1
	if config, err = trexConfig(a, 4501); err != nil || strings.Contains(string(config), `"low_end_core":-1`) {
		t.Errorf("%s, %v", config, err)
	}
	frame, err := a.frame()
	if err != nil || len(frame) != 60 || frame[0] != 2 || frame[5] != 8 || frame[11] != 7 {
		t.Fatalf("%x, %v", frame, err)
	}
	udp := frame[ethernetSize+ipv4Size:]
	if fold(sum(frame[ethernetSize:ethernetSize+ipv4Size])) != 0xffff || binary.BigEndian.Uint16(udp) != 1024 || binary.BigEndian.Uint16(udp[2:]) != 7041 ||
		binary.BigEndian.Uint16(udp[4:]) != 26 || binary.BigEndian.Uint16(udp[6:]) != 0 || stream["packet"].(map[string]any)["binary"] != base64.StdEncoding.EncodeToString(frame) {
		t.Errorf("%x", frame)
	}
	a.hop = "nowhere"
	if _, err := trexStream(a); err == nil {
		t.Error("an address that is none is taken")
	}
}

// TestTrexLibraries: they are looked for beside the program, through every link to it.
func TestTrexLibraries(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"path", "release/so/x86_64", "build"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "build/it"), nil, 0o700), os.Symlink("../build/it", filepath.Join(dir, "release/it")),
		os.Symlink(filepath.Join(dir, "release/it"), filepath.Join(dir, "path/it"))); err != nil {
		t.Fatal(err)
	}
	got, err := trexLibraries(filepath.Join(dir, "path/it"))
	want := strings.Join([]string{dir + "/path", dir + "/release", dir + "/release/so/x86_64", dir + "/build"}, ":")
	if err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if _, err := trexLibraries(filepath.Join(dir, "none")); err == nil {
		t.Error("a program that is not there has libraries")
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	if _, err := trexLibraries(loop); err == nil {
		t.Error("a link to itself is a program")
	}
}

// TestTrexAtPort: TRex sends at a port for real, where it is installed, through a forwarder to a tester's sink: frames of the size and the
// flows that were asked for, as many as it says.
func TestTrexAtPort(t *testing.T) {
	if _, err := exec.LookPath("_t-rex-64"); err != nil {
		t.Skip("skip: needs _t-rex-64 (TRex, which Debian does not have)")
	}
	foreignAtPort(t, "trex", "TRex v", []result.Options{{"size": int64(64)}, {"size": int64(1518), "flows": int64(50)}, {"size": int64(128), "flows": int64(1000)}})
}
