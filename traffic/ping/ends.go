package ping

import "net"

// ends are this worker's ends of a session's flows, before an engine takes them
// over: a connected socket each, or a UDP receiver's one socket (see greeter).
type ends struct {
	token    token
	conns    []net.Conn
	hellos   []hello  // a UDP sender's, with the receiver's cookies: it says farewell by them
	datagram *greeter // a UDP receiver's, which holds its flows until they are taken; else nil
}

// close frees what no engine has taken over.
func (e *ends) close() {
	closeConns(e.conns)
	e.conns = nil
	if e.datagram != nil {
		e.datagram.close()
		e.datagram = nil
	}
}
