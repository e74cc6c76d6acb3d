package measure

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"windtunnel/result"
)

// fingerprintFiles are the files whose trimmed content is a line of the
// fingerprint.
var fingerprintFiles = map[string]string{
	"cpu.governor":      "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
	"cpu.idle_driver":   "sys/devices/system/cpu/cpuidle/current_driver",
	"cpu.online":        "sys/devices/system/cpu/online",
	"cpu.smt":           "sys/devices/system/cpu/smt/active",
	"clocksource":       "sys/devices/system/clocksource/clocksource0/current_clocksource",
	"hypervisor.type":   "sys/hypervisor/type",
	"kernel.cmdline":    "proc/cmdline",
	"kernel.release":    "proc/sys/kernel/osrelease",
	"kernel.version":    "proc/sys/kernel/version",
	"machine.product":   "sys/class/dmi/id/product_name",
	"machine.vendor":    "sys/class/dmi/id/sys_vendor",
	"memory.thp":        "sys/kernel/mm/transparent_hugepage/enabled",
	"numa.nodes_online": "sys/devices/system/node/online",
	"os.debian":         "etc/debian_version",
}

// fingerprintSysctls are those that change what TCP and the receive path do.
var fingerprintSysctls = []string{
	"kernel.numa_balancing", "kernel.perf_event_paranoid",
	"net.core.bpf_jit_enable", "net.core.busy_poll", "net.core.busy_read", "net.core.default_qdisc",
	"net.core.dev_weight", "net.core.gro_normal_batch", "net.core.netdev_budget", "net.core.netdev_budget_usecs",
	"net.core.netdev_max_backlog", "net.core.optmem_max", "net.core.rmem_default", "net.core.rmem_max",
	"net.core.rps_sock_flow_entries", "net.core.wmem_default", "net.core.wmem_max",
	"net.ipv4.tcp_autocorking", "net.ipv4.tcp_congestion_control", "net.ipv4.tcp_ecn",
	"net.ipv4.tcp_limit_output_bytes", "net.ipv4.tcp_mem", "net.ipv4.tcp_min_tso_segs", "net.ipv4.tcp_mtu_probing",
	"net.ipv4.tcp_no_metrics_save", "net.ipv4.tcp_notsent_lowat", "net.ipv4.tcp_rmem", "net.ipv4.tcp_sack",
	"net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_timestamps", "net.ipv4.tcp_tso_rtt_log",
	"net.ipv4.tcp_tso_win_divisor", "net.ipv4.tcp_window_scaling", "net.ipv4.tcp_wmem",
}

// fingerprintFlags are the CPU's features that copying, checksums, encryption and
// timing depend on, as /proc/cpuinfo names them on x86 and arm64.
var fingerprintFlags = []string{
	"aes", "asimd", "atomics", "avx2", "avx512f", "constant_tsc", "crc32", "erms", "fsrm", "hypervisor",
	"invpcid", "nonstop_tsc", "pcid", "pclmulqdq", "pmull", "sse4_2", "sve", "vaes", "vpclmulqdq",
}

// ReadFingerprint says what this machine is made of. It is read in the caller's
// network stack; what cannot be read is absent.
func ReadFingerprint() result.Fingerprint {
	print := fingerprintOf(os.DirFS("/"))
	print["tool.go"] = runtime.Version()
	print["cpu.architecture"] = runtime.GOARCH
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		print["tool.windtunnel"] = info.Main.Version
	}
	return print
}

func fingerprintOf(root fs.FS) result.Fingerprint {
	f := fingerprint{root, result.Fingerprint{}}
	for name, file := range fingerprintFiles {
		f.put(name, f.text(file))
	}
	for _, name := range fingerprintSysctls {
		value := f.text("proc/sys/" + strings.ReplaceAll(name, ".", "/"))
		f.put("sysctl."+name, strings.Join(strings.Fields(value), " "))
	}
	f.cpu()
	f.mitigations()
	f.memory()
	f.release()
	return f.print
}

// fingerprint is one being read.
type fingerprint struct {
	root  fs.FS
	print result.Fingerprint
}

// maxFingerprintFile bounds what is read of a file, in bytes.
const maxFingerprintFile = 256 << 10

// text is a file's trimmed content, "" where it cannot be read.
func (f fingerprint) text(name string) string {
	file, err := f.root.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	b := make([]byte, maxFingerprintFile)
	n := 0
	for n < len(b) && err == nil {
		var k int
		k, err = file.Read(b[n:])
		n += k
	}
	return string(bytes.TrimSpace(b[:n]))
}

func (f fingerprint) put(name, value string) {
	if value != "" {
		f.print[name] = value
	}
}

// cpu reads the first CPU of /proc/cpuinfo and counts them all.
func (f fingerprint) cpu() {
	text := f.text("proc/cpuinfo")
	if n := strings.Count("\n"+text, "\nprocessor"); n > 0 {
		f.put("cpu.count", strconv.Itoa(n))
	}
	first, _, _ := strings.Cut(text, "\n\n")
	fields := keyed(first, ":")
	f.put("cpu.model", fields["model name"])
	f.put("cpu.generation", generation(fields))
	f.put("cpu.microcode", fields["microcode"])
	f.put("cpu.cache", fields["cache size"])
	has := strings.Fields(fields["flags"] + fields["Features"])
	var flags []string
	for _, flag := range fingerprintFlags {
		if slices.Contains(has, flag) {
			flags = append(flags, flag)
		}
	}
	f.put("cpu.flags", strings.Join(flags, " "))
}

// generation tells CPUs of one name apart: a hypervisor may call all of a maker's "AMD EPYC", and arm64 has no name. It
// is what /proc/cpuinfo has of the design (arch/x86/kernel/cpu/proc.c, arch/arm64/kernel/cpuinfo.c), without the
// stepping or revision.
func generation(fields map[string]string) string {
	var parts []string
	for _, of := range [][2]string{{"cpu family", "family"}, {"model", "model"}, {"CPU implementer", "implementer"}, {"CPU part", "part"}} {
		if value := fields[of[0]]; value != "" {
			parts = append(parts, of[1]+" "+value)
		}
	}
	return strings.Join(parts, ", ")
}

func (f fingerprint) mitigations() {
	const folder = "sys/devices/system/cpu/vulnerabilities"
	entries, err := fs.ReadDir(f.root, folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		f.put("cpu.mitigation."+e.Name(), f.text(path.Join(folder, e.Name())))
	}
}

func (f fingerprint) memory() {
	f.put("memory.total", keyed(f.text("proc/meminfo"), ":")["MemTotal"])
}

// release reads the system's name, and HZ where the kernel's configuration is
// at hand.
func (f fingerprint) release() {
	f.put("os.name", strings.Trim(keyed(f.text("etc/os-release"), "=")["PRETTY_NAME"], `"`))
	config := f.text(fmt.Sprintf("boot/config-%s", f.print["kernel.release"]))
	f.put("kernel.hz", keyed(config, "=")["CONFIG_HZ"])
}

// keyed splits lines of "name SEPARATOR value".
func keyed(text, separator string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, separator)
		if ok {
			fields[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return fields
}
