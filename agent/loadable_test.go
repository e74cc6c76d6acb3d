//go:build linux

package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLackingLibraries(t *testing.T) {
	const whole = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n"
	for list, says := range map[string]string{
		whole: "",
		whole + "\tlibrte_eal.so.25 => not found\n\tlibrte_mbuf.so.25 => not found\n": "librte_eal.so.25 and 1 more",
		whole + "\tlibx.so.1 => not found\n":                                          "libx.so.1",
	} {
		if got := lacking(list); (says == "") != (got == "") || !strings.Contains(got, says) {
			t.Errorf("%q: %q", list, got)
		}
	}
}

// TestLoadable: what starts here is said nothing of, nor what is no program of the machine's.
func TestLoadable(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{script, shell, filepath.Join(t.TempDir(), "none")} {
		if why := unloadable(t.Context(), program); why != "" {
			t.Errorf("%s: %s", program, why)
		}
	}
	if loader, err := interpreter(shell); loader == "" || err != nil {
		t.Errorf("%s names the loader %q, %v", shell, loader, err)
	}
}
