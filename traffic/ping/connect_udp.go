package ping

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// greetingRound is after how long a hello over UDP is repeated.
const greetingRound = 100 * time.Millisecond

// introduction is the state of one flow's handshake.
type introduction struct {
	conn    net.Conn
	hello   hello
	joined  bool // the receiver will say when the other flows are in, too
	welcome bool
}

// introduceDatagrams says hello on every flow until all are welcome: in rounds, so
// that a long way costs a round trip a round, not one a flow.
func (e *ends) introduceDatagrams(ctx context.Context, l load) error {
	flows := make([]introduction, len(e.conns))
	for i, conn := range e.conns {
		flows[i] = introduction{conn: conn, hello: l.greeting(i, e.token)}
	}
	for missing := len(flows); missing > 0; {
		if ctx.Err() != nil {
			return fmt.Errorf("no answer on %d of %d flows: %w", missing, len(flows), ctx.Err())
		}
		var err error
		if missing, err = greetRound(flows); err != nil {
			return err
		}
	}
	for _, f := range flows {
		f.conn.SetDeadline(time.Time{})
		e.hellos = append(e.hellos, f.hello)
	}
	return nil
}

// greetRound repeats the hello of each flow that is not welcome yet, hears the
// answers, and returns how many still are not.
func greetRound(flows []introduction) (missing int, err error) {
	until := time.Now().Add(greetingRound)
	for i := range flows {
		if !flows[i].welcome && !flows[i].joined {
			flows[i].say()
		}
	}
	for i := range flows {
		if flows[i].welcome {
			continue
		}
		flows[i].conn.SetReadDeadline(until)
		if err := flows[i].hear(); err != nil {
			return 0, fmt.Errorf("flow %d: %w", i, err)
		}
		if !flows[i].welcome {
			missing++
		}
	}
	return missing, nil
}

// say sends the hello. A lost or refused one is repeated in the next round.
func (f *introduction) say() {
	b := f.hello.encode()
	f.conn.SetWriteDeadline(time.Time{})
	f.conn.Write(b[:])
}

// hear follows the receiver's answers until the flow is in or the round is over.
func (f *introduction) hear() error {
	var b [answerSize + 1]byte
	for {
		n, err := f.conn.Read(b[:])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			f.joined = false // what it waited for may be lost: say hello again
			return nil
		}
		if err != nil {
			return fmt.Errorf("waiting for the receiver's answer: %w", err)
		}
		a, err := decodeAnswer(b[:n])
		switch {
		case err != nil || a.Index != f.hello.Index:
			continue // something old, or a stranger's
		case a.Status == challenge:
			if f.hello.Cookie == a.Cookie {
				continue // the answer to a hello that was repeated
			}
			f.hello.Cookie = a.Cookie
			f.say()
		case a.Status == joined && f.joined:
			continue
		case a.Status == joined:
			f.joined = true
			return nil
		case a.Status == welcome:
			f.welcome = true
			return nil
		default:
			return a.refusal()
		}
	}
}
