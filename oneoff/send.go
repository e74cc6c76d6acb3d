package oneoff

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// SendConfig is one measurement, from here to a receiver.
type SendConfig struct {
	Host     string // name or IP
	Port     int    // of the receiver's control connection; 0: DefaultPort
	Kind     string
	Load     result.Options // what differs from the kind's defaults
	WarmUp   time.Duration
	Window   time.Duration
	Interval time.Duration // 0: none
	CPUs     []int         // for the hot threads, in turn; empty: not pinned
	// Calibrations keeps what this machine's generator reaches by itself; the
	// empty path: it is not calibrated.
	Calibrations traffic.Calibrations
	Release      string
	alone        bool // nothing else is measured meanwhile: traffic.Schedule's
}

// Show is told how a measurement goes; either may be nil.
type Show struct {
	Say      func(line string)
	Interval func(Paired) // in order, one call at a time
}

func (s Show) say(format string, args ...any) {
	if s.Say != nil {
		s.Say(fmt.Sprintf(format, args...))
	}
}

// Outcome is what both ends saw.
type Outcome struct {
	Kind        string            `json:"kind"`
	Host        string            `json:"host"`
	Load        result.Options    `json:"load"`
	WarmUp      float64           `json:"warm_up_seconds"`
	Window      float64           `json:"window_seconds"` // asked for; the ends say what they took
	Interrupted bool              `json:"interrupted,omitempty"`
	Pair        result.PairSample `json:"pair"`
}

// How long a sender waits for a receiver.
const (
	dialPatience    = 5 * time.Second
	readyPatience   = 10 * time.Second
	connectPatience = 15 * time.Second
	resultPatience  = endPatience + 5*time.Second
	stopPatience    = 3 * time.Second
	// startDelay is from when the receiver hears of the start to the start.
	startDelay = 100 * time.Millisecond
	// surelyWire is how much of the wait for the receiver's word on that may be
	// the way back. What is longer may as well be a busy receiver, before which
	// this end must not start by more than its traffic's tail makes good.
	surelyWire = 50 * time.Millisecond
)

// Check refuses what can be refused before anything is sent, and fills the load
// with the kind's defaults.
func (c SendConfig) Check() (SendConfig, error) {
	kind, err := KindByName(c.Kind)
	if err != nil {
		return c, err
	}
	if c.Load, err = complete(kind, c.Load); err != nil {
		return c, err
	}
	if c.Port == 0 {
		c.Port = DefaultPort
	}
	if err := checkHost(c.Host); err != nil {
		return c, err
	}
	if c.Port < 0 || c.Port > 65535 {
		return c, fmt.Errorf("port %d is none", c.Port)
	}
	if err := traffic.CheckCPUs(c.CPUs); err != nil {
		return c, err
	}
	return c, times{c.WarmUp, c.Window, c.Interval}.check()
}

// checkHost refuses what would be looked up as a name and is none.
func checkHost(host string) error {
	if host == "" {
		return errors.New("no host is named")
	}
	if name, port, err := net.SplitHostPort(host); err == nil {
		return fmt.Errorf("%s has a port in it; write %s and the flag --port %s", host, name, port)
	}
	if bare := strings.Trim(host, "[]"); bare != host {
		return fmt.Errorf("%s: write %s without brackets", host, bare)
	}
	return nil
}

// Send measures once. Where ctx ends early, or an end fails, the outcome holds
// what there is, if the window had begun.
func Send(ctx context.Context, config SendConfig, show Show) (Outcome, error) {
	config, err := config.Check()
	if err != nil {
		return Outcome{}, err
	}
	kind, err := KindByName(config.Kind)
	if err != nil {
		return Outcome{}, err
	}
	calibrated := calibrate(ctx, kind, config, show)
	s := &sending{SendConfig: config, kind: kind, show: show}
	outcome, err := s.measure(ctx)
	if !outcome.Usable() {
		return outcome, err
	}
	pair := &outcome.Pair
	cut := outcome.cut(err)
	if calibrated > 0 && !result.Ways(pair.Sender, pair.Receiver)[0].Back {
		config.noteCalibration(kind, &pair.Sender, calibrated, cut)
	}
	limit := outcome.verdict(err)
	pair.Limit = &limit
	return outcome, err
}

// cut tells whether something ended a measurement before its time.
func (o Outcome) cut(failed error) bool {
	return failed != nil || o.Interrupted || o.Pair.Sender.Error != "" || o.Pair.Receiver.Error != ""
}

// verdict is what bounded a measurement; none of one that an end cut short, whose figures are of its end, too. Whoever interrupts one is
// its reason, whatever the ends say of each other's end then.
func (o Outcome) verdict(failed error) result.Limit {
	switch {
	case !o.Interrupted && o.Pair.Sender.Error+o.Pair.Receiver.Error != "": // which may be of a window that was whole
		return result.Limit{Says: "no verdict: an end has failed, as is said beside its figures"}
	case o.cut(failed):
		return result.Limit{Says: "no verdict: the measurement was cut short"}
	}
	return traffic.Judge(o.Load, o.Pair.Sender, o.Pair.Receiver)
}

// sending is one measurement under way.
type sending struct {
	SendConfig
	kind traffic.Kind
	show Show
	wire *wire
}

func (s *sending) measure(ctx context.Context) (Outcome, error) {
	place := net.JoinHostPort(s.Host, strconv.Itoa(s.Port))
	dialer := net.Dialer{Timeout: dialPatience}
	conn, err := dialer.DialContext(ctx, "tcp", place)
	if unknown := (*net.DNSError)(nil); errors.As(err, &unknown) {
		return Outcome{}, fmt.Errorf("finding the receiver: %w; is %s its name?", unknown, s.Host)
	}
	if says := traffic.BadZone(s.Host); err != nil && says != "" {
		return Outcome{}, fmt.Errorf("reaching the receiver: %w; %s", err, says)
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("reaching the receiver: %w; %s", err, notReached(err, s.Port))
	}
	defer conn.Close()
	s.wire = newWire(conn, longestReply)
	unhurry := context.AfterFunc(ctx, func() { s.wire.hurry(context.Cause(ctx)) })
	defer unhurry()
	address, err := s.order(place)
	if err != nil {
		return Outcome{}, err
	}
	preparing, cancel := context.WithTimeout(ctx, connectPatience)
	defer cancel()
	worker, err := s.kind.Prepare(preparing, traffic.Order{Role: traffic.Send, Kind: s.Kind, Load: s.Load, Address: address, CPUs: s.CPUs})
	if err != nil {
		return Outcome{}, fmt.Errorf("preparing to send to %s%s: %w", address, mayPass(err), err)
	}
	defer worker.Close()
	start, err := s.start()
	if err != nil {
		return Outcome{}, fmt.Errorf("starting the receiver: %w", err)
	}
	if !unhurry() {
		return Outcome{}, ctx.Err()
	}
	return s.run(ctx, worker, start)
}

// notReached is what to look at where a receiver could not be connected to.
func notReached(err error, port int) string {
	if says := traffic.NoRoute(err); says != "" {
		return says
	}
	return fmt.Sprintf("is `windtunnel recv` running there, and may port %d pass?", port)
}

// mayPass asks for the data's port where it is the connection to it that failed, and not this host that had no socket for it.
func mayPass(err error) string {
	var way *net.OpError
	var call *os.SyscallError
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &way) && (way.Timeout() || errors.As(err, &call) && strings.HasPrefix(call.Syscall, "connect")) { // connectex on Windows
		return " (may the data's port pass? `windtunnel recv --data-ports` fixes which it is)"
	}
	return ""
}

// order greets, says what is wanted, and returns where the data goes.
func (s *sending) order(place string) (address string, err error) {
	var theirs hello
	if err := s.wire.read(&theirs, helloPatience); err != nil {
		return "", fmt.Errorf("%s took the connection but does not greet as `windtunnel recv` does: %w", place, err)
	}
	if theirs.Windtunnel != protocolVersion || theirs.Role != roleReceive {
		return "", fmt.Errorf("%s (release %q) speaks version %d of the protocol, this program version %d: use the same release at both ends",
			place, result.Clip(theirs.Release), theirs.Windtunnel, protocolVersion)
	}
	err = s.wire.write(hello{Windtunnel: protocolVersion, Role: roleSend, Release: s.Release})
	if err == nil {
		err = s.wire.write(ask{Do: doPrepare, Kind: s.Kind, Load: s.Load, WarmUpSeconds: s.WarmUp.Seconds(),
			WindowSeconds: s.Window.Seconds(), IntervalSeconds: s.Interval.Seconds()})
	}
	if err != nil {
		return "", fmt.Errorf("asking %s: %w", place, err)
	}
	var answer reply
	if err := s.wire.read(&answer, readyPatience); err != nil {
		return "", fmt.Errorf("waiting for the answer of %s: %w", place, err)
	}
	if answer.Say != sayReady {
		return "", fmt.Errorf("%s says %s: %s", place, result.Clean(result.Clip(answer.Say)), clipLong(answer.Why))
	}
	return s.dataAddress(answer.Address)
}

// dataAddress is the answer's port at the host that was reached: behind a
// translator of addresses, the receiver does not know its own.
func (s *sending) dataAddress(answered string) (string, error) {
	host, err := hostOf(s.wire.conn.RemoteAddr())
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(answered)
	if err != nil {
		return "", fmt.Errorf("the receiver's data address %q is none", result.Clip(answered))
	}
	return net.JoinHostPort(host, port), nil
}

// run lets both ends run, and gathers what they say.
func (s *sending) run(ctx context.Context, worker traffic.Worker, start time.Time) (Outcome, error) {
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	pairs := newPairing(s.Interval, s.show.Interval)
	theirs := traffic.NewWatcher(pairs.receiver)
	r := &remote{wire: s.wire, intervals: theirs.Tell, broken: cancel}
	var listening sync.WaitGroup
	listening.Go(r.listen)
	s.show.say("sending %s for %s after %s of warm-up", s.Kind, s.Window, s.WarmUp)
	thief := watchStolen(start.Add(s.WarmUp), s.Window)
	mine, err := worker.Run(running, traffic.Schedule{Start: start, WarmUp: s.WarmUp, Window: s.Window, Interval: s.Interval,
		Alone: s.alone, OneOff: true, Observe: pairs.sender})
	mine.Stolen = thief.end()
	s.await(ctx, err != nil, r, &listening)
	theirs.Close()
	pairs.flush()
	return s.outcome(ctx, mine, r, err)
}

// start lets the receiver start, and returns when it does, by this end's clock:
// it heard of it half a round trip before its word on that came.
func (s *sending) start() (time.Time, error) {
	asked := time.Now()
	if err := s.wire.write(ask{Do: doStart, InSeconds: startDelay.Seconds()}); err != nil {
		return asked, err
	}
	var answer reply
	if err := s.wire.read(&answer, readyPatience); err != nil {
		return asked, err
	}
	if answer.Say != sayStarting {
		return asked, fmt.Errorf("it says %s: %s", result.Clean(result.Clip(answer.Say)), clipLong(answer.Why))
	}
	back := min(time.Since(asked)/2, surelyWire)
	return time.Now().Add(startDelay - back), nil
}

// await waits for the receiver's last word: a while after a full window, briefly
// after one that was cut short, and once ctx ends.
func (s *sending) await(ctx context.Context, early bool, r *remote, listening *sync.WaitGroup) {
	limit := time.AfterFunc(resultPatience, func() { s.wire.hurry(errors.New("it sent no result")) })
	defer limit.Stop()
	stop := func() {
		_ = s.wire.write(ask{Do: doStop})
		limit.Reset(stopPatience)
	}
	if early {
		stop()
	} else {
		defer context.AfterFunc(ctx, stop)()
	}
	listening.Wait()
}

// errByReceiver is why this end stopped where the receiver failed, whose own words stand beside.
var errByReceiver = errors.New("ended by the receiver")

// outcome puts both ends together.
func (s *sending) outcome(ctx context.Context, mine result.PairEnd, r *remote, err error) (Outcome, error) {
	o := Outcome{Kind: s.Kind, Host: s.Host, Load: s.Load, WarmUp: s.WarmUp.Seconds(), Window: s.Window.Seconds(), Interrupted: ctx.Err() != nil}
	o.Pair = result.PairSample{From: "here", To: s.Host, Sender: mine}
	if r.end != nil {
		o.Pair.Receiver = *r.end
	}
	if mine.WindowSeconds == 0 && err == nil {
		err = errors.New("the sender counted nothing")
	}
	if r.err != nil {
		why(&o.Pair.Sender, errByReceiver)
	}
	switch {
	case o.Interrupted && o.Usable():
		o.Pair.Sender.Error = ""
		return o, nil
	case o.Interrupted:
		return o, ctx.Err()
	case errors.Is(err, context.Canceled) && r.err != nil: // by what the receiver did
		return o, r.err
	case err != nil && r.err != nil:
		return o, fmt.Errorf("sending: %w (%v)", err, r.err)
	case err != nil:
		return o, fmt.Errorf("sending: %w", err)
	case r.err != nil:
		return o, r.err
	case mine.Error != "":
		return o, fmt.Errorf("the sender: %s", mine.Error)
	case o.Pair.Receiver.Error != "":
		return o, fmt.Errorf("the receiver: %s", clipLong(o.Pair.Receiver.Error))
	}
	return o, nil
}

// Usable reports whether there is something to show: the window had begun.
func (o Outcome) Usable() bool { return o.Pair.Sender.WindowSeconds > 0 }

// clipLong makes a stranger's sentence fit to be shown.
func clipLong(text string) string {
	const longest = 512
	if len(text) > longest {
		text = text[:longest] + "..."
	}
	return result.Clean(text)
}
