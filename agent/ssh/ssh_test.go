package ssh

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	hosts, err := Parse("a=ssh://root@h1,b=ssh://root@[fd00::2]:2222?data=10.0.0.2&dir=/opt/x&engine=/run/podman/podman.sock")
	if err != nil {
		t.Fatal(err)
	}
	want := []Host{{Node: "a", User: "root", Name: "h1", Dir: defaultDir},
		{Node: "b", User: "root", Name: "fd00::2", Port: 2222, Data: netip.MustParseAddr("10.0.0.2"), Dir: "/opt/x", Engine: "/run/podman/podman.sock"}}
	if len(hosts) != 2 || hosts[0] != want[0] || hosts[1] != want[1] {
		t.Errorf("%+v", hosts)
	}
	command := strings.Join(hosts[1].Command("echo 'it'"), " ")
	if !strings.HasPrefix(command, "ssh -T -o BatchMode=yes ") || !strings.HasSuffix(command, ` -l root -p 2222 -- fd00::2 sh -c 'echo '\''it'\'''`) {
		t.Errorf("the command is %s", command)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"":                                    "write NODE=ssh://",
		"a":                                   "write NODE=ssh://",
		"a=http://h1":                         "write NODE=ssh://",
		"a=ssh://":                            "no host's name",
		"a=ssh://-oProxyCommand=x":            "no host's name",
		"a=ssh://-x@h1":                       "no host's name",
		"a=ssh://root:secret@h1":              "use a key",
		"a=ssh://h1/path":                     "write NODE=ssh://",
		"a=ssh://h1?data=h2":                  "no IPv4 address",
		"a=ssh://h1?data=fd00::1":             "no IPv4 address",
		"a=ssh://h1?dir=relative":             "no folder",
		"a=ssh://h1?engine=docker.sock":       "no socket",
		"a=ssh://h1?dir=/a/../../etc":         "no folder",
		"a=ssh://h1?dir=/a;reboot":            "semicolon",
		"a=ssh://h1?dir=/a%20b":               "no folder",
		"a=ssh://h1?nope=1":                   "there is no nope=",
		"a=ssh://h1,a=ssh://h2":               "named twice",
		"a=ssh://h1:0":                        "no port",
		strings.Repeat("x", 99) + "=ssh://h1": "write NODE=ssh://",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzParse: whatever is taken makes a command line whose host is no option.
func FuzzParse(f *testing.F) {
	f.Add("a=ssh://root@h1:22?data=10.0.0.1,b=ssh://h2")
	f.Fuzz(func(t *testing.T, text string) {
		hosts, err := Parse(text)
		if err != nil {
			return
		}
		for _, h := range hosts {
			c := h.Command("true")
			if name := c[len(c)-2]; c[len(c)-3] != "--" || name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(h.Dir, " ;'$`\n") {
				t.Errorf("%q makes %q in %q", text, c, h.Dir)
			}
		}
	})
}

// pretend puts a program ssh on the PATH which runs the line here, with these lines of a shell first.
func pretend(t *testing.T, first string) {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\n" + first + "\nwhile [ \"$1\" != -- ]; do shift; done\neval \"$3\"\n"
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestBring(t *testing.T) {
	pretend(t, "echo a line of somebody\\'s .profile")
	dir := t.TempDir()
	h := Host{Node: "a", Name: "h1", Dir: filepath.Join(dir, "there")}
	file := filepath.Join(dir, "program")
	if err := os.WriteFile(file, []byte("#!/bin/sh\necho started\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	programs := []Program{{"one", file}, {"two", file}}
	folder, err := h.Bring(context.Background(), programs)
	if err != nil {
		t.Fatal(err)
	}
	brought := filepath.Join(folder, "two")
	if said, err := h.Run(context.Background(), brought, nil); err != nil || !strings.HasSuffix(said, "started\n") {
		t.Errorf("%q, %v", said, err)
	}
	info, _ := os.Stat(brought)
	if again, err := h.Bring(context.Background(), programs); err != nil || again != folder {
		t.Errorf("%s, %v", again, err)
	}
	if now, _ := os.Stat(brought); !now.ModTime().Equal(info.ModTime()) {
		t.Error("what was there already was brought again")
	}
	if err := os.WriteFile(brought, []byte("another"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Bring(context.Background(), programs); err != nil {
		t.Error(err)
	}
	if text, _ := os.ReadFile(brought); !strings.Contains(string(text), "started") {
		t.Errorf("a damaged program stays: %q", text)
	}
	if entries, _ := os.ReadDir(h.Dir); len(entries) != 1 {
		t.Errorf("%v are left", entries)
	}
}

// TestBringDamaged damages what arrives: nothing stays.
func TestBringDamaged(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "program")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := Host{Node: "a", Name: "h1", Dir: filepath.Join(dir, "there")}
	pretend(t, "")
	tar := filepath.Join(dir, "tar")
	if err := os.WriteFile(tar, []byte("#!/bin/sh\nfor last; do :; done\necho damaged >\"$last/one\"\ncat >/dev/null\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	if _, err := h.Bring(context.Background(), []Program{{"one", file}}); err == nil || !strings.Contains(err.Error(), "bringing programs") {
		t.Errorf("%v", err)
	}
	if entries, _ := os.ReadDir(h.Dir); len(entries) != 0 {
		t.Errorf("%v are left", entries)
	}
}

func TestLook(t *testing.T) {
	for _, c := range []struct{ does, says string }{
		{"echo Linux; echo x86_64; echo 0; exit", ""},
		{"echo Linux; echo x86_64; echo 1000; exit", "no root"},
		{"echo Linux; echo s390x; echo 0; exit", "architecture \"s390x\""},
		{"echo Darwin; echo arm64; echo 0; exit", "no Linux"},
		{"echo 'uname: not recognized' >&2; exit 1", "exit code 1"},
		{"head -c 100000 /dev/zero | tr '\\0' x; exit", "no Linux"},
		{"echo 'root@h1: Permission denied (publickey).' >&2; exit 255", "none of your keys"},
		{"echo 'ssh: connect to host h1 port 22: Connection timed out' >&2; exit 255", "cannot be reached"},
		{"echo 'Host key verification failed.' >&2; exit 255", "host key is not known"},
		{"echo '@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @' >&2; exit 255", "not the one that is known"},
		{"echo 'something new' >&2; exit 255", "something new"},
	} {
		pretend(t, c.does)
		architecture, err := Host{Node: "a", User: "root", Name: "h1"}.Look(context.Background())
		if c.says == "" && (err != nil || architecture != "amd64") || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %s, %v", c.does, architecture, err)
		}
		if err != nil && len(err.Error()) > maxSaid+500 {
			t.Errorf("%s: a message of %d bytes", c.does, len(err.Error()))
		}
	}
}

// TestRunEnds: a host that neither answers nor ends costs its time, and no more.
func TestRunEnds(t *testing.T) {
	pretend(t, "exec sleep 60")
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := (Host{Name: "h1"}).Run(ctx, "true", nil); err == nil || !strings.Contains(err.Error(), "did not answer in time") || time.Since(began) > 10*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}
