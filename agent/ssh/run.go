package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"windtunnel/result"
)

// maxSaid bounds what is kept of what a host says: it is nobody's that one has to trust.
const maxSaid = 16 << 10

// killed is how long ssh may take to end once its time is up.
const killed = 2 * time.Second

// ownFailure is ssh's exit code where it is ssh that failed, ssh(1).
const ownFailure = 255

// bounded keeps the first bytes of what is written to it.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), maxSaid-b.Len())])
	return len(p), nil
}

// Run runs a line of a shell on the host, with what input holds, and returns what it says.
func (h Host) Run(ctx context.Context, line string, input io.Reader) (string, error) {
	return h.Login().run(ctx, shell(line), input)
}

// String is the host as messages name it.
func (l Login) String() string {
	name := l[len(l)-1]
	if i := slices.Index(l, "-l"); i > 0 && i+1 < len(l) {
		return l[i+1] + "@" + name
	}
	return name
}

// run runs a line of whatever the user's shell is there.
func (l Login) run(ctx context.Context, line string, input io.Reader) (string, error) {
	return l.bounded(ctx, append(slices.Clip(l), line), input)
}

// bounded runs a command that uses the login.
func (l Login) bounded(ctx context.Context, command []string, input io.Reader) (string, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var out, errs bounded
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = input, &out, &errs, killed
	err := cmd.Run()
	said := strings.TrimSpace(errs.String())
	var exit *exec.ExitError
	switch {
	case err == nil:
		return out.String(), nil
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("nodes on other hosts need the program ssh: apt-get install openssh-client")
	case ctx.Err() != nil:
		return out.String(), fmt.Errorf("%s did not answer in time (%w)%s", l, ctx.Err(), quoted(said))
	case errors.As(err, &exit) && exit.ExitCode() == ownFailure:
		return out.String(), l.explain(said)
	case errors.As(err, &exit):
		return out.String(), exited{fmt.Errorf("on %s: exit code %d%s", l, exit.ExitCode(), quoted(said))}
	}
	return out.String(), fmt.Errorf("running ssh: %w%s", err, quoted(said))
}

// exited is an error of what was run, and not of ssh's.
type exited struct{ error }

func quoted(said string) string {
	if said == "" {
		return ""
	}
	return "; it said:\n" + result.CleanLines(said)
}

// causes are what OpenSSH says (sshconnect.c, sshconnect2.c, misc.c) and what to do about it.
var causes = []struct{ says, means string }{
	{"REMOTE HOST IDENTIFICATION HAS CHANGED", "its host key is not the one that is known: somebody else may answer there. If it was made anew, remove the old one with ssh-keygen -R"},
	{"Host key verification failed", "its host key is not known: connect once by hand, with ssh, and compare it"},
	{"Permission denied", "it takes none of your keys: try `ssh` by hand, and give it one with ssh-copy-id"},
	{"Too many authentication failures", "it takes none of your keys: name the right one in ~/.ssh/config (IdentityFile, IdentitiesOnly)"},
	{"Could not resolve hostname", "there is no host of that name"},
	{"Connection refused", "nobody listens there: is sshd running, and the port right?"},
	{"timed out", "it cannot be reached: nothing answers"},
	{"No route to host", "it cannot be reached: there is no route to it"},
	{"Network is unreachable", "it cannot be reached: there is no route to it"},
	{"not responding", "the connection broke: nothing answers any more"},
}

// explain says why ssh itself failed.
func (l Login) explain(said string) error {
	for _, c := range causes {
		if strings.Contains(said, c.says) {
			return fmt.Errorf("%s: %s%s", l, c.means, quoted(said))
		}
	}
	return fmt.Errorf("%s: ssh failed%s", l, quoted(said))
}
