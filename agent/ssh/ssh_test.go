package ssh

import (
	"context"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
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
		{Node: "b", User: "root", Name: "fd00::2", Port: 2222, Data: addresses("10.0.0.2"), Dir: "/opt/x", Engine: "/run/podman/podman.sock"}}
	if !reflect.DeepEqual(hosts, want) {
		t.Errorf("%+v", hosts)
	}
	command := strings.Join(hosts[1].Command("echo 'it'"), " ")
	if !strings.HasPrefix(command, "ssh -T -o BatchMode=yes ") || !strings.HasSuffix(command, ` -l root -p 2222 -- fd00::2 sh -c 'echo '\''it'\'''`) {
		t.Errorf("the command is %s", command)
	}
}

func addresses(texts ...string) (all []netip.Addr) {
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

// TestSeveralDataAddresses: with a plus sign, or one after the other; an agent is told each.
func TestSeveralDataAddresses(t *testing.T) {
	for _, text := range []string{"a=ssh://h1?data=10.0.0.2+10.1.0.2", "a=ssh://h1?data=10.0.0.2%2010.1.0.2&dir=/x", "a=ssh://h1?data=10.0.0.2&data=10.1.0.2"} {
		hosts, err := Parse(text)
		if err != nil || !reflect.DeepEqual(hosts[0].Data, addresses("10.0.0.2", "10.1.0.2")) {
			t.Errorf("%s: %+v, %v", text, hosts, err)
			continue
		}
		line := strings.Join(hosts[0].Agent("/x/y", "w", addresses("10.0.0.1", "10.1.0.1")), " ")
		if !strings.Contains(line, "--data 10.0.0.2 --data 10.1.0.2 --toward 10.0.0.1 --toward 10.1.0.1") {
			t.Errorf("%s: %s", text, line)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"":                                  "write NODE=ssh://",
		"a":                                 "write NODE=ssh://",
		"a=http://h1":                       "write NODE=ssh://",
		"a=ssh://":                          "no host's name",
		"a=ssh://-oProxyCommand=x":          "no host's name",
		"a=ssh://-x@h1":                     "no host's name",
		"a=ssh://root:secret@h1":            "use a key",
		"a=ssh://h1/path":                   "write NODE=ssh://",
		"a=ssh://h1?data=h2":                "no IPv4 address",
		"a=ssh://h1?data=fd00::1":           "no IPv4 address",
		"a=ssh://h1?data=10.0.0.2+":         "data=10.0.0.2+: \"\" is no IPv4 address",
		"a=ssh://h1?data=10.0.0.2+10.0.0.2": "names 10.0.0.2 twice",
		"a=ssh://h1?data=10.0.0.2+h2":       `"h2" is no IPv4 address`,
		"a=ssh://h1?data=1.0.0.1+1.0.0.2+1.0.0.3+1.0.0.4+1.0.0.5+1.0.0.6+1.0.0.7+1.0.0.8+1.0.0.9": "more than 8 addresses",
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
		{"echo Darwin; echo s390x; echo 501; exit", "architecture \"s390x\""},
		{"echo MINGW64_NT-10.0; echo x86_64; echo 197609; exit", "DefaultShell"},
		{"echo FreeBSD; echo amd64; echo 0; exit", "no Linux"},
		{"echo 'uname: not recognized' >&2; exit 1", "exit code 1"},
		{"head -c 100000 /dev/zero | tr '\\0' x; exit", "no Linux"},
		{"echo 'root@h1: Permission denied (publickey).' >&2; exit 255", "none of your keys"},
		{"echo 'ssh: connect to host h1 port 22: Connection timed out' >&2; exit 255", "cannot be reached"},
		{"echo 'Host key verification failed.' >&2; exit 255", "host key is not known"},
		{"echo '@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @' >&2; exit 255", "not the one that is known"},
		{"echo 'something new' >&2; exit 255", "something new"},
	} {
		pretend(t, c.does)
		system, err := Host{Node: "a", User: "root", Name: "h1"}.Look(context.Background())
		if c.says == "" && (err != nil || system != System{"linux", "amd64"}) || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %+v, %v", c.does, system, err)
		}
		if err != nil && len(err.Error()) > maxSaid+500 {
			t.Errorf("%s: a message of %d bytes", c.does, len(err.Error()))
		}
	}
}

// pretendWindows puts a program ssh on the PATH that runs a line as cmd.exe might, and serves files by the system's own server.
func pretendWindows(t *testing.T, home, program string) {
	t.Helper()
	server := "/usr/lib/openssh/sftp-server"
	if _, err := os.Stat(server); err != nil {
		t.Skip("needs sftp-server: apt-get install openssh-server")
	}
	if _, err := exec.LookPath("sftp"); err != nil {
		t.Skip("needs sftp: apt-get install openssh-client")
	}
	dir := t.TempDir()
	script := `#!/bin/sh
cd ` + home + `; [ "$1" != -s ] || exec ` + server + `
while [ "$1" != -- ]; do shift; done
case $3 in
cmd.exe*) echo Windows_NT ` + program + `;;
*) echo "'sh' is not recognized as an internal or external command" >&2; exit 1;;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// TestWindows is found, gets our program whole, and keeps nothing of it.
func TestWindows(t *testing.T) {
	home := t.TempDir()
	pretendWindows(t, home, "ARM64")
	h := Host{Node: "b", User: "me", Name: "h1"}
	if system, err := h.Look(t.Context()); err != nil || system != (System{"windows", "arm64"}) || system.Builds() {
		t.Errorf("%+v, %v", system, err)
	}
	file := filepath.Join(t.TempDir(), "a program.exe")
	if err := os.WriteFile(file, []byte("MZ\r\n\x00\x1a"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := h.Login().Deliver(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(home, d.folder, onWindows)); err != nil || string(text) != "MZ\r\n\x00\x1a" {
		t.Errorf("%q, %v", text, err)
	}
	command := d.Agent("--node", "b")
	if line := command[len(command)-1]; line != `.\`+d.folder+`\windtunnel.exe agent --node b --remove `+d.folder+` --sum `+d.sum || command[len(command)-2] != "h1" {
		t.Errorf("%q", command)
	}
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(home); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
	if err := d.Remove(); err != nil {
		t.Errorf("what is gone cannot be removed: %v", err)
	}
}

// TestWindowsThatCannotBe: each says why, and what to do.
func TestWindowsThatCannotBe(t *testing.T) {
	home := t.TempDir()
	pretendWindows(t, home, "x86")
	h := Host{Node: "b", Name: "h1"}
	if _, err := h.Look(t.Context()); err == nil || !strings.Contains(err.Error(), `architecture "x86"`) {
		t.Errorf("%v", err)
	}
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	quoted := filepath.Join(t.TempDir(), `a"b`)
	if err := os.WriteFile(quoted, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Login().Deliver(t.Context(), quoted); err == nil || !strings.Contains(err.Error(), "put it elsewhere") {
		t.Errorf("%v", err)
	}
	pretend(t, "echo 'subsystem request failed on channel 0' >&2; exit 255")
	if _, err := h.Login().Deliver(t.Context(), file); err == nil || !strings.Contains(err.Error(), "Subsystem sftp") {
		t.Errorf("%v", err)
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
