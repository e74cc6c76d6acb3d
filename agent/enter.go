//go:build linux

package agent

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"windtunnel/agent/ours"
)

// Entry is how a place that runs already is entered.
type Entry struct {
	Name string
	// Exec is a command that runs another in the place, with its standard streams: docker exec -i web.
	Exec []string
	// Program is our program in the place; empty: it is brought there.
	Program string
	// Bring finds our program for a system and a machine, by the names that Go has for them: linux, amd64.
	Bring func(system, architecture string) (path string, err error)
	// Agent are the agent's flags, of letters, digits and -_.:/ alone; nil: it is a place's.
	Agent []string
}

// flags are the agent's.
func (e Entry) flags() []string {
	if e.Agent == nil {
		return []string{"--place", e.Name}
	}
	return e.Agent
}

// ErrNoShell is that a place has no shell of Unix's, as Windows has none.
var ErrNoShell = errors.New("there is no shell of Unix's")

const (
	// shellPatience bounds how long a place may take to have a shell, bringPatience how long our program may be under way.
	shellPatience = 20 * time.Second
	bringPatience = 2 * time.Minute
	// farewellPatience bounds how long a command whose output has ended may take to end: ssh does once the other side has said how.
	farewellPatience = 5 * time.Second
	// maxGreeting bounds what a place may say before its shell does, in lines; of each so many bytes are read.
	maxGreeting     = 64
	maxGreetingLine = 4 << 10
	// spareBytes are to be free in the place's folder beside our program.
	spareBytes = 1 << 20
)

// entryScript is read by the place's shell from its standard input, because that passes unharmed through commands
// that hand words over to another shell, as ssh does. It is one compound command, so that a shell reads none of what
// comes after it, which is only sent when it has said that it is ready. NONCE tells its words from a greeting's.
// What is brought is removed by the program itself at its start, and here if it does not get that far.
const entryScript = `{
umask 077; d=; why=
bye() { [ -z "$d" ] || rm -rf "$d"; d=; }
say() { printf '%s\n' "windtunnel NONCE $*"; }
no() { say no "$*"; exit 1; }
trap bye 0; trap 'exit 1' 1 2 13 15
case $(uname -s) in Linux|Darwin) ;; *) no "system $(uname -s)";; esac
for t in "${TMPDIR:-/tmp}" /tmp /var/tmp /dev/shm /run; do
d=$t/PREFIXNONCE
mkdir "$d" 2>/dev/null || { why="$why $t: cannot be written;"; d=; continue; }
printf '#!%s\nexit 0\n' "$(command -v sh)" 2>/dev/null >"$d/TRIAL" || { why="$why $t: no room;"; bye; continue; }
chmod 700 "$d/TRIAL"; "$d/TRIAL" 2>/dev/null || { why="$why $t: nothing may be executed there (noexec);"; bye; continue; }
set -- $(df -Pk "$d" 2>/dev/null | tail -n 1)
case ${4:-} in ''|*[!0-9]*) ;; *) [ "$4" -ge KIBIBYTES ] || { why="$why $t: $4 KiB free;"; bye; continue; };; esac
break
done
[ -n "$d" ] || no "folder$why"
say ready "$(uname -s) $(uname -m)"
read -r n sum || exit 1
head -c "$n" >"$d/PROGRAM" || no "write $d"
set -- $(wc -c <"$d/PROGRAM")
[ "$1" = "$n" ] || no "short $1"
if command -v sha256sum >/dev/null 2>&1; then set -- $(sha256sum "$d/PROGRAM"); [ "$1" = "$sum" ] || no sum; fi
chmod 700 "$d/PROGRAM"
say starts
"$d/PROGRAM" agent FLAGS --remove "$d" --sum "$sum"
exit
}
`

// Enter starts a node agent in a place that runs already, and greets it.
func Enter(ctx context.Context, entry Entry) (*Client, error) {
	fail := func(err error) (*Client, error) {
		return nil, fmt.Errorf("entering %s by `%s`: %w", entry.Name, strings.Join(entry.Exec, " "), err)
	}
	words := append([]string(nil), entry.Exec...)
	if entry.Program == "" {
		words = append(words, "sh")
	} else {
		words = append(append(words, entry.Program, "agent"), entry.flags()...)
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	process, err := startChild(cmd, (*exec.Cmd).Start)
	if err != nil {
		return fail(err)
	}
	process.kill = func() error { return syscall.Kill(-process.pid, syscall.SIGKILL) } // with what it started itself
	d := door{entry: entry, process: process, in: bufio.NewReaderSize(process.stdout, 64<<10)}
	if entry.Program == "" {
		if err := d.bring(ctx); err != nil {
			_ = process.end(time.Second)
			return fail(fmt.Errorf("%w%s", err, process.lastWords()))
		}
	}
	p, err := connect(d.in, process.stdin)
	if err == nil && p.hello.Place == nil {
		err = errors.New("what answers is no agent of a place")
	}
	if err != nil {
		_ = process.end(time.Second)
		return fail(fmt.Errorf("greeting its agent: %w%s%s", err, process.lastWords(), hint(printable(process.said()))))
	}
	c := &Client{name: entry.Name, peer: p, process: process, beating: make(chan struct{})}
	go c.beat()
	return c, nil
}

// door is a place's shell, before our program runs there.
type door struct {
	entry   Entry
	process *child
	in      *bufio.Reader
	nonce   string
	said    []byte // what else the place says on its standard output
	late    atomic.Bool
}

// bring has the shell take our program and start it.
func (d *door) bring(ctx context.Context) error {
	var nonce [8]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return err
	}
	d.nonce = hex.EncodeToString(nonce[:])
	told, err := d.knock(ctx)
	if err != nil {
		return err
	}
	system, machine, _ := strings.Cut(told, " ")
	path, err := d.entry.Bring(ours.System(system), ours.Architecture(machine))
	if err != nil {
		return err
	}
	return d.within(ctx, bringPatience, "our program was under way for longer than", func() error { return d.send(path) })
}

// knock runs the script and returns the names of the system and the machine.
func (d *door) knock(ctx context.Context) (told string, err error) {
	size := int64(0)
	if own, err := os.Stat("/proc/self/exe"); err == nil {
		size = own.Size()
	}
	script := strings.NewReplacer("PREFIX", broughtPrefix, "NONCE", d.nonce, "TRIAL", broughtTrial, "PROGRAM", broughtProgram,
		"KIBIBYTES", fmt.Sprint((size+spareBytes)>>10), "FLAGS", strings.Join(d.entry.flags(), " ")).Replace(entryScript)
	err = d.within(ctx, shellPatience, "no shell answered within", func() error {
		_, writing := io.WriteString(d.process.stdin, script)
		words, err := d.hear("ready") // whose error says more than that nobody reads
		told = words
		return errors.Join(err, writing)
	})
	return told, err
}

// within ends the entry when it takes too long, which ends what f waits for.
func (d *door) within(ctx context.Context, limit time.Duration, what string, f func() error) error {
	timer := time.AfterFunc(limit, func() { d.late.Store(true); _ = d.process.kill() })
	defer timer.Stop()
	defer context.AfterFunc(ctx, func() { _ = d.process.kill() })()
	err := f()
	if d.late.Load() {
		return fmt.Errorf("%s %s", what, limit)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// send hands our program over.
func (d *door) send(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading our program: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("reading our program: %w", err)
	}
	_, sending := fmt.Fprintf(d.process.stdin, "%d %x\n", size, sum.Sum(nil))
	if sending == nil {
		_, sending = io.CopyN(d.process.stdin, file, size)
	}
	if _, err := d.hear("starts"); err != nil || sending != nil {
		return errors.Join(err, sending)
	}
	return nil
}

// hear reads the shell's next word of ours, and what follows it. What a place says before the first, a greeting of
// its own, is passed over.
func (d *door) hear(word string) (rest string, err error) {
	for range maxGreeting {
		line, err := d.in.ReadSlice('\n')
		if len(line) > maxGreetingLine || errors.Is(err, bufio.ErrBufferFull) {
			return "", fmt.Errorf("it says something else than a shell would: %.80q", line)
		}
		if errors.Is(err, io.EOF) {
			select { // how it ended, and its last words, may come later than its output's end
			case <-d.process.exited:
			case <-time.After(farewellPatience):
			}
			said := printable(strings.TrimSpace(string(d.said)))
			step := hint(said + d.process.lastWords())
			if said != "" {
				said = "; it said: " + said
			}
			return "", d.without(fmt.Errorf("it ended before our program ran%s%s", step, said))
		}
		if err != nil {
			return "", err
		}
		said, ours := strings.CutPrefix(strings.TrimSpace(string(line)), "windtunnel "+d.nonce+" ")
		if !ours {
			if d.said = append(d.said, line...); len(d.said) > maxGreetingLine {
				d.said = d.said[len(d.said)-maxGreetingLine:]
			}
			continue
		}
		if rest, heard := strings.CutPrefix(said, word); heard {
			return strings.TrimSpace(rest), nil
		}
		return "", refusal(strings.TrimPrefix(said, "no "))
	}
	return "", fmt.Errorf("it says more than %d lines and none of ours", maxGreeting)
}

// without says of why nothing of ours was heard that there is no shell, if what enters ended by itself and is no ssh that failed.
func (d *door) without(why error) error {
	const ownFailure = 255 // ssh(1)
	var exit *exec.ExitError
	if errors.As(d.process.exitError(), &exit) && exit.ExitCode() > 0 && exit.ExitCode() != ownFailure {
		return noShell{why}
	}
	return why
}

// noShell is ErrNoShell in other words.
type noShell struct{ error }

func (noShell) Is(target error) bool { return target == ErrNoShell }

// refusal says why a place's shell cannot run our program.
func refusal(said string) error {
	why, rest, _ := strings.Cut(said, " ")
	switch why {
	case "system":
		if ours.UnixOnWindows(rest) {
			return noShell{fmt.Errorf("its system is %.40q", rest)}
		}
		return fmt.Errorf("its system is %.40q, and places are Linux, macOS or Windows", rest)
	case "folder":
		return fmt.Errorf("no folder there takes our program (%.400q): set TMPDIR there, or put windtunnel there and say where with `program`", rest)
	case "write":
		return fmt.Errorf("our program cannot be written to %.200q", rest)
	case "short":
		return fmt.Errorf("of our program only %.20q bytes arrived", rest)
	case "sum":
		return errors.New("our program arrived damaged: its SHA-256 is another")
	}
	return fmt.Errorf("its shell said %.200q", said)
}

// hint is the next step where the words of known commands tell it.
func hint(said string) string {
	for words, step := range map[string]string{
		"TTY":                            "; leave out -t, which makes a terminal of the streams",
		"executable file not found":      "; there is no shell in it: put windtunnel into its image and say where with `program`, or enter only its network, `nsenter --target PID --net`",
		"no such file or directory":      "; if it has no shell, put windtunnel there and say where with `program`, or enter only its network, `nsenter --target PID --net`",
		"Permission denied (publickey":   "; ssh is not let in: try the command by hand",
		"Host key verification failed":   "; the host's key is not the one that ssh knows: look at it by hand before you trust it",
		"REMOTE HOST IDENTIFICATION HAS": "; the host's key has changed: look at it by hand before you trust it",
	} {
		if strings.Contains(strings.ToLower(said), strings.ToLower(words)) {
			return step
		}
	}
	if said == "" {
		return "; does it keep standard input open, as docker exec -i does?"
	}
	return ""
}
