package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/kernel"
)

type runFlags struct {
	config, socket, name string
	lease, clsact        bool
}

func newRun() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use: "run --config F --socket S", Short: "Run a vRouter in this network namespace", Args: cobra.NoArgs,
		Long: `Run a vRouter in this network namespace until it is told to end (SIGTERM, SIGINT).

When it forwards, it prints one line of JSON. Without --lease, its programs and tables are kept
under ` + kernel.Root + `/<name>: forwarding goes on when the process ends, and the next
one takes over. With --lease all of it ends with the process, and the process ends when its standard
input does, if that is a pipe.`,
		RunE: func(c *cobra.Command, _ []string) error {
			return runAgent(c.Context(), f, c.InOrStdin(), c.OutOrStdout())
		},
	}
	c.Flags().StringVar(&f.config, "config", "", "configuration file (JSON)")
	c.Flags().StringVar(&f.socket, "socket", "", "Unix socket to serve")
	c.Flags().StringVar(&f.name, "name", "", "the vRouter's name, instead of the configuration's")
	c.Flags().BoolVar(&f.lease, "lease", false, "remove everything at the end")
	c.Flags().BoolVar(&f.clsact, "clsact", false, "attach by clsact filters even where the kernel has tcx")
	require(c, "config", "socket")
	return c
}

// readConfig reads a file, or - for the standard input.
func readConfig(path string, stdin io.Reader) (config.Config, error) {
	var data []byte
	var err error
	if path == "-" {
		data, err = io.ReadAll(io.LimitReader(stdin, config.MaxBytes+1))
	} else {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return config.Config{}, refused{fmt.Errorf("reading the configuration: %w", err)}
	}
	c, err := config.Parse(data, path)
	if err != nil {
		return c, refused{err}
	}
	return c, nil
}

func runAgent(ctx context.Context, f runFlags, stdin io.Reader, stdout io.Writer) error {
	c, err := readConfig(f.config, stdin)
	if err != nil {
		return err
	}
	if f.name != "" {
		c.Name = f.name
	}
	if err := c.Validate(); err != nil {
		return refused{err}
	}
	listener, err := control.Listen(f.socket)
	if err != nil {
		return err
	}
	defer listener.Close()
	if f.lease && f.config != "-" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		endWith(stdin, cancel)
	}
	agent, err := control.Start(ctx, c, kernel.Options{Name: c.Name, Pin: !f.lease, Clsact: f.clsact})
	if err != nil {
		return fmt.Errorf("starting the vRouter %s: %w", c.Name, err)
	}
	err = announce(stdout, c.Name, agent)
	if err == nil {
		err = agent.Serve(ctx, listener)
	}
	return errors.Join(err, agent.Close())
}

func announce(stdout io.Writer, name string, agent *control.Agent) error {
	err := json.NewEncoder(stdout).Encode(struct {
		Ready    bool     `json:"ready"`
		Name     string   `json:"name"`
		PID      int      `json:"pid"`
		Features []string `json:"kernel_features"`
	}{true, name, os.Getpid(), agent.Features()})
	if err != nil {
		return fmt.Errorf("telling that the vRouter is ready: %w", err)
	}
	return nil
}

// endWith calls end when the standard input ends, if it is a pipe or socket: then it is held by
// whoever holds the lease. The reader is not waited for: it ends with the process.
func endWith(stdin io.Reader, end func()) {
	if f, ok := stdin.(*os.File); ok {
		info, err := f.Stat()
		if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
			return
		}
	}
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		end()
	}()
}
