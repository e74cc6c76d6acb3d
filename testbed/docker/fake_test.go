package docker

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// engine is a fake one: it takes down what it is asked, and answers as it is told to.
type engine struct {
	socket string

	mu      sync.Mutex
	asked   []string          // METHOD /path, without the version
	bodies  map[string]string // by the same
	answers map[string]string // by the same: what is answered instead, "STATUS body", or "end" to hang up
	running string            // the JSON of a container's state
}

const stateUp = `{"State":{"Running":true,"Pid":42},"NetworkSettings":{"Networks":{"bridge":{"IPAddress":"172.17.0.2","IPPrefixLen":16,"Gateway":"172.17.0.1"}}}}`

func fakeEngine(t *testing.T) *engine {
	t.Helper()
	dir, err := os.MkdirTemp("", "engine") // shorter than a test's own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	e := &engine{socket: filepath.Join(dir, "s"), bodies: map[string]string{}, answers: map[string]string{}, running: stateUp}
	listener, err := net.Listen("unix", e.socket)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(e)
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return e
}

// ServeHTTP answers as an engine does that has everything.
func (e *engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/v1.41")
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	e.asked = append(e.asked, key)
	e.bodies[key] = string(body)
	answer, told := e.answers[key]
	e.mu.Unlock()
	if told {
		if answer == "end" {
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Close()
			return
		}
		var status int
		fmt.Sscan(answer, &status)
		w.WriteHeader(status)
		io.WriteString(w, answer[4:])
		return
	}
	switch {
	case key == "GET /version":
		io.WriteString(w, `{"Version":"20.10.24","ApiVersion":"1.41","MinAPIVersion":"1.12"}`)
	case key == "POST /containers/create":
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"Id":"c-`+r.URL.Query().Get("name")+`"}`)
	case strings.HasSuffix(key, "/json") && strings.HasPrefix(key, "GET /containers/c-"):
		io.WriteString(w, e.running)
	case strings.HasSuffix(key, "/exec"):
		io.WriteString(w, `{"Id":"e1"}`)
	case key == "POST /exec/e1/start":
		echo(w)
	case key == "GET /exec/e1/json":
		io.WriteString(w, `{"Running":false,"ExitCode":3}`)
	case key == "POST /images/load":
		io.WriteString(w, `{"stream":"Loaded image: theirs:1\n"}`)
	case key == "GET /info":
		io.WriteString(w, `{"Driver":"overlay2","CgroupDriver":"cgroupfs","CgroupVersion":"1","SecurityOptions":["name=seccomp"]}`)
	}
}

// echo says on both outputs what it is given, until that ends.
func echo(w http.ResponseWriter) {
	conn, both, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	io.WriteString(conn, "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
	given, _ := io.ReadAll(both)
	for stream := byte(1); stream <= 2; stream++ {
		conn.Write(piece(stream, string(given)))
	}
}

func piece(stream byte, text string) []byte {
	header := make([]byte, 8)
	header[0] = stream
	binary.BigEndian.PutUint32(header[4:], uint32(len(text)))
	return append(header, text...)
}

// body is what was sent with a request.
func (e *engine) body(t *testing.T, key string) (ask map[string]any) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := json.Unmarshal([]byte(e.bodies[key]), &ask); err != nil {
		t.Fatalf("%s had %q: %v", key, e.bodies[key], err)
	}
	return ask
}
