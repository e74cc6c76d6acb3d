//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"windtunnel/traffic/iperf3"
)

// iperf3Keys makes the keys and users of an authentication with openssl.
func iperf3Keys(t testing.TB) (private, public, users string) {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not on the PATH")
	}
	dir := t.TempDir()
	private, public, users = filepath.Join(dir, "private.pem"), filepath.Join(dir, "public.pem"), filepath.Join(dir, "users.csv")
	for _, line := range []string{
		"openssl genrsa -out " + private + " 2048",
		"openssl rsa -in " + private + " -outform PEM -pubout -out " + public,
	} {
		if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	// SHA-256 of "{mario}rossi", as iperf3's manual has it.
	os.WriteFile(users, []byte("# users\nmario,bf7a49a846d44b454a5d11e7acfaf13d138bbe0b7483aa3e050879700572709b\n"), 0o600)
	return private, public, users
}

func TestIperf3Authentication(t *testing.T) {
	besideOthers(t)
	eachIperf3(t, func(t *testing.T, program string) {
		if features, err := exec.Command(program, "--version").Output(); err != nil {
			t.Fatal(err)
		} else if !strings.Contains(string(features), "authentication") {
			t.Skipf("%s was built without OpenSSL, and so without authentication", program)
		}
		private, public, users := iperf3Keys(t)
		old := !speaksOAEP(t, program)
		t.Run("their client", func(t *testing.T) { authenticateTheirs(t, program, private, public, users, old) })
		t.Run("their server", func(t *testing.T) { authenticateOurs(t, program, private, public, users, old) })
	})
}

// speaksOAEP tells whether a program has today's padding, which came with 3.17; one before speaks the old one alone, under
// whatever name it is on the PATH.
func speaksOAEP(t testing.TB, program string) bool {
	t.Helper()
	out, err := exec.Command(program, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(out), "iperf %d.%d", &major, &minor); err != nil {
		t.Fatalf("%s does not say its version: %v: %s", program, err, out)
	}
	return major > 3 || major == 3 && minor >= 17
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func authenticateTheirs(t testing.TB, program, private, public, users string, old bool) {
	key, err := iperf3.ParsePrivateKey(read(t, private))
	if err != nil {
		t.Fatal(err)
	}
	known, err := iperf3.ParseUsers(read(t, users))
	if err != nil {
		t.Fatal(err)
	}
	port, sessions := ourIperf3(t, iperf3.ServerOptions{PrivateKey: key, Users: known, PKCS1Padding: old})
	flags := "-n 1M --username mario --rsa-public-key-path " + public
	agreeWithIperf3(t, theirClient(t, program, "127.0.0.1", port, flags, "IPERF3_PASSWORD=rossi"), (<-sessions).result(t), 0)

	cmd := exec.Command(program, append([]string{"-c", "127.0.0.1", "-p", port, "-J"}, strings.Fields(flags)...)...)
	cmd.Env = append(os.Environ(), "IPERF3_PASSWORD=verdi")
	out, _ := cmd.Output()
	if report := decodeIperf3(t, out); !strings.Contains(report.Error, "authorization") {
		t.Errorf("a wrong password: %q", report.Error)
	}
	if s := <-sessions; s.refusal(t) == nil {
		t.Error("our server let a wrong password in")
	}
}

// refusal waits for a session's failure.
func (s *seen) refusal(t testing.TB) error {
	t.Helper()
	select {
	case <-s.over:
	case <-time.After(20 * time.Second):
		t.Fatal("the session did not end")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

func authenticateOurs(t testing.TB, program, private, public, users string, old bool) {
	key, err := iperf3.ParsePublicKey(read(t, public))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		password string
		ok       bool
	}{{"rossi", true}, {"verdi", false}} {
		port, wait := theirServer(t, program, "--rsa-private-key-path", private, "--authorized-users-path", users)
		o := iperf3.Options{Host: "127.0.0.1", Port: port, Bytes: 1 << 20, Username: "mario", Password: c.password, PublicKey: key, PKCS1Padding: old}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		mine := newSeen()
		err := iperf3.Run(ctx, o, mine)
		cancel()
		var refused *iperf3.ServerError
		if (err == nil) != c.ok || !c.ok && !(errors.As(err, &refused) && refused.Number == iperf3.ErrorAuth) && !errors.Is(err, iperf3.ErrControlClosedUnsaid) {
			t.Errorf("password %q: %v", c.password, err)
		}
		if c.ok { // it goes on listening after a client that it did not let in
			wait()
		}
	}
}
