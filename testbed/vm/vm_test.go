//go:build linux

package vm

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"windtunnel/result"
	"windtunnel/testbed"
)

// unpacked reads an archive back, by the format's own description.
func unpacked(t *testing.T, all []byte) map[string]string {
	t.Helper()
	files := map[string]string{}
	for at := 0; ; {
		header := string(all[at : at+110])
		field := func(i int) int {
			n, err := strconv.ParseUint(header[6+8*i:14+8*i], 16, 32)
			if err != nil || header[:6] != "070701" {
				t.Fatalf("the header %q: %v", header, err)
			}
			return int(n)
		}
		name := string(all[at+110 : at+110+field(11)-1])
		from := (at + 110 + field(11) + 3) &^ 3
		if name == "TRAILER!!!" {
			return files
		}
		files[name] = strconv.FormatInt(int64(field(1)), 8) + " " + string(all[from:from+field(6)])
		if field(9)+field(10) > 0 {
			files[name] += strconv.Itoa(field(9)) + ":" + strconv.Itoa(field(10))
		}
		at = (from + field(6) + 3) &^ 3
	}
}

func TestArchive(t *testing.T) {
	var out bytes.Buffer
	a := &archive{to: &out}
	a.folder("dev")
	a.node("dev/console", device{5, 1})
	a.file("odd", 5, strings.NewReader("12345"))
	a.file("empty", 0, strings.NewReader(""))
	if err := a.close(); err != nil || int64(out.Len()) != a.bytes {
		t.Fatalf("%v, %d of %d bytes", err, out.Len(), a.bytes)
	}
	want := map[string]string{"dev": "40755 ", "dev/console": "20600 5:1", "odd": "100755 12345", "empty": "100755 "}
	for name, is := range unpacked(t, out.Bytes()) {
		if want[name] != is {
			t.Errorf("%s is %q, not %q", name, is, want[name])
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("not there: %v", want)
	}
	short := &archive{to: io.Discard}
	short.file("short", 9, strings.NewReader("x"))
	if err := short.close(); err == nil {
		t.Error("a file that ended too soon is no error")
	}
}

// kernelAt lays a kernel's files out below a root.
func kernelAt(t *testing.T, root, release string, files map[string]string) {
	t.Helper()
	files["boot/vmlinuz-"+release] = "image"
	for name, text := range files {
		path := filepath.Join(root, strings.ReplaceAll(name, "REL", "lib/modules/"+release))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const dependencies = `kernel/net/virtio_net.ko: kernel/net/net_failover.ko kernel/net/failover.ko kernel/virtio.ko
kernel/net/net_failover.ko: kernel/net/failover.ko
kernel/virtio-pci.ko: kernel/virtio.ko
kernel/virtio.ko:
`

func TestFindKernel(t *testing.T) {
	root := t.TempDir()
	if _, err := findKernel([]string{root}); err == nil || !strings.Contains(err.Error(), "make guest") {
		t.Errorf("no kernel: %v", err)
	}
	for _, release := range []string{"6.1.100-amd64", "6.12.9-amd64", "6.1.20-amd64"} {
		kernelAt(t, root, release, map[string]string{"REL/modules.dep": dependencies})
	}
	kernelAt(t, root, "7.0.0", map[string]string{}) // without modules
	k, err := findKernel([]string{t.TempDir(), root})
	if err != nil || k.Release != "6.12.9-amd64" {
		t.Errorf("%+v, %v", k, err)
	}
}

// TestAnOldFolderOfAGuestIsToldAsSuch, by the module that it lacks; of an installed kernel there may be another one.
func TestAnOldFolderOfAGuestIsToldAsSuch(t *testing.T) {
	root := t.TempDir()
	kernelAt(t, root, "6.1", map[string]string{"REL/modules.dep": dependencies, "REL/modules.builtin": "kernel/drivers/char/virtio_console.ko\n"})
	made, err := findKernel([]string{root})
	if err != nil {
		t.Fatal(err)
	}
	installed := made
	installed.made = ""
	for says, k := range map[string]Kernel{"make guest": made, "take another kernel": installed} {
		if _, err := k.files(guestModules); err != nil {
			t.Errorf("what every guest needs is there: %v", err)
		}
		if _, err := k.files(containerModules); err == nil || !strings.Contains(err.Error(), "no module veth") || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; it should say %q", err, says)
		}
	}
}

func TestModulesInTheOrderOfLoading(t *testing.T) {
	root := t.TempDir()
	kernelAt(t, root, "6.1", map[string]string{"REL/modules.dep": dependencies, "REL/modules.builtin": "kernel/drivers/char/virtio_console.ko\n"})
	k, err := findKernel([]string{root})
	if err != nil {
		t.Fatal(err)
	}
	got, err := k.files([]string{"virtio_pci", "virtio_net", "virtio_console"})
	want := []string{"kernel/virtio.ko", "kernel/virtio-pci.ko", "kernel/net/failover.ko", "kernel/net/net_failover.ko", "kernel/net/virtio_net.ko"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := k.files([]string{"vmxnet3"}); err == nil || !strings.Contains(err.Error(), "no module vmxnet3") {
		t.Errorf("a module that there is not: %v", err)
	}
}

func TestAProgramThatWantsLibraries(t *testing.T) {
	if err := testbed.RunsAlone("/bin/sh"); err == nil || !strings.Contains(err.Error(), "CGO_ENABLED=0") {
		t.Errorf("/bin/sh runs in a guest: %v", err)
	}
}

func TestArguments(t *testing.T) {
	inside := testbed.Interface{Place: "one-1", Device: "eth1", MAC: "02:00:00:00:00:02", MTU: 1500}
	g := testbed.Graph{
		Nodes: []testbed.Node{{Name: "a"}},
		Links: []testbed.Link{{Role: result.RoleEndpoint, Ends: [2]testbed.Interface{
			{Place: "one", Device: "eth0", MAC: "02:00:00:00:00:01", MTU: 1500, Queues: 4}, {Place: "a", Device: "v-one", MTU: 1500, Queues: 4}}}},
	}
	v := testbed.VM{Name: "one", Node: "a", CPUs: 4, MemoryBytes: 4 << 30, NICs: []testbed.VNIC{{Place: "one"}, {Place: "one-1", Socket: "{dir:x}/s", Inside: &inside}}}
	l := launch{vm: v, graph: g, accelerator: Emulated, kernel: "/k", initramfs: "/i", agent: "/a,b", socket: func(string) string { return "/x/s" }}
	line := strings.Join(l.arguments(), " ")
	for _, want := range []string{
		"accel=tcg,memory-backend=shared", "-smp 4", "-m 4096M", "-kernel /k -initrd /i", "rdinit=/windtunnel -- agent --guest",
		"path=/a,,b", "-netdev tap,id=net0,ifname=v-one,script=no,downscript=no,vhost=off,queues=4",
		"virtio-net-pci,netdev=net0,mac=02:00:00:00:00:01,romfile=,mq=on,vectors=10",
		"memory-backend-memfd,id=shared,share=on,size=4096M", "mac=02:00:00:00:00:02,romfile=,vectors=0", "-chardev socket,id=data1,reconnect=1,path=/x/s -netdev vhost-user,id=net1,chardev=data1,queues=1",
	} {
		if !strings.Contains(line, want) {
			t.Errorf("%q is not in %s", want, line)
		}
	}
}

// said is a console.
type said struct{ bytes.Buffer }

func (s *said) Quoted() string { return s.String() }

func TestConsole(t *testing.T) {
	w := &watch{to: &said{}, ready: make(chan struct{}), panicked: make(chan struct{})}
	closed := func(c chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	for i, part := range []string{"booting\n", Ready[:9], Ready[9:] + "\n", "Kernel pa", "nic - not syncing\n", Ready} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
		if closed(w.ready) != (i >= 2) || closed(w.panicked) != (i >= 4) {
			t.Errorf("after %q: ready %v, panicked %v", part, closed(w.ready), closed(w.panicked))
		}
	}
}
