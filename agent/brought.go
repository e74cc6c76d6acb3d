package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"windtunnel/agent/ours"
)

// What an entry writes into a place.
const (
	broughtPrefix  = ours.Brought
	broughtProgram = "windtunnel"
	broughtWindows = "windtunnel.exe"
	broughtTrial   = "t"
)

// checkSelf compares this program with its sum, if one is told.
func checkSelf(want string) error {
	if want == "" {
		return nil
	}
	file, err := openSelf()
	if err != nil {
		return fmt.Errorf("reading this program to verify it: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return fmt.Errorf("reading this program to verify it: %w", err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("this program has the SHA-256 %s, and %s was sent: it was damaged on its way", got, want)
	}
	return nil
}

// openSelf opens this program's file; on Linux also where its name is of another namespace.
func openSelf() (*os.File, error) {
	if runtime.GOOS == "linux" {
		return os.Open("/proc/self/exe")
	}
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// removeBrought removes what a place's entry wrote, and nothing else, whatever folder is named.
func removeBrought(dir string) error {
	if dir == "" {
		return nil
	}
	if !isBrought(dir) {
		return errNotBrought(dir)
	}
	for _, name := range []string{broughtProgram, broughtWindows, broughtTrial} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing what was brought: %w", err)
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing what was brought: %w", err)
	}
	return nil
}

func errNotBrought(dir string) error {
	return fmt.Errorf("%s is no folder of an entry, which are called %s and letters and digits", dir, broughtPrefix)
}

// isBrought tells an entry's folder by its name, which is safe to be in a line of a shell's then.
func isBrought(dir string) bool {
	nonce, ours := strings.CutPrefix(filepath.Base(dir), broughtPrefix)
	for _, r := range nonce {
		ours = ours && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}
	return ours && nonce != ""
}

// abandoned is after how long what was brought to a machine, and neither runs nor was removed, is nobody's any
// more: its agent and its conductor were killed, or it was never started.
const abandoned = time.Hour

// removeAbandoned removes such folders beside this program's own, best effort: a program that runs cannot be removed
// on Windows, and on other systems is not there any more.
func removeAbandoned(own string) {
	beside := filepath.Dir(own)
	folders, _ := os.ReadDir(beside)
	for _, folder := range folders {
		info, err := folder.Info()
		if err == nil && info.IsDir() && folder.Name() != filepath.Base(own) && isBrought(folder.Name()) && time.Since(info.ModTime()) > abandoned {
			_ = removeBrought(filepath.Join(beside, folder.Name()))
		}
	}
}
