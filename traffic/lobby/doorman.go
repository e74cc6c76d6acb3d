// Package lobby is where a receiver of a load meets its sender: connections that have to
// introduce themselves soon, and groups of flows that wait for their last one.
package lobby

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// lastPatience is how long a connection may take to introduce itself that only hears of the lack of files.
const lastPatience = time.Second

// Doorman accepts connections that have yet to say who they are. Strangers cost it
// little: so many at a time, each for so long. Once it is shut nothing listens any more,
// so that a foreign connection costs the measured threads nothing.
type Doorman struct {
	socket   net.Listener
	most     int
	patience time.Duration
	handlers sync.WaitGroup
	spare    *Spare

	mu       sync.Mutex
	shut     bool
	greeting []net.Conn // oldest first
}

// Listen opens a TCP socket for a doorman, without keep-alives and MPTCP. The address is
// an IP, or an IP:port where the caller wants the port; control may be nil.
func Listen(ctx context.Context, address string, control Control) (*net.TCPListener, error) {
	config := net.ListenConfig{Control: control, KeepAlive: -1}
	config.SetMultipathTCP(false)
	socket, err := config.Listen(ctx, "tcp", BindAddress(address))
	if err != nil {
		return nil, err
	}
	return socket.(*net.TCPListener), nil
}

// BindAddress is the address with port 0, any, unless it has one.
func BindAddress(address string) string {
	if _, err := netip.ParseAddrPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(address, "0")
}

// NewDoorman is one who lets so many connections be unidentified at once, each for so
// long, from Open on.
func NewDoorman(socket net.Listener, most int, patience time.Duration) *Doorman {
	return &Doorman{socket: socket, most: most, patience: patience, spare: NewSpare()}
}

// Open begins to accept. Greet runs for each connection that has introduced itself, with
// the bytes, so many, by which it did; the deadline of the introduction is still on it.
// Who says less is hung up on. Lack has in place of greet the connection that came when
// there was no file for another one: it says so, and closes it.
func (d *Doorman) Open(size int, greet, lack func(hello []byte, conn net.Conn)) {
	d.handlers.Go(func() {
		defer d.spare.Close()
		for {
			conn, last, err := d.spare.Accept(d.socket)
			switch {
			case errors.Is(err, net.ErrClosed), err != nil && d.isShut():
				return
			case err != nil:
				time.Sleep(AcceptPause)
			case !d.admit(conn, last):
				conn.Close()
				d.spare.Restore()
			case last: // one at a time, as there is one spare file
				d.introduce(size, conn, lack)
				d.spare.Restore()
			default:
				d.handlers.Go(func() { d.introduce(size, conn, greet) })
			}
		}
	})
}

func (d *Doorman) introduce(size int, conn net.Conn, then func(hello []byte, conn net.Conn)) {
	hello := make([]byte, size)
	_, err := io.ReadFull(conn, hello)
	d.introduced(conn)
	if err != nil {
		conn.Close()
		return
	}
	then(hello, conn)
}

func (d *Doorman) isShut() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shut
}

// Address is where it listens, or did.
func (d *Doorman) Address() net.Addr { return d.socket.Addr() }

// admit takes a connection among those that have yet to introduce themselves. The one
// that has waited longest makes way, so that silent strangers keep nobody out. The last
// one for which there was a file has less time, as nobody else can come meanwhile.
func (d *Doorman) admit(conn net.Conn, last bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		return false
	}
	if len(d.greeting) == d.most {
		d.greeting[0].SetDeadline(time.Unix(1, 0)) // its greeting ends by that
		d.greeting = d.greeting[1:]
	}
	d.greeting = append(d.greeting, conn)
	patience := d.patience
	if last {
		patience = min(patience, lastPatience)
	}
	conn.SetDeadline(time.Now().Add(patience)) // under the lock: Shut shortens it
	return true
}

// introduced takes a connection off those that Shut and newcomers hurry. Its deadline
// stays; one that had to make way just as it spoke gets its time back.
func (d *Doorman) introduced(conn net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.Index(d.greeting, conn); i >= 0 {
		d.greeting = slices.Delete(d.greeting, i, i+1)
	} else if !d.shut {
		conn.SetDeadline(time.Now().Add(d.patience))
	}
}

// Shut stops listening and hurries whoever has not introduced itself.
func (d *Doorman) Shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = true
	d.socket.Close()
	for _, conn := range d.greeting {
		conn.SetDeadline(time.Unix(1, 0))
	}
}

// Wait waits until no connection is greeted any more, after Shut.
func (d *Doorman) Wait() { d.handlers.Wait() }
