//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// imageSuite has a container of the user's own image, and one of an image that cannot start.
const imageSuite = `
suite: own-image
nodes: {b: {cpus: shared}}
traffic: {kind: stream, message: 1400B}
cells:
  own: {path: {kind: published-port, proxy: off, image: %q}, pairs: [{from: b, to: {container: server, on: b}}]}
  broken: {path: {kind: published-port, proxy: off, image: %q}, pairs: [{from: b, to: {container: server, on: b}}]}
`

// TestAnImageOfTheUsers: our program is copied into it, and traffic runs there. A file that holds no image spoils its own cell alone.
func TestAnImageOfTheUsers(t *testing.T) { measured(t, testAnImageOfTheUsers) }

func testAnImageOfTheUsers(t *attempt) {
	needsDocker(t)
	before := hostAtRest(t)
	dir := t.TempDir()
	own, broken := filepath.Join(dir, "own.tar"), filepath.Join(dir, "broken.tar")
	saveImage(t, own, "windtunnel-test/own:1")
	if err := os.WriteFile(broken, []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := untilMeasured(t, []string{"own"}, dockerRun(t, fmt.Sprintf(imageSuite, own, broken), "--window", "250ms", "--json")...)
	r := parsed(t, o)
	if c := r.Cells["own"]; c.Status != "measured" {
		t.Errorf("own: %s (%s)\n%s", c.Status, c.Reason, o.err)
	}
	if c := r.Cells["broken"]; c.Status == "measured" || !strings.Contains(c.Reason, "docker save") {
		t.Errorf("broken: %s (%s)\n%s", c.Status, c.Reason, o.err)
	}
	mustBeAsBefore(t, before)
}

// saveImage writes an image as `docker save` does (the Docker Image Specification v1.2): one layer with one file, which is no program.
func saveImage(t testing.TB, path, name string) {
	t.Helper()
	layer := tarOf(t, map[string][]byte{"etc/whose": []byte("the user's\n")})
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "config": map[string]any{},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		t.Fatal(err)
	}
	whole := tarOf(t, map[string][]byte{"manifest.json": manifest, "config.json": config, "layer.tar": layer})
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
}

func tarOf(t testing.TB, files map[string][]byte) []byte {
	t.Helper()
	var whole bytes.Buffer
	out := tar.NewWriter(&whole)
	for name, text := range files {
		if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return whole.Bytes()
}
