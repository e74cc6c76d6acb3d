package frame

import (
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/traffic"
)

// asNobody runs something as an ordinary user.
func asNobody(t *testing.T, do func() error) error {
	t.Helper()
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // its user is changed for ever
		const nobody = 65534
		if unix.Geteuid() == 0 {
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
				failed <- errno
				return
			}
		}
		failed <- do()
	}()
	return <-failed
}

// TestPrivilegeIsAskedForOnce, whatever was tried in turn: an ordinary user was told of root three times.
func TestPrivilegeIsAskedForOnce(t *testing.T) {
	ln := testListener(t)
	for name, order := range map[string]traffic.Order{
		"a receiver":                  {Role: traffic.Receive, Address: "127.0.0.1"},
		"a receiver at tc":            {Role: traffic.Receive, Address: "127.0.0.1", Load: result.Options{"sink": "tc"}},
		"a receiver by AF_PACKET":     {Role: traffic.Receive, Address: "127.0.0.1", Load: result.Options{"sink": "af-packet"}},
		"a sender, over the loopback": {Role: traffic.Send, Address: ln.door.Address().String()},
	} {
		err := asNobody(t, func() error {
			w, err := Kind{}.Prepare(t.Context(), order)
			if err == nil {
				w.Close()
			}
			return err
		})
		if err == nil || strings.Count(err.Error(), "root") != 1 || !strings.HasSuffix(err.Error(), "in the endpoint's namespace") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAMethodThatLacksPrivilegeSaysSoOnce: live frames need more of it than an AF_PACKET socket.
func TestAMethodThatLacksPrivilegeSaysSoOnce(t *testing.T) {
	w := &sendWorker{load: load{sizes: mix{64}, flows: 1, threads: 1, method: byXDP}, header: testHeader(four, 40000, 7, 64, false)}
	err := asNobody(t, func() error { return w.pick(t.Context()) })
	if err == nil || strings.Count(err.Error(), "root") != 1 || !strings.Contains(err.Error(), "CAP_PERFMON") {
		t.Error(err)
	}
	err = asNobody(t, func() error {
		_, err := Kind{}.Calibrate(t.Context(), nil, nil)
		return err
	})
	if err == nil || strings.Contains(err.Error(), "root") {
		t.Errorf("whoever calibrates goes on, and is told then: %v", err)
	}
}
