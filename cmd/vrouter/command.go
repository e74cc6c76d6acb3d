package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/kernel"
)

// Exit codes.
const (
	exitDone    = 0
	exitFailed  = 1
	exitRefused = 2 // flags or configuration, before the machine was touched
)

// refused marks an error that came before the machine was touched.
type refused struct{ error }

func (r refused) Unwrap() error { return r.error }

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
	if err == nil {
		return exitDone
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
		Use: "vrouter", Short: "An overlay router in the manner of OpenContrail: kernel mode, by eBPF",
		SilenceUsage: true, SilenceErrors: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(newRun(), newApply(), newDelete())
	for _, t := range tables {
		root.AddCommand(newTable(t))
	}
	for _, c := range root.Commands() {
		begin := c.RunE
		c.RunE = func(c *cobra.Command, args []string) error {
			*started = true // cobra is through with the flags only here
			return begin(c, args)
		}
	}
	return root
}

func newDelete() *cobra.Command {
	var name string
	c := &cobra.Command{
		Use: "delete --name N", Short: "Remove a vRouter that was run without --lease and is not running", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !config.ValidName(name) {
				return refused{fmt.Errorf("%q is no vRouter's name", name)}
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
