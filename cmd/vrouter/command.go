package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/kernel"
)

// Exit codes.
const (
	exitDone    = 0
	exitFailed  = 1
	exitRefused = 2 // flags or configuration, before anything was changed
	exitChanges = 3 // apply --dry-run --exit-code: something would change
)

// refused marks an error that came before anything was changed.
type refused = control.Refused

// errWouldChange ends a dry run that was asked for its exit code.
var errWouldChange = errors.New("something would change")

// run is the program: it gives the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGINT)
	defer stop()
	started := false
	root := newRoot(&started)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errWouldChange):
		return exitChanges
	}
	fmt.Fprintln(stderr, "vrouter:", err)
	if !started || errors.As(err, new(refused)) {
		return exitRefused
	}
	return exitFailed
}

// newRoot makes the command; started is set once the flags were right.
func newRoot(started *bool) *cobra.Command {
	root := &cobra.Command{
		Use: "vrouter", Short: "An overlay router in the manner of OpenContrail, by eBPF or on DPDK",
		Long: `An overlay router in the manner of OpenContrail: in kernel mode by eBPF, or in poll mode on DPDK.

All commands but run and delete speak to a running vRouter by its socket: --socket, or else
$` + socketVariable + `, or else ` + defaultSocket + `.

Exit codes: 0 done; 1 failed; 2 refused, with nothing changed; 3 apply --dry-run --exit-code found
that something would change.`,
		Example: `  vrouter run --config node.json --lease     run one until this terminal ends it
  vrouter apply node.json --dry-run          what would this file change?
  vrouter stats --network network1           what a network sent, got and lost
  vrouter trace --port sender --to 10.0.1.4  what would become of this packet?`,
		SilenceUsage: true, SilenceErrors: true, Args: noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(nearestFlag)
	root.AddGroup(&cobra.Group{ID: "change", Title: "To run and change one:"}, &cobra.Group{ID: "look", Title: "To look into one:"})
	add := func(group string, c *cobra.Command) {
		c.GroupID = group
		root.AddCommand(c)
	}
	add("change", newRun())
	add("change", newApply())
	add("change", newDelete())
	for _, t := range tables {
		c := newTable(t)
		if t.name == "rt" {
			c.AddCommand(newRouteAdd(), newRouteDel(), newRouteSweep())
		}
		add("look", c)
	}
	add("look", newTrace())
	add("look", newOffload())
	tellStarted(root.Commands(), started)
	return root
}

func tellStarted(commands []*cobra.Command, started *bool) {
	for _, c := range commands {
		begin := c.RunE
		c.RunE = func(c *cobra.Command, args []string) error {
			*started = true // cobra is through with the flags only here
			return begin(c, args)
		}
		tellStarted(c.Commands(), started)
	}
}

// noSuchCommand is for words that are no command.
func noSuchCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var words []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			words = append(words, c.Name())
		}
	}
	hint := config.Nearest(args[0], words)
	if hint == "" {
		hint = "; `vrouter --help` lists them"
	}
	return fmt.Errorf("unknown command %q%s", args[0], hint)
}

// one wants one argument, and says which.
func one(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return fmt.Errorf("%s takes one argument, %s, not %d; `%s --help` has examples", c.CommandPath(), what, len(args), c.CommandPath())
	}
}

// nearestFlag adds the flag that was probably meant.
func nearestFlag(c *cobra.Command, err error) error {
	word, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
		return err
	}
	var words []string
	for _, flag := range strings.Fields(c.Flags().FlagUsages()) {
		if strings.HasPrefix(flag, "--") {
			words = append(words, flag)
		}
	}
	hint := config.Nearest("--"+word, words)
	if !strings.Contains(hint, "did you mean") {
		hint = fmt.Sprintf("; `%s --help` lists them", c.CommandPath())
	}
	return fmt.Errorf("%w%s", err, hint)
}

const (
	socketVariable = "VROUTER_SOCKET"
	defaultSocket  = "/run/vrouter.sock"
)

func socketFlag(c *cobra.Command, socket *string, says string) {
	at := os.Getenv(socketVariable)
	if at == "" {
		at = defaultSocket
	}
	c.Flags().StringVar(socket, "socket", at, says)
}

func newDelete() *cobra.Command {
	var name string
	c := &cobra.Command{
		Use: "delete --name N", Short: "Remove a vRouter that was run without --lease and is not running", Args: cobra.NoArgs,
		Example: "  vrouter delete --name D-a",
		RunE: func(c *cobra.Command, _ []string) error {
			if !config.ValidName(name) {
				return control.Refuse(fmt.Errorf("%q is no vRouter's name", name))
			}
			found, err := kernel.Delete(name)
			if err == nil && !found {
				fmt.Fprintf(c.ErrOrStderr(), "there is no vRouter %q\n", name)
			}
			return err
		},
	}
	c.Flags().StringVar(&name, "name", "", "the vRouter's name")
	require(c, "name")
	return c
}

func require(c *cobra.Command, flags ...string) {
	for _, flag := range flags {
		if err := c.MarkFlagRequired(flag); err != nil {
			panic(err) // the flag was not declared
		}
	}
}
