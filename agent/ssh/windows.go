package ssh

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"windtunnel/agent/ours"
)

// Windows' sshd hands a command to cmd.exe, or to what the user has made the DefaultShell, which mostly is PowerShell; both read
// a program's name and plain words alike, and agree on nothing else. So a program comes by SFTP, which needs no shell, and
// lands in the user's own folder, where sessions begin, too.

// ask prints two words on Windows, whichever shell it is.
const ask = "cmd.exe /d /c echo %OS% %PROCESSOR_ARCHITECTURE%"

// lookAtWindows says what a host without a shell of Unix's is. Else is what to say if it is no Windows.
func (l Login) lookAtWindows(ctx context.Context, otherwise error) (System, error) {
	said, err := l.run(ctx, ask, nil)
	var told exited
	if err != nil && !errors.As(err, &told) {
		return System{}, err
	}
	words := strings.Fields(lastLine(said))
	if err != nil || len(words) != 2 || words[0] != "Windows_NT" {
		return System{}, fmt.Errorf("%w; if it is Windows, let cmd.exe or PowerShell be the DefaultShell of its OpenSSH", otherwise)
	}
	s := System{"windows", ours.Architecture(words[1])}
	if s.Architecture == words[1] {
		return s, fmt.Errorf("%s has the architecture %.20q: there are programs for AMD64 and ARM64", l, words[1])
	}
	return s, nil
}

// LookAtWindows says for what a host wants programs of which it is only known that it has no shell of Unix's.
func (l Login) LookAtWindows(ctx context.Context) (System, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	return l.lookAtWindows(ctx, unknown(l, ""))
}

// onWindows is what our program is called there.
const onWindows = ours.Program + ".exe"

// Delivered is our program on a host of Windows.
type Delivered struct {
	login  Login
	folder string // in the user's own folder
	sum    string // SHA-256, in hexadecimal
}

// Deliver brings our program, a file here, to a host of Windows. Remove takes it away.
func (l Login) Deliver(ctx context.Context, file string) (d Delivered, err error) {
	ctx, cancel := context.WithTimeout(ctx, bringWithin)
	defer cancel()
	var nonce [8]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return d, err
	}
	d = Delivered{login: l, folder: ours.Brought + hex.EncodeToString(nonce[:])}
	if d.sum, err = sumOf(file); err != nil {
		return d, err
	}
	if strings.ContainsAny(file, "\"\\\n") {
		return d, fmt.Errorf("the name of our program, %q, has quotes, which sftp would read: put it elsewhere", file)
	}
	_, err = l.sftp(ctx, "mkdir "+d.folder+"\nput \""+file+"\" "+d.folder+"/"+onWindows+"\n")
	if err != nil {
		return d, errors.Join(fmt.Errorf("bringing our program to %s on %s: %w%s", d.folder, l, err, undelivered(err)), d.Remove())
	}
	return d, nil
}

// undelivered is the next step where sftp's words tell it. Of a full disk SFTP has no word but failure (section 7 of
// draft-ietf-secsh-filexfer-02, which OpenSSH speaks).
func undelivered(err error) string {
	switch text := err.Error(); {
	case strings.Contains(text, "subsystem request failed"):
		return "\nits sshd serves no files: let its sshd_config have the line `Subsystem sftp sftp-server.exe`"
	case strings.Contains(text, "write remote") || strings.Contains(text, "Failure"):
		return "\nis its disk full?"
	}
	return ""
}

func sumOf(file string) (string, error) {
	from, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer from.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, from); err != nil {
		return "", fmt.Errorf("reading %s: %w", file, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Agent is the command that starts an agent with these flags, of letters, digits and -_.: alone. It verifies itself first:
// a program that does not run has not been verified, and does nothing either.
func (d Delivered) Agent(flags ...string) []string {
	line := `.\` + d.folder + `\` + onWindows + " agent " + strings.Join(flags, " ") + " --remove " + d.folder + " --sum " + d.sum
	return append(append([]string(nil), d.login...), line)
}

// removeTries is how often, one second apart, it is tried to take the program away: Windows removes none that still ends.
const removeTries = 5

// removed is what sftp(1) says of a folder that is not there, in its words until OpenSSH 8.9 and since.
var removed = regexp.MustCompile(`(remove directory|rmdir).*No such file`)

// Remove takes the program away after its agent has ended. An agent that could not be told has it done itself.
func (d Delivered) Remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), sweepWithin)
	defer cancel()
	var err error
	for try := range removeTries {
		if try > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
		// A line that begins with a dash may fail (sftp(1), -b). Nothing is listed: a list may be without end.
		_, err = d.login.sftp(ctx, "-rm "+d.folder+"/"+onWindows+"\nrmdir "+d.folder+"\n")
		var told exited
		if err == nil || errors.As(err, &told) && removed.MatchString(err.Error()) {
			return nil
		}
		if !errors.As(err, &told) {
			break // nobody answers, and would not in a second
		}
	}
	return fmt.Errorf("removing our program from %s: %w; the next agent there does it after an hour, or remove the folder %s by hand", d.login, err, d.folder)
}

// sftp runs lines of sftp's on the host, by the login's own ssh.
func (l Login) sftp(ctx context.Context, lines string) (string, error) {
	if len(l) < 2 || strings.ContainsAny(strings.Join(l, ""), "'\\\n") {
		return "", fmt.Errorf("the command %q cannot carry files: it has quotes", []string(l))
	}
	direct := l[0] + " -s" // ssh's flag for a subsystem
	for _, word := range l[1:] {
		direct += " '" + word + "'"
	}
	return l.bounded(ctx, []string{"sftp", "-b", "-", "-D", direct + " sftp"}, strings.NewReader(lines))
}
