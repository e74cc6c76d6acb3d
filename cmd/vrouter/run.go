package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"

	"github.com/spf13/cobra"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/kernel"
)

type runFlags struct {
	config, socket, name, metrics string
	lease, clsact                 bool
	poll                          pollFlags
}

func newRun() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use: "run --config F [flags]", Short: "Run a vRouter in this network namespace", Args: cobra.NoArgs,
		Long: `Run a vRouter in this network namespace until it is told to end (SIGTERM, SIGINT).

When it forwards, it prints one line of JSON. Without --lease, its programs and tables are kept
under ` + kernel.Root + `/<name>: forwarding goes on when the process ends, and the next
one takes over. With --lease all of it ends with the process, and the process ends when its standard
input does, if that is a pipe.

With --metrics it serves Prometheus' text format, to this machine only.

With --mode poll, packets are forwarded by a process on DPDK (vrouter-poll, which ` + "`make poll`" + ` builds),
which takes a CPU for itself. It needs --lease: it keeps nothing when it ends.`,
		Example: `  vrouter run --config node.json --lease
  vrouter run --config node.json --lease --mode poll --poll-cpu 3
  vrouter run --config node.json --socket /run/a.sock --metrics 127.0.0.1:9475`,
		RunE: func(c *cobra.Command, _ []string) error {
			return runAgent(c.Context(), f, c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.Flags().StringVar(&f.config, "config", "", "configuration file (JSON)")
	socketFlag(c, &f.socket, "Unix socket to serve")
	c.Flags().StringVar(&f.metrics, "metrics", "", "serve Prometheus metrics at 127.0.0.1:PORT or unix:/path")
	c.Flags().StringVar(&f.name, "name", "", "the vRouter's name, instead of the configuration's")
	c.Flags().BoolVar(&f.lease, "lease", false, "remove everything at the end")
	c.Flags().BoolVar(&f.clsact, "clsact", false, "attach by clsact filters even where the kernel has tcx")
	f.poll.add(c)
	require(c, "config")
	return c
}

// readConfig reads a file, or - for the standard input.
func readConfig(path string, stdin io.Reader) (config.Config, error) {
	source := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return config.Config{}, control.Refuse(fmt.Errorf("reading the configuration: %w", err))
		}
		defer file.Close()
		source = file
	}
	data, err := io.ReadAll(io.LimitReader(source, config.MaxBytes+1)) // one more, for Parse to refuse
	if err != nil {
		return config.Config{}, control.Refuse(fmt.Errorf("reading the configuration: %w", err))
	}
	c, err := config.Parse(data, path)
	if err != nil {
		return c, control.Refuse(err)
	}
	return c, nil
}

func runAgent(ctx context.Context, f runFlags, stdin io.Reader, stdout, stderr io.Writer) error {
	c, err := readConfig(f.config, stdin)
	if err != nil {
		return err
	}
	called := c.Name
	c.Name = cmp.Or(f.name, called)
	if err := errors.Join(c.Validate(), f.poll.check(f)); err != nil {
		return control.Refuse(err)
	}
	listener, err := control.Listen(f.socket)
	if err != nil {
		return err
	}
	defer listener.Close()
	var metrics net.Listener
	if f.metrics != "" {
		if metrics, err = control.ListenMetrics(f.metrics); err != nil {
			return err
		}
		defer metrics.Close()
	}
	if f.lease && f.config != "-" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		endWith(stdin, cancel)
	}
	agent, err := f.start(ctx, c, stderr)
	if err != nil {
		return fmt.Errorf("starting the vRouter %s: %w", c.Name, err)
	}
	agent.TakeName(called)
	err = announce(stdout, c.Name, agent)
	if err == nil {
		err = serveAll(ctx, agent, listener, metrics)
	}
	return errors.Join(err, agent.Close())
}

func (f runFlags) start(ctx context.Context, c config.Config, stderr io.Writer) (*control.Agent, error) {
	if f.poll.mode == control.ModePoll {
		return f.poll.start(ctx, c, stderr)
	}
	return control.Start(ctx, c, kernel.Options{Name: c.Name, Pin: !f.lease, Clsact: f.clsact})
}

// serveAll answers at the sockets until the context ends, or one of them fails.
func serveAll(ctx context.Context, agent *control.Agent, listener, metrics net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	scraped := make(chan error, 1)
	if metrics == nil {
		scraped <- nil
	} else {
		go func() {
			defer cancel()
			scraped <- agent.ServeMetrics(ctx, metrics)
		}()
	}
	err := agent.Serve(ctx, listener)
	cancel()
	return errors.Join(err, <-scraped)
}

func announce(stdout io.Writer, name string, agent *control.Agent) error {
	status, first := agent.Status(), agent.First()
	err := json.NewEncoder(stdout).Encode(struct {
		Ready    bool              `json:"ready"`
		Name     string            `json:"name"`
		Mode     string            `json:"mode"`
		PID      int               `json:"pid"`
		Features []string          `json:"kernel_features"`
		Networks int               `json:"networks"`
		Ports    int               `json:"ports"`
		Routes   int               `json:"routes"`
		Missing  []string          `json:"missing,omitempty"` // ports whose interface is not there
		Adopted  bool              `json:"adopted"`           // tables of an earlier process, and what was changed in them:
		Tables   control.TableWork `json:"tables"`
	}{true, name, status.Mode, os.Getpid(), agent.Features(), status.Networks, status.Ports, status.Routes, status.Missing, first.Adopted, first.Tables})
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
