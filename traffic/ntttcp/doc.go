// Package ntttcp speaks the protocols of ntttcp-for-linux 1.4.3 and of NTttcp for
// Windows 5.40, in both roles. The two share a name, the port 5001 and payload
// without framing; how their ends agree on a start has nothing in common:
//
//   - ntttcp-for-linux keeps a TCP connection to the port below the data ports, on
//     which 4-byte integers in network order go (sync.go, referee.go, caller.go).
//   - NTttcp for Windows opens, for each data connection, a second one to a port
//     1000 above, on which each end sends one byte (token.go).
//
// Neither exchanges results: each end prints what it saw itself.
package ntttcp
