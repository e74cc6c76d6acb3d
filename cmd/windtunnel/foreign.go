package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	iperf3 "windtunnel/traffic/iperf3/command"
	ntttcp "windtunnel/traffic/ntttcp/command"
)

// The commands of other tools take those tools' own flags, which cobra would
// read otherwise than they do: -P4, -u -b 2Gb, -m 1,*,ADDR. They go on where nobody
// reads their output any more (iperf3 ... | head -1), as those tools do: the other end
// waits for the test's end.

func iperf3Command(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "iperf3 FLAGS",
		Short: "Be iperf3, client or server: its flags, its protocol, its output",
		Example: "  windtunnel iperf3 -s\n" +
			"  windtunnel iperf3 -c 10.0.0.2 -t 10 -P 4\n" +
			"  windtunnel iperf3 -c 10.0.0.2 -u -b 2G -J",
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			signal.Ignore(syscall.SIGPIPE)
			return exited(iperf3.Run(c.Context(), args, s.in, s.out, s.err, os.Getenv))
		},
	}
}

func ntttcpCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "ntttcp FLAGS",
		Short: "Be ntttcp, for Windows or for Linux: its flags, its protocol, its tables and XML",
		Example: "  windtunnel ntttcp -r -m 1,*,10.0.0.2 -rb 2M -a 16 -t 15\n" +
			"  windtunnel ntttcp -s -m 1,*,10.0.0.2 -l 128k -a 2 -t 15\n" +
			"  windtunnel ntttcp --as linux -s 10.0.0.2 -P 4",
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			signal.Ignore(syscall.SIGPIPE)
			return exited(ntttcp.Run(c.Context(), args, s.in, s.out, s.err))
		},
	}
}

// exited passes on the exit code of a tool that has said everything itself.
func exited(code int) error {
	if code == exitDone {
		return nil
	}
	return coded{code, errSilent}
}
