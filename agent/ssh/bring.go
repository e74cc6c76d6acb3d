package ssh

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"windtunnel/agent/ours"
)

// How long looking at a host and bringing programs there may take.
const (
	lookWithin  = 20 * time.Second
	bringWithin = 3 * time.Minute
)

// System is what a host runs and on what, by Go's names.
type System struct{ OS, Architecture string }

// Builds tells whether testbeds are made there. On other systems traffic alone runs.
func (s System) Builds() bool { return s.OS == "linux" }

// Look says for what the host wants programs. It refuses a Linux that lets us be nobody but an ordinary user, and
// systems for which there is no program.
func (h Host) Look(ctx context.Context) (System, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	said, err := h.Run(ctx, "uname -s && uname -m && id -u", nil)
	words := strings.Fields(said)
	if len(words) > 3 { // what a shell's own files print comes first
		words = words[len(words)-3:]
	}
	var told exited
	if errors.As(err, &told) || err == nil && (len(words) < 3 || ours.UnixOnWindows(words[0])) { // there is no shell of Unix's, or one on Windows
		return h.Login().lookAtWindows(ctx, errors.Join(err, unknown(h, said)))
	}
	if err != nil {
		return System{}, err
	}
	s := System{ours.System(words[0]), ours.Architecture(words[1])}
	if s.OS != "linux" && s.OS != "darwin" {
		return s, unknown(h, said)
	}
	if s.Architecture == words[1] && words[1] != "arm64" { // as macOS calls it, too
		return s, fmt.Errorf("%s has the architecture %.20q: there are programs for x86_64 and aarch64", h, words[1])
	}
	if s.Builds() && words[2] != "0" {
		return s, fmt.Errorf("on %s this is no root (user %.20s), whom testbeds need: write ssh://root@%s, and let root in by key", h, words[2], h.Name)
	}
	return s, nil
}

func unknown(h fmt.Stringer, said string) error {
	return fmt.Errorf("%s is no Linux, macOS or Windows as far as it tells (it says %.60q)", h, said)
}

// Program is one that is brought, or a file beside them: its name there, and the file here.
type Program struct{ Name, File string }

// Programs finds those of ours for a system.
func Programs(system System, names []string) ([]Program, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	var all []Program
	for _, name := range names {
		file, err := ours.Find(self, name, system.OS, system.Architecture)
		if err != nil {
			return nil, err
		}
		all = append(all, Program{name, file})
	}
	return all, nil
}

// Bring puts programs into a folder of the host's that is called after what they are, and returns it. A
// folder that is there already is taken if its programs' checksums are right. The lease of the agent that
// is started there removes it.
func (h Host) Bring(ctx context.Context, programs []Program) (folder string, err error) {
	ctx, cancel := context.WithTimeout(ctx, bringWithin)
	defer cancel()
	sums, name, err := checksums(programs)
	if err != nil {
		return "", err
	}
	folder = h.Dir + "/" + name
	check := fmt.Sprintf("cd %s 2>/dev/null && printf %%s %s | sha256sum -c >/dev/null 2>&1 && echo there || echo absent", folder, Quote(sums))
	said, err := h.Run(ctx, check, nil)
	if err != nil {
		return "", fmt.Errorf("looking for programs: %w", err)
	}
	if lastLine(said) == "there" {
		return folder, nil
	}
	from, to := io.Pipe()
	go func() { to.CloseWithError(pack(to, programs)) }()
	said, err = h.Run(ctx, receive(h.Dir, name, sums), from)
	from.CloseWithError(errors.New("the host takes no more"))
	if err != nil {
		return "", fmt.Errorf("bringing programs to %s%s: %w", folder, full(err), err)
	}
	if lastLine(said) != "there" {
		return "", fmt.Errorf("bringing programs to %s on %s: it says %.80q, not that they are there", folder, h, said)
	}
	return folder, nil
}

// full says what to do where tar had no room: GNU's then tells of no more than a write that was short.
func full(err error) string {
	if text := err.Error(); strings.Contains(text, "No space left") || strings.Contains(text, "Wrote only") || strings.Contains(text, "quota") {
		return ", where the disk is full (name another folder with ?dir=/...)"
	}
	return ""
}

// lastLine is what a command said, without what a shell's own files print before.
func lastLine(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// receive is the line that unpacks programs: into a folder of its own, which gets its name only once the
// checksums are right, and is removed if it comes to nothing.
func receive(dir, name, sums string) string {
	return strings.Join([]string{
		"set -e", "umask 077", "mkdir -p " + dir, "cd " + dir,
		"new=$(mktemp -d " + dir + "/.new.XXXXXX)", `trap 'rm -rf "$new"' EXIT`, "trap 'exit 1' HUP INT TERM",
		`tar -x -f - -C "$new"`, `cd "$new"`, "printf %s " + Quote(sums) + " | sha256sum -c >/dev/null", "chmod 0700 *", "cd ..",
		"rm -rf " + name, `mv "$new" ` + name, "echo there",
	}, "; ")
}

// checksums are as sha256sum(1) writes them, and the name of a folder with these programs.
func checksums(programs []Program) (sums, name string, err error) {
	for _, p := range programs {
		file, err := os.Open(p.File)
		if err != nil {
			return "", "", err
		}
		sum := sha256.New()
		_, err = io.Copy(sum, file)
		if err = errors.Join(err, file.Close()); err != nil {
			return "", "", fmt.Errorf("reading %s: %w", p.File, err)
		}
		sums += hex.EncodeToString(sum.Sum(nil)) + "  " + p.Name + "\n"
	}
	all := sha256.Sum256([]byte(sums))
	return sums, hex.EncodeToString(all[:8]), nil
}

// pack writes programs as a tar archive.
func pack(to io.Writer, programs []Program) error {
	buffered := bufio.NewWriterSize(to, 256<<10)
	archive := tar.NewWriter(buffered)
	for _, p := range slices.Clone(programs) {
		if err := packOne(archive, p); err != nil {
			return fmt.Errorf("reading %s: %w", p.File, err)
		}
	}
	return errors.Join(archive.Close(), buffered.Flush())
}

func packOne(archive *tar.Writer, p Program) error {
	file, err := os.Open(p.File)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: p.Name, Mode: 0o700, Size: info.Size(), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.CopyN(archive, file, info.Size())
	return err
}
