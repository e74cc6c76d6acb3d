package command

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"windtunnel/traffic/iperf3"
)

func keep(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPidfile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pid")
	remove, err := writePidfile(name)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(name); string(text) != strconv.Itoa(os.Getpid()) {
		t.Errorf("it holds %q, want %d", text, os.Getpid())
	}
	remove()
	if _, err := os.Stat(name); err == nil {
		t.Error("it is still there")
	}
	if _, err := writePidfile(keep(t, "other", strconv.Itoa(os.Getppid())+"\n")); err == nil {
		t.Error("the file of a living process was written over")
	}
	remove, err = writePidfile(keep(t, "dead", "999999999"))
	if err != nil {
		t.Errorf("a dead process's file: %v", err)
	} else {
		remove()
	}
	if _, err := writePidfile(filepath.Join(t.TempDir(), "no", "such")); err == nil {
		t.Error("no error for a folder that is not there")
	}
}

func TestLogfileTakesEverything(t *testing.T) {
	log := keep(t, "log", "before\n")
	var out, errs bytes.Buffer
	e := plays(scene{fails: iperf3.ErrAccessDenied})
	if code := e.command(t.Context(), []string{"-c", "h", "--logfile", log}, nil, &out, &errs, nil); code != exitFailed || out.Len()+errs.Len() > 0 {
		t.Errorf("exit %d, %q, %q", code, out.String(), errs.String())
	}
	if text, _ := os.ReadFile(log); string(text) != "before\niperf3: error - the server is busy running a test. try again later\n" {
		t.Errorf("the log holds %q", text)
	}
	if code := e.command(t.Context(), []string{"-c", "h", "--logfile", filepath.Join(log, "x")}, nil, &out, &errs, nil); code != exitFailed || !strings.Contains(errs.String(), "unable to open log file") {
		t.Errorf("exit %d, %q", code, errs.String())
	}
}

func pems(t *testing.T) (private, public string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	return keep(t, "private.pem", block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))), keep(t, "public.pem", block("PUBLIC KEY", der))
}

// TestAuthentication has the keys, users and password reach the engine.
func TestAuthentication(t *testing.T) {
	private, public := pems(t)
	users := keep(t, "users", "# name,hash\nmario,"+strings.Repeat("ab", 32)+"\n")
	var asked iperf3.Options
	var served iperf3.ServerOptions
	e := engine{
		run: func(_ context.Context, o iperf3.Options, _ iperf3.Observer) error { asked = o; return nil },
		serve: func(_ context.Context, o iperf3.ServerOptions, _ func(uint64, string) iperf3.Observer) error {
			served = o
			return nil
		},
	}
	fromEnvironment := func(name string) string { return map[string]string{"IPERF3_PASSWORD": "rossi"}[name] }
	nothing := func(string) string { return "" }
	run := func(args string, in io.Reader, environment func(string) string) (int, string) {
		var errs bytes.Buffer
		code := e.command(t.Context(), strings.Fields(args), in, io.Discard, &errs, environment)
		return code, errs.String()
	}
	client := fmt.Sprintf("-c h --username mario --rsa-public-key-path %s", public)
	if code, errs := run(client, nil, fromEnvironment); code != exitDone || asked.Password != "rossi" || asked.PublicKey == nil || errs != "" {
		t.Errorf("exit %d, %+v, %s", code, asked, errs)
	}
	if code, errs := run(client, strings.NewReader("typed\r\n"), nothing); code != exitDone || asked.Password != "typed" || errs != "Password: " {
		t.Errorf("exit %d, password %q, %s", code, asked.Password, errs)
	}
	if code, errs := run(client, strings.NewReader(""), nothing); code != exitFailed || !strings.Contains(errs, "IPERF3_PASSWORD") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if code, errs := run(fmt.Sprintf("-s --rsa-private-key-path %s --authorized-users-path %s", private, users), nil, nothing); code != exitDone || served.PrivateKey == nil || len(served.Users) != 1 {
		t.Errorf("exit %d, %+v, %s", code, served, errs)
	}
	for _, broken := range []string{
		fmt.Sprintf("-s --rsa-private-key-path %s --authorized-users-path %s", private, keep(t, "empty", "# nobody\n")),
		fmt.Sprintf("-s --rsa-private-key-path %s --authorized-users-path %s", users, users),
		fmt.Sprintf("-s --rsa-private-key-path %s --authorized-users-path %s", private, private+"-not"),
		fmt.Sprintf("-c h --username mario --rsa-public-key-path %s", users),
	} {
		if code, errs := run(broken, nil, fromEnvironment); code != exitFailed || !strings.Contains(errs, "-path: ") {
			t.Errorf("%s: exit %d, %s", broken, code, errs)
		}
	}
}

func TestPasswordEndsWithTheContext(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	silent, never := io.Pipe()
	defer never.Close()
	if _, err := askPassword(ctx, silent, io.Discard, func(string) string { return "" }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// TestDebugKeepsSecrets shows options and events, but no password.
func TestDebugKeepsSecrets(t *testing.T) {
	_, public := pems(t)
	var errs bytes.Buffer
	code := plays(newScene(false, iperf3.UDP, reverse, 1)).command(t.Context(), []string{"-c", "h", "-d", "-u", "-R", "--username", "mario", "--rsa-public-key-path", public},
		nil, io.Discard, &errs, func(string) string { return "geheim" })
	for _, want := range []string{"debug: asked for", "debug: connected", "debug: interval", "debug: ended", "mario"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("no %q on stderr", want)
		}
	}
	var less bytes.Buffer
	plays(newScene(false, iperf3.TCP, forward, 1)).command(t.Context(), []string{"-c", "h", "--debug=3"}, nil, io.Discard, &less, nil)
	if strings.Contains(less.String(), "debug: interval") || !strings.Contains(less.String(), "debug: ended") {
		t.Errorf("level 3 has events without intervals, not\n%s", less.String())
	}
	if strings.Contains(errs.String(), "geheim") || code != exitDone {
		t.Errorf("exit %d, and the password was shown: %s", code, errs.String())
	}
}

// TestUsersAreReadAnew for each client, and those of before count while that fails.
func TestUsersAreReadAnew(t *testing.T) {
	s := &settings{users: filepath.Join(t.TempDir(), "users")}
	none := strings.Repeat("0", 64)
	write := func(text string) {
		if err := os.WriteFile(s.users, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var warned bytes.Buffer
	read := s.readUsers(func(format string, args ...any) { fmt.Fprintf(&warned, format, args...) })
	for _, c := range []struct {
		text, user string
		warns      bool
	}{{"mario," + none + "\n", "mario", false}, {"mario," + none + "\nluigi,12", "mario", true}, {"luigi," + none + "\n", "luigi", false},
		{"", "", true}, {"luigi,12", "", true}, {"# luigi," + none + "\n", "", true}} { // whom nobody names may not test, nor be remembered
		write(c.text)
		warned.Reset()
		users, err := read()
		if err != nil || len(users) != min(1, len(c.user)) || c.user != "" && len(users[c.user]) != 1 || (warned.Len() > 0) != c.warns {
			t.Errorf("%q: %v, %v, %q", c.text, users, err, warned.String())
		}
	}
	write("mario," + none + "\n")
	if users, err := read(); err != nil || len(users) != 1 {
		t.Fatal(users, err)
	}
	if err := os.Remove(s.users); err != nil {
		t.Fatal(err)
	}
	if users, err := read(); err != nil || len(users) != 0 {
		t.Errorf("a file that is not there: %v, %v", users, err)
	}
}

// TestALogOfJSONHoldsNothingElse: warnings go elsewhere, and errors are JSON.
func TestALogOfJSONHoldsNothingElse(t *testing.T) {
	for _, flags := range [][]string{{"-J"}, {"--json-stream"}} {
		log := filepath.Join(t.TempDir(), "log")
		var out, errs bytes.Buffer
		s, _, err := parse(append([]string{"-s", "--logfile", log}, flags...))
		if err != nil {
			t.Fatal(err)
		}
		refuses := func(_ context.Context, o iperf3.ServerOptions, _ func(uint64, string) iperf3.Observer) error {
			o.Refused("192.0.2.1:5", errors.New("waiting for a cookie: EOF"))
			return errors.New("no more sockets")
		}
		if code := s.run(t.Context(), engine{serve: refuses}, &out, &errs); code != exitFailed || out.Len()+errs.Len() > 0 {
			t.Errorf("%v: exit %d, %q, %q", flags, code, out.String(), errs.String())
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		decoder, values := json.NewDecoder(bytes.NewReader(text)), 0
		for ; decoder.More(); values++ {
			var value map[string]any
			if err := decoder.Decode(&value); err != nil {
				t.Fatalf("%v: %v in %q", flags, err, text)
			}
		}
		if values != 2 || !bytes.Contains(text, []byte("the client 192.0.2.1:5 was turned away")) || !bytes.Contains(text, []byte("no more sockets")) {
			t.Errorf("%v: %d values in %q", flags, values, text)
		}
	}
}

// full is a disk that is.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestWhatCannotBeWrittenIsAFailure, of which the caller is told; not where the reader has gone.
func TestWhatCannotBeWrittenIsAFailure(t *testing.T) {
	var errs bytes.Buffer
	if code := plays(scene{}).command(t.Context(), []string{"-c", "h"}, nil, full{}, &errs, nil); code != exitFailed || !strings.Contains(errs.String(), "not all of the output could be written: no space left on device") {
		t.Errorf("exit %d, %q", code, errs.String())
	}
}

// untilRead is a pipe that is full until somebody reads it.
type untilRead chan struct{}

func (u untilRead) Write(p []byte) (int, error) {
	<-u
	return len(p), nil
}

// TestASlowReaderOfJSONHoldsNoClientUp: a script that starts a server reads its object when the client is done.
func TestASlowReaderOfJSONHoldsNoClientUp(t *testing.T) {
	reads, play := make(untilRead), newScene(true, iperf3.TCP, forward, 1)
	e := engine{serve: func(_ context.Context, o iperf3.ServerOptions, observe func(uint64, string) iperf3.Observer) error {
		o.Ready("[::]:5201")
		told := make(chan error, 1)
		go func() { told <- play.play(observe(1, "192.0.2.2:40000")) }()
		select {
		case <-told:
		case <-time.After(10 * time.Second):
			t.Error("the client is held up until somebody reads")
		}
		close(reads)
		return nil
	}}
	if code := e.command(t.Context(), []string{"-s", "-J"}, nil, reads, io.Discard, nil); code != exitDone {
		t.Errorf("exit %d", code)
	}
}
