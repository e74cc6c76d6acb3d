package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"windtunnel/testbed"
)

// program is the least of static executables: an ELF header with nothing behind it.
func program(t *testing.T) string {
	t.Helper()
	header := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT), Ehsize: 64, Phentsize: 56, Shentsize: 64}
	copy(header.Ident[:], "\x7fELF\x02\x01\x01") // 64 bits, little endian
	var file bytes.Buffer
	if err := binary.Write(&file, binary.LittleEndian, header); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, file.Bytes(), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestProgramsThatNeedALoader(t *testing.T) {
	if err := testbed.RunsAlone(program(t)); err != nil {
		t.Error(err)
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("not looked at here: there is no shell to look at")
	}
	if err := testbed.RunsAlone(shell); err == nil || !strings.Contains(err.Error(), "CGO_ENABLED=0") {
		t.Errorf("a dynamic one: %v", err)
	}
}

func config(t *testing.T, e *engine) Config {
	return Config{Socket: e.socket, Processes: "/proc", Program: program(t), Idle: []string{"agent"}, CPUs: []int{0, 2}, Prefix: "mine-", Lease: "L"}
}

func server() testbed.Engine {
	return testbed.Engine{Name: "e", Node: "a",
		Networks: []testbed.EngineNetwork{{Name: "n", Driver: "macvlan", Subnet: "10.0.0.0/24", Gateway: "10.0.0.1", Options: map[string]string{"parent": "nic0"}}},
		Containers: []testbed.EngineContainer{
			{Name: "one", Network: testbed.NetworkDefault, Publish: []int{5201}, CPUs: 0.5, MemoryBytes: 64 << 20},
			{Name: "two", Network: "n", Address: "10.0.0.21", Image: "/nowhere/image.tar"},
		}}
}

func TestContainersAreAskedFor(t *testing.T) {
	e, want := fakeEngine(t), server()
	c := config(t, e)
	c.Prefix = "" // an engine of the testbed's own
	want.Containers[1].Image = filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(want.Containers[1].Image, []byte("an image"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), c, want)
	if err != nil {
		t.Fatal(err)
	}
	network := e.body(t, "POST /networks/create")
	if got := spaced(network["Name"], network["Driver"], network["IPAM"], network["Options"], network["Labels"]); got !=
		"n macvlan map[Config:[map[Gateway:10.0.0.1 Subnet:10.0.0.0/24]]] map[parent:nic0] map[windtunnel.lease:L]" {
		t.Errorf("the network: %s", got)
	}
	two := e.body(t, "POST /containers/create") // the last one
	host := two["HostConfig"].(map[string]any)
	if got := spaced(two["Image"], two["Entrypoint"], two["Cmd"], host["NetworkMode"], host["CpusetCpus"], two["NetworkingConfig"]); got !=
		"theirs:1 [/windtunnel] [agent] n 0,2 map[EndpointsConfig:map[n:map[IPAMConfig:map[IPv4Address:10.0.0.21]]]]" {
		t.Errorf("the container: %s", got)
	}
	if e.bodies["POST /images/load"] != "an image" {
		t.Errorf("loaded %q", e.bodies["POST /images/load"])
	}
	files := tar.NewReader(strings.NewReader(e.bodies["PUT /containers/c-two/archive"]))
	if head, err := files.Next(); err != nil || head.Name != "windtunnel" || head.Mode != 0o755 || head.Size == 0 {
		t.Errorf("copied in: %+v, %v", head, err)
	}
	if slices.Contains(e.asked, "PUT /containers/c-one/archive") || !slices.Contains(e.asked, "POST /images/create") {
		t.Errorf("asked %v", e.asked)
	}
	if got := r.NetworkStack("one"); got != "/proc/42/ns/net" {
		t.Errorf("its stack is at %s", got)
	}
	if text, err := r.Found(context.Background()); err != nil || !strings.Contains(text, "engine 20.10.24, API 1.41; storage overlay2") || !strings.Contains(text, "172.17.0.2/16, gateway 172.17.0.1") {
		t.Errorf("found %q, %v", text, err)
	}
}

func TestPublishedPorts(t *testing.T) {
	e, want := fakeEngine(t), server()
	want.Containers = want.Containers[:1]
	if _, err := Run(context.Background(), config(t, e), want); err != nil {
		t.Fatal(err)
	}
	host := e.body(t, "POST /containers/create")["HostConfig"].(map[string]any)
	if got := spaced(host["PortBindings"], host["NanoCpus"], host["Memory"], host["NetworkMode"]); got !=
		"map[5201/tcp:[map[HostIp:0.0.0.0 HostPort:5201]] 5201/udp:[map[HostIp:0.0.0.0 HostPort:5201]]] 5e+08 6.7108864e+07 bridge" {
		t.Errorf("%s", got)
	}
}

// Each failure says what to do next.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		key, answer, want string
	}{
		"port in use":          {"POST /containers/c-mine-one/start", `500 {"message":"Bind for 0.0.0.0:5201 failed: port is already allocated"}`, "(5201) is in use on the node: choose another `port`"},
		"port of a process":    {"POST /containers/c-mine-one/start", `500 {"message":"listen tcp4 0.0.0.0:5201: bind: address already in use"}`, "choose another `port`"},
		"another machine's":    {"POST /containers/c-mine-one/start", `400 {"message":"OCI runtime create failed: exec format error"}`, "take one for this machine's architecture"},
		"an image not there":   {"POST /containers/create", `404 {"message":"No such image: x"}`, "name a file that `docker save` wrote"},
		"an image that ends":   {"GET /containers/c-mine-one/json", `200 {"State":{"Running":false,"ExitCode":127}}`, "exit status 127, after it said: no loader: the image may lack"},
		"too little memory":    {"GET /containers/c-mine-one/json", `200 {"State":{"Running":false,"OOMKilled":true}}`, "raise `memory`"},
		"a subnet in use":      {"POST /networks/create", `403 {"message":"Pool overlaps with other one"}`, "making the network n: Pool overlaps"},
		"an engine that dies":  {"POST /containers/create", "end", "does not answer any more: look into its log"},
		"an old engine":        {"GET /version", `200 {"Version":"1.0","ApiVersion":"1.20"}`, "use Docker 20.10 or Podman 3, or later"},
		"no engine at all":     {"GET /version", `200 hello`, "something else than was to be expected"},
		"an endless answer":    {"GET /version", "200 " + strings.Repeat("x", maxAnswer+1), "longer than"},
		"a limit that is none": {"POST /containers/create", `201 {"Id":"c-mine-one","Warnings":["Your kernel does not support memory limit capabilities. Limitation discarded."]}`, "leave `cpus` and `memory` out"},
		"no image in it":       {"POST /images/create", `200 {"error":"archive/tar: invalid tar header"}`, "making an image of"},
	} {
		t.Run(name, func(t *testing.T) {
			e, want := fakeEngine(t), server()
			want.Containers = want.Containers[:1]
			e.answers["GET /containers/c-mine-one/logs"] = "200 " + string(piece(2, "no loader"))
			e.answers[c.key] = c.answer
			if _, err := Run(context.Background(), config(t, e), want); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, not %q", err, c.want)
			}
		})
	}
}

// What is loaded has no label, and would stay with an engine that others use.
func TestOthersEnginesLoadNothing(t *testing.T) {
	e, want := fakeEngine(t), server()
	if _, err := Run(context.Background(), config(t, e), want); err == nil || !strings.Contains(err.Error(), "docker load -i") {
		t.Error(err)
	}
}

func TestSocketsThatDoNotAnswer(t *testing.T) {
	dir := t.TempDir()
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "left")})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	for socket, want := range map[string]string{"none": "there is no container engine at", "left": "start it anew"} {
		if _, _, err := Dial(context.Background(), filepath.Join(dir, socket)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
	denied := &net.OpError{Op: "dial", Err: &os.SyscallError{Syscall: "connect", Err: syscall.EACCES}}
	if err := (&Client{socket: "/s"}).explain(denied); !strings.Contains(err.Error(), "run as root, or as a user of its group") {
		t.Errorf("without a right: %v", err)
	}
}

func TestVerifyTellsWhatDiffers(t *testing.T) {
	e, want := fakeEngine(t), server()
	want.Containers = want.Containers[:1]
	r, err := Run(context.Background(), config(t, e), want)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Verify(context.Background()); err != nil {
		t.Error(err)
	}
	e.answers["GET /containers/c-mine-one/json"] = `200 {"State":{"Running":true,"Pid":42},"NetworkSettings":{"Networks":{"podman":{}}}}`
	if err := r.Verify(context.Background()); err != nil {
		t.Errorf("Podman's default network: %v", err)
	}
	for state, want := range map[string]string{
		`{"State":{"Running":true,"Pid":43}}`:                                                 "started anew",
		`{"State":{"Running":false,"ExitCode":1}}`:                                            "it has ended, exit status 1",
		`{"State":{"Running":true,"Pid":42},"NetworkSettings":{"Networks":{"elsewhere":{}}}}`: "in the networks elsewhere, not in bridge",
	} {
		e.answers["GET /containers/c-mine-one/json"] = "200 " + state
		if err := r.Verify(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
}

func TestExec(t *testing.T) {
	e, want := fakeEngine(t), server()
	want.Containers = want.Containers[:1]
	r, err := Run(context.Background(), config(t, e), want)
	if err != nil {
		t.Fatal(err)
	}
	var wrong bytes.Buffer
	s, err := r.Exec(context.Background(), "one", []string{"agent", "--worker"}, &wrong)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(s.Stdin, "hello")
	s.Stdin.Close()
	said, err := io.ReadAll(s.Stdout)
	if string(said) != "hello" || err != nil {
		t.Errorf("it said %q, %v", said, err)
	}
	if err := s.Wait(); err == nil || err.Error() != "exit status 3" || wrong.String() != "hello" {
		t.Errorf("it ended with %v and said %q", err, wrong.String())
	}
	if got := fmt.Sprint(e.body(t, "POST /containers/c-mine-one/exec")["Cmd"]); got != "[/windtunnel agent --worker]" {
		t.Errorf("it was to run %s", got)
	}
}

func TestStreamsOfStrangers(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"short":                     "unexpected EOF",
		string(piece(7, "x")):       "a stream 7",
		string(piece(1, "xyz"))[:9]: "EOF",
	} {
		err := split(strings.NewReader(text), io.Discard, io.Discard)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, not %q", text, err, want)
		}
	}
}

func TestRemoveGoesByTheLabel(t *testing.T) {
	e := fakeEngine(t)
	e.answers["GET /containers/json"] = `200 [{"Id":"one"},{"Id":"two"}]`
	e.answers["GET /networks"] = `200 [{"Id":"net"}]`
	e.answers["GET /images/json"] = `200 []`
	e.answers["DELETE /containers/two"] = `404 {"message":"no such container"}`
	said, err := Remove(context.Background(), e.socket, "L")
	if err != nil || len(said) != 3 || !slices.Contains(e.asked, "DELETE /containers/one") || !slices.Contains(e.asked, "DELETE /networks/net") {
		t.Errorf("%q, %v, asked %q", said, err, e.asked)
	}
	e.answers["DELETE /networks/net"] = `403 {"message":"network net has active endpoints"}`
	if _, err := Remove(context.Background(), e.socket, "L"); err == nil || !strings.Contains(err.Error(), "active endpoints") {
		t.Errorf("%v", err)
	}
}

func TestCgroupsAreRemovedFromEveryTree(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"cpu/windtunnel-1/x/y", "memory/windtunnel-1", "windtunnel-1/z", "cpu/windtunnel-2", "cpu/docker"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if there, err := removeCgroups(root, "/windtunnel-1"); err != nil || !there {
		t.Errorf("%v, %v", there, err)
	}
	var left []string
	_ = filepath.WalkDir(root, func(path string, _ fs.DirEntry, _ error) error {
		left = append(left, strings.TrimPrefix(path, root))
		return nil
	})
	if fmt.Sprint(left) != "[ /cpu /cpu/docker /cpu/windtunnel-2 /memory]" {
		t.Errorf("left %v", left)
	}
	if there, err := removeCgroups(root, "/windtunnel-1"); err != nil || there {
		t.Errorf("again: %v, %v", there, err)
	}
	for _, name := range []string{"/docker", "", "/windtunnel-1/../docker"} {
		if _, err := removeCgroups(root, name); err == nil {
			t.Errorf("%q is none of ours", name)
		}
	}
}

func TestVersionsAreCompared(t *testing.T) {
	for _, c := range [][2]string{{"1.41", "1.9"}, {"2.0", "1.99"}, {"1.41", "nonsense"}} {
		if !newer(c[0], c[1]) || newer(c[1], c[0]) {
			t.Errorf("%s is newer than %s", c[0], c[1])
		}
	}
}

func spaced(all ...any) string { return strings.TrimSpace(fmt.Sprintln(all...)) }

// TestNothingIsMadeUnnoted: what cannot be noted would be forgotten, and what does not answer has nothing to note.
func TestNothingIsMadeUnnoted(t *testing.T) {
	e := fakeEngine(t)
	c := config(t, e)
	full := errors.New("the disk is full")
	if found, _, err := Learn(context.Background(), c, func() error { return full }); !errors.Is(err, full) || found.Version != "" {
		t.Errorf("%+v, %v", found, err)
	}
	if !slices.Equal(e.asked, []string{"GET /version"}) {
		t.Errorf("asked %v", e.asked)
	}
	c.Socket = filepath.Join(t.TempDir(), "s")
	note := func() error { t.Error("noted, of an engine that does not answer"); return nil }
	if _, _, err := Learn(context.Background(), c, note); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestAnEngineIsLearnt by one container, which goes, and an image, which stays for the containers to come.
func TestAnEngineIsLearnt(t *testing.T) {
	e := fakeEngine(t)
	c := config(t, e)
	c.Processes = t.TempDir()
	proxy := filepath.Join(c.Processes, "7")
	if err := os.Mkdir(proxy, 0o700); err != nil {
		t.Fatal(err)
	}
	line := "/usr/sbin/docker-proxy\x00-proto\x00tcp\x00-host-ip\x00127.0.0.1\x00-host-port\x0049153\x00-container-ip\x00172.17.0.2\x00"
	if err := os.WriteFile(filepath.Join(proxy, "cmdline"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	noted := 0
	note := func() error { noted++; return nil }
	e.answers["GET /networks/bridge"] = `200 {"Options":{"com.docker.network.driver.mtu":"1450"}}`
	for port, want := range map[string]string{"49153": testbed.ProxyOn, "49154": testbed.ProxyOff} {
		e.answers["GET /containers/c-mine-try/json"] = `200 {"State":{"Running":true,"Pid":42},"NetworkSettings":{"Ports":{"1/tcp":[{"HostIp":"127.0.0.1","HostPort":"` + port + `"}]}}}`
		found, image, err := Learn(context.Background(), c, note)
		if err != nil {
			t.Fatal(err)
		}
		if found != (testbed.HostEngine{Socket: e.socket, Version: "20.10.24, API 1.41", Proxy: want, MTU: 1450}) || image != "mine-windtunnel" {
			t.Errorf("%+v, %s", found, image)
		}
	}
	if !slices.Contains(e.asked, "DELETE /containers/c-mine-try") {
		t.Errorf("asked %v", e.asked)
	}
	if noted != 2 {
		t.Errorf("it was noted %d times, for 2 looks", noted)
	}
	e.answers["GET /networks/bridge"] = `404 {"message":"no such network"}` // Podman's
	if found, _, err := Learn(context.Background(), c, note); err != nil || found.MTU != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	e.answers["POST /containers/c-mine-try/start"] = `500 {"message":"OCI runtime create failed"}`
	if found, _, err := Learn(context.Background(), c, note); err == nil || found.Version == "" || !strings.Contains(err.Error(), "the image cannot run our program") {
		t.Errorf("%+v, %v", found, err)
	}
	imported := len(slices.DeleteFunc(slices.Clone(e.asked), func(key string) bool { return key != "POST /images/create" }))
	want := server()
	want.Containers, c.Image = want.Containers[:1], "mine-windtunnel"
	if _, err := Run(context.Background(), c, want); err != nil {
		t.Fatal(err)
	}
	if again := len(slices.DeleteFunc(slices.Clone(e.asked), func(key string) bool { return key != "POST /images/create" })); again != imported {
		t.Error("an image that is there was made again")
	}
}

func TestProxiesAreFound(t *testing.T) {
	processes := t.TempDir()
	for pid, line := range map[string]string{"42": "/usr/bin/docker-proxy -proto tcp -host-port 5201", "43": "/usr/bin/docker-proxy -host-port 80", "44": "sh -host-port 5201"} {
		folder := filepath.Join(processes, pid)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "cmdline"), []byte(strings.ReplaceAll(line, " ", "\x00")+"\x00"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := proxies(processes, []int{5201})
	if len(found) != 1 || found[0].PID != 42 || !strings.Contains(found[0].Line, "-host-port 5201") {
		t.Errorf("%+v", found)
	}
}
