// Package command is `windtunnel ntttcp`: the command lines and the outputs of
// NTttcp for Windows and of ntttcp-for-linux, over the protocols in ntttcp.
//
// The two tools give the same letters other meanings (-l, -a, -n, -x, and -P, -N,
// -L and more, as Windows' flags know no case). Which tool is meant is said by
// --as, or follows from a command line that only one of them would take.
package command
