package command

import "strings"

// help is the whole manual of the command.
func help() string {
	var b strings.Builder
	b.WriteString(`Send or receive as NTttcp for Windows or as ntttcp-for-linux, with that tool's flags, output and XML.
The other end may be the tool itself or this command. It must be the same tool on both ends, unless both go
without synchronisation (-N on Linux, -ns on Windows).

  windtunnel ntttcp [--as windows|linux] FLAGS

The tools mean other things by the same letters. Without --as the tool is the one that would take the
command line; where both would, it is refused with both readings.

Examples:
  windtunnel ntttcp -r -m 1,*,192.0.2.2 -rb 2M -a 16 -t 15     receive as on Windows, at the own address 192.0.2.2
  windtunnel ntttcp -s -m 1,*,192.0.2.2 -l 128k -a 2 -t 15     send to it
  windtunnel ntttcp -r                                          receive as on Linux, 16 ports
  windtunnel ntttcp -s 192.0.2.2 -P 16 -n 4 -t 15 -x            send to it, 64 connections; XML to a file
  windtunnel ntttcp -s 192.0.2.2 -N -P 1 -n 1 -t 15             from Linux to NTttcp for Windows with -ns -m 1,*,192.0.2.2

Flags with --as windows (upper and lower case are the same; MB are 2^20 bytes):
`)
	b.WriteString(describe(newWindowsFlags().table()))
	b.WriteString("\nFlags with --as linux (MB are 10^6 bytes):\n")
	b.WriteString(describe(newLinuxFlags().table()))
	b.WriteString(`
A file that is there already is kept as FILE.1, FILE.2 and so on. Figures that this system does not have
are 0, and a note on standard error says so.
`)
	return b.String()
}
