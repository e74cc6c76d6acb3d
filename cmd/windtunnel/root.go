package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// release is set by the linker: -X main.release=v1.2.3.
var release = "development"

// The exit codes, as the documentation lists them.
const (
	exitDone        = 0
	exitFailed      = 1
	exitRefused     = 2
	exitGate        = 3
	exitUnusable    = 4
	exitInterrupted = 130
)

// coded is an error that knows its exit code.
type coded struct {
	code int
	err  error
}

func (c coded) Error() string { return c.err.Error() }
func (c coded) Unwrap() error { return c.err }

func refused(err error) error { return coded{exitRefused, err} }
func failed(err error) error  { return coded{exitFailed, err} }

// errSilent ends with a code only: everything was said already.
var errSilent = errors.New("")

// streams are the process's own.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// windtunnel is the whole command line: arguments and streams in, the exit code out.
func windtunnel(args []string, in io.Reader, out, errs io.Writer) int {
	ends := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	// A second Ctrl-C ends the process at once; its agents then clean up by themselves.
	context.AfterFunc(ctx, stop)
	root := commands(streams{in, out, errs}, args)
	root.SetArgs(args)
	help := &checked{Writer: out}
	root.SetOut(help)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	var c coded
	switch {
	case help.failed != nil:
		c = coded{exitFailed, help.failed}
	case err == nil:
		return exitDone
	case !errors.As(err, &c):
		c = coded{exitRefused, unknownCommand(root, err)} // cobra's own: an unknown command, or a wrong number of arguments
	}
	if c.err != errSilent {
		fmt.Fprintf(errs, "windtunnel: %v\n", c.err)
	}
	return c.code
}

// checked keeps the first failure to write: cobra does not look whether its help was written.
type checked struct {
	io.Writer
	failed error
}

func (c *checked) Write(text []byte) (int, error) {
	n, err := c.Writer.Write(text)
	if c.failed == nil {
		c.failed = err
	}
	return n, err
}

func commands(s streams, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "windtunnel",
		Short: "Put a virtual network in the tunnel, blow traffic through it, and see what every layer costs",
		Example: "  windtunnel doctor                                # what this machine can do, and what to install\n" +
			"  windtunnel list                                  # the shipped suites, and what each asks\n" +
			"  windtunnel plan contrail-windows                 # draws what it would build; needs no root\n" +
			"  sudo windtunnel run contrail-windows --budget 3m # builds, measures and reports\n" +
			"  windtunnel recv, and on another host windtunnel send HOST",
		SilenceErrors: true, SilenceUsage: true,
		Version: release,
	}
	root.DisableSuggestions = true // unknownCommand has our own
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = true
	group(root, "Suites:", runCommand(s), betweenCommand(s), planCommand(s), listCommand(s), reportCommand(s), doctorCommand(s), cleanCommand(s))
	group(root, "Runs:", compareCommand(s), explainCommand(s), historyCommand(s), importCommand(s))
	group(root, "One-off traffic:", recvCommand(s), sendCommand(s, args), pingCommand(s), framesCommand(s), searchCommand(s, args), iperf3Command(s), ntttcpCommand(s))
	root.AddCommand(agentCommand(s))
	return root
}

// group adds commands that help shows together.
func group(root *cobra.Command, title string, all ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range all {
		c.GroupID = title
	}
	root.AddCommand(all...)
}
