// Package command is iperf3's command line: its flags, its text and its JSON,
// over the protocol of package iperf3. What iperf3 has no figures for stands
// beside its own, where scripts that read iperf3's output pass over it.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"windtunnel/traffic/iperf3"
)

// The exit codes of iperf3.
const (
	exitDone   = 0
	exitFailed = 1
)

// engine runs tests; tests of this package put their own in its place.
type engine struct {
	run   func(context.Context, iperf3.Options, iperf3.Observer) error
	serve func(context.Context, iperf3.ServerOptions, func(uint64, string) iperf3.Observer) error
}

// program is one run of the command.
type program struct {
	*settings
	engine
	screen *screen
}

// Run does what iperf3 does with these arguments, until it is done or ctx ends,
// and returns its exit code: 0, or 1 for what failed. An interrupt is no failure,
// as since iperf 3.17. The password of --username is read from in, or is what
// environment says of IPERF3_PASSWORD.
func Run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer, environment func(string) string) int {
	return engine{iperf3.Run, iperf3.Serve}.command(ctx, args, in, out, errs, environment)
}

func (e engine) command(ctx context.Context, args []string, in io.Reader, out, errs io.Writer, environment func(string) string) int {
	s, warnings, err := parse(args)
	if err != nil {
		fmt.Fprintf(errs, "iperf3: parameter error - %v\n\nUsage: windtunnel iperf3 [-s|-c HOST] [flags]; windtunnel iperf3 --help lists the flags.\n", err)
		return exitFailed
	}
	switch {
	case s.help:
		return tell(help(), out, errs)
	case s.version:
		return tell(fmt.Sprintf("%s\n%s\n%s\n", version, systemInfo(), features), out, errs)
	}
	for _, warning := range warnings {
		fmt.Fprintf(errs, "warning: %s\n", warning)
	}
	if err := s.complete(ctx, in, errs, environment); err != nil {
		fmt.Fprintf(errs, "iperf3: parameter error - %v\n", err)
		return exitFailed
	}
	if s.daemon && s.told == "" {
		if err := background(args); err != nil {
			fmt.Fprintf(errs, "iperf3: error - %v\n", err)
			return exitFailed
		}
		return exitDone
	}
	return s.run(ctx, e, out, errs)
}

// tell writes all that there is to say.
func tell(text string, out, errs io.Writer) int {
	s := newScreen(out, errs, output{})
	s.write(text)
	return s.exit(exitDone, errs)
}

// complete reads the files that the flags name, and the password.
func (s *settings) complete(ctx context.Context, in io.Reader, prompt io.Writer, environment func(string) string) (err error) {
	if s.privateKey != "" {
		if s.server.PrivateKey, err = load(s.privateKey, longestKey, iperf3.ParsePrivateKey); err != nil {
			return fmt.Errorf("--rsa-private-key-path: %w", err)
		}
		if s.server.Users, err = load(s.users, longestUsers, someUsers); err != nil {
			return fmt.Errorf("--authorized-users-path: %w", err)
		}
	}
	if s.publicKey == "" {
		return nil
	}
	if s.client.PublicKey, err = load(s.publicKey, longestKey, iperf3.ParsePublicKey); err != nil {
		return fmt.Errorf("--rsa-public-key-path: %w", err)
	}
	s.client.Password, err = askPassword(ctx, in, prompt, environment)
	return err
}

// readUsers reads the users anew. While a file's text is no list, such as one that is just
// being written, whom it named before may test; one that names nobody, or is not there, lets nobody.
func (s *settings) readUsers(warn func(format string, args ...any)) func() (iperf3.Users, error) {
	var one sync.Mutex
	last := s.server.Users
	return func() (iperf3.Users, error) {
		one.Lock()
		defer one.Unlock()
		users, err := load(s.users, longestUsers, iperf3.ParseUsers)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			warn("--authorized-users-path: %v; nobody may test", err)
		case err != nil:
			warn("--authorized-users-path: %v; whom it named before may test", err)
			return last, nil
		case len(users) == 0:
			warn("--authorized-users-path: %s names nobody, so nobody may test", s.users)
		}
		last = users
		return users, nil
	}
}

func (s *settings) run(ctx context.Context, e engine, out, errs io.Writer) int {
	said := errs
	if s.output.logfile != "" {
		const anybodyReads = 0o644
		file, err := os.OpenFile(s.output.logfile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, anybodyReads)
		if err != nil {
			return s.fails(errs, fmt.Errorf("unable to open log file: %w", err))
		}
		defer file.Close()
		if out = file; !s.output.json { // warnings would be no JSON
			errs = file
		}
	}
	remove, err := writePidfile(s.pidfile)
	if err != nil {
		return s.fails(errs, err)
	}
	defer remove()
	p := &program{settings: s, engine: e, screen: newScreen(out, errs, s.output)}
	if s.privateKey != "" {
		s.server.ReadUsers = s.readUsers(p.screen.warn)
	}
	return p.screen.exit(p.perform(ctx), said)
}

func (p *program) perform(ctx context.Context) int {
	if p.role == ofServer {
		return p.answer(ctx)
	}
	return p.test(ctx)
}

// fails reports an error from before there is a screen.
func (s *settings) fails(errs io.Writer, err error) int {
	if s.told != "" {
		tellParent(s.told, err.Error())
	}
	fmt.Fprintf(errs, "iperf3: error - %v\n", err)
	return exitFailed
}

// greet is what -V says first.
func (p *program) greet() {
	if p.output.verbose && !p.output.json {
		p.screen.print("", version+"\n")
		p.screen.print("", systemInfo()+"\n")
	}
}

// features are what iperf3 -v lists, of those that there are here.
const features = "Optional features available: CPU affinity setting, TCP congestion algorithm setting, zerocopy, socket pacing, " +
	"authentication, bind to device, IPv4 don't fragment, many clients at once"
