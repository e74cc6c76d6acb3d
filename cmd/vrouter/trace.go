package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"windtunnel/vrouter/control"
	"windtunnel/vrouter/packet"
)

type traceFlags struct {
	socket       string
	request      control.TraceRequest
	watch        control.WatchRequest
	ttl          uint8
	live, asJSON bool
}

func newTrace() *cobra.Command {
	var f traceFlags
	c := &cobra.Command{
		Use: "trace [flags]", Short: "Show what would become of a packet, step by step", Args: cobra.NoArgs,
		Long: `Show what would become of a packet, step by step, without sending it: the programs that forward
run over the tables as they are, but neither send nor count.

The packet is one that a port's container would send (--port, --to), or a frame in hexadecimal
(--hex, - for the standard input), from a port or the fabric.

With --live, packets that pass are shown as they come, and forwarded as ever: those of a port or of
an address, or all. Meanwhile every packet costs a look; before and after, none.`,
		Example: `  vrouter trace --port sender --to 10.0.1.4
  vrouter trace --port sender --to 10.0.1.4 --proto udp --dport 53 --size 1500
  vrouter trace --fabric --hex 020000000001...
  vrouter trace --live --port sender --host 10.0.1.4 --count 5`,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("ttl") {
				f.request.TTL = &f.ttl
			}
			return trace(c, f)
		},
	}
	r := &f.request
	socketFlag(c, &f.socket, "the vRouter's Unix socket")
	c.Flags().StringVar(&r.Port, "port", "", "the port that sends the packet; with --live, from and to which")
	c.Flags().BoolVar(&r.Fabric, "fabric", false, "the frame comes from the fabric")
	c.Flags().StringVar(&r.Hex, "hex", "", "a whole Ethernet frame in hexadecimal")
	c.Flags().StringVar(&r.To, "to", "", "the destination's address")
	c.Flags().StringVar(&r.MAC, "mac", "", "whom the frame is addressed to, instead of who answers for --to")
	c.Flags().StringVar(&r.From, "from", "", "the source's address, instead of the port's")
	c.Flags().StringVar(&r.Proto, "proto", "icmp", "icmp, udp, tcp, arp or nd")
	c.Flags().Uint16Var(&r.Sport, "sport", 40000, "source port")
	c.Flags().Uint16Var(&r.Dport, "dport", 80, "destination port")
	c.Flags().IntVar(&r.Size, "size", 0, "bytes of the IP packet (default: as short as it can be)")
	c.Flags().Uint8Var(&f.ttl, "ttl", 64, "time to live")
	c.Flags().Uint8Var(&r.TOS, "tos", 0, "traffic class: DSCP and ECN")
	c.Flags().BoolVar(&r.NoDF, "no-df", false, "the packet may be fragmented")
	c.Flags().BoolVar(&f.live, "live", false, "show packets that pass")
	c.Flags().StringVar(&f.watch.Host, "host", "", "with --live: only packets from or to this address")
	c.Flags().IntVar(&f.watch.Count, "count", 10, "with --live: how many packets")
	c.Flags().IntVar(&f.watch.Seconds, "seconds", 10, "with --live: how long to wait for them")
	jsonFlag(c, &f.asJSON)
	return c
}

func trace(c *cobra.Command, f traceFlags) error {
	if f.live {
		return watch(c, f)
	}
	if f.request.Hex == "-" {
		text, err := io.ReadAll(io.LimitReader(c.InOrStdin(), 1<<20))
		if err != nil {
			return fmt.Errorf("reading the frame: %w", err)
		}
		f.request.Hex = string(text)
	}
	if f.request.Hex == "" && (f.request.Port == "" || f.request.To == "") {
		return control.Refuse(errors.New("say which packet: --port and --to, or --hex with --port or --fabric; or --live"))
	}
	reply, err := control.Ask(f.socket, control.Request{Trace: &f.request})
	if err != nil {
		return err
	}
	return show(c.OutOrStdout(), reply, f.asJSON, func(out io.Writer) error { return printTrace(out, reply) })
}

// watch shows live packets as they come.
func watch(c *cobra.Command, f traceFlags) error {
	if f.request.Hex != "" || f.request.To != "" || f.request.Fabric {
		return control.Refuse(errors.New("--live shows packets that pass; it takes --port, --host, --count and --seconds"))
	}
	f.watch.Port = f.request.Port
	shown := 0
	err := control.Watch(c.Context(), f.socket, f.watch, func(reply json.RawMessage) error {
		shown++
		return show(c.OutOrStdout(), reply, f.asJSON, func(out io.Writer) error {
			if shown > 1 {
				fmt.Fprintln(out)
			}
			return printTrace(out, reply)
		})
	})
	if err == nil {
		fmt.Fprintf(c.ErrOrStderr(), "%d packets matched\n", shown)
	}
	return err
}

func printTrace(out io.Writer, reply []byte) error {
	var t control.TraceReply
	if err := decode(reply, &t); err != nil {
		return err
	}
	return columns(out, func(line func(string)) {
		layers := func(list []packet.Layer) {
			for _, l := range list {
				line("  " + l.Layer + "\t" + l.Says)
			}
		}
		line(fmt.Sprintf("in, from %s, %d bytes", t.At, t.Length))
		layers(t.In)
		line("steps")
		for _, s := range t.Steps {
			line("  " + s.Step + "\t" + s.Says)
		}
		if t.Out != nil {
			line(fmt.Sprintf("out, by %s, %d bytes", t.Out.Interface, t.Out.Length))
			layers(t.Out.Layers)
		}
	})
}
