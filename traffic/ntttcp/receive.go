package ntttcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Receiver is a receiver's end that listens already.
type Receiver struct {
	test   *Test
	lobby  *lobby         // TCP
	udp    []*net.UDPConn // one a thread, until the engine has them
	lost   error          // why they could not be opened again after a test
	desk   *desk          // SyncLinux
	tokens []net.Listener // SyncWindows, one a thread

	share   net.Listener // SharePort: hands data ports out
	sharing sync.WaitGroup
}

// Listen opens every port of a receiver.
func (t Test) Listen(ctx context.Context) (*Receiver, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	test := &t
	test.Threads = slices.Clone(t.Threads)
	test.takeTurns()
	r := &Receiver{test: test}
	if err := r.open(ctx); err != nil {
		r.Close()
		return nil, err
	}
	test.say(Event{What: Listening, N: len(test.Threads)})
	return r, nil
}

func (r *Receiver) open(ctx context.Context) error {
	t := r.test
	if !t.UDP {
		r.lobby = newLobby(mostGuests(mostFiles(), t.otherFiles()))
		r.lobby.crowded = func(out netip.Addr) { t.note("%s: %s", out, r.lobby.crowdSays()) }
	}
	if t.SharePort {
		// The first port hands the others out.
		first := t.Threads[0].Port
		for i := range t.Threads {
			t.Threads[i].Port++
		}
		if err := r.sharePort(ctx, first); err != nil {
			return err
		}
	}
	var err error
	if t.Sync == SyncLinux {
		if r.desk, err = r.openDesk(ctx); err != nil {
			return err
		}
	}
	if t.UDP {
		err = r.openUDP(ctx)
	} else {
		err = r.openLobby(ctx)
	}
	if err != nil || t.Sync != SyncWindows {
		return err
	}
	for _, thread := range t.Threads {
		listener, err := t.listen(ctx, thread.Host, thread.Port+tokenOffset)
		if err != nil {
			return fmt.Errorf("listening for tokens: %w", err)
		}
		r.tokens = append(r.tokens, listener)
	}
	return nil
}

func (r *Receiver) openUDP(ctx context.Context) error {
	t := r.test
	for _, thread := range t.Threads {
		config := net.ListenConfig{Control: t.control}
		conn, err := config.ListenPacket(ctx, t.network(), hostPort(thread))
		if err != nil {
			return err
		}
		r.udp = append(r.udp, conn.(*net.UDPConn))
	}
	return nil
}

// Close frees the ports.
func (r *Receiver) Close() {
	if r.share != nil {
		r.share.Close()
		r.sharing.Wait()
	}
	if r.desk != nil {
		r.desk.close()
	}
	if r.lobby != nil {
		r.lobby.close()
	}
	for _, conn := range r.udp {
		conn.Close()
	}
	for _, listener := range r.tokens {
		listener.Close()
	}
}

// Run waits for senders, takes part in one test and reports it. It may be called
// again for the next one.
func (r *Receiver) Run(ctx context.Context) (Report, error) {
	if r.lost != nil {
		return Report{}, r.lost
	}
	report, err := r.runOnce(ctx)
	if r.test.UDP && r.udp == nil {
		r.lost = r.openUDP(ctx) // before the next sender is let in
	}
	if err == nil && r.desk != nil {
		r.desk.settle()
	}
	return report, err
}

func (r *Receiver) runOnce(ctx context.Context) (Report, error) {
	t := *r.test
	f := newFleet(&t)
	defer f.close()
	terms, err := r.await(ctx, &t, f)
	if err != nil {
		return Report{}, err
	}
	stop, joined := make(chan struct{}), make(chan error, 1)
	go func() { joined <- r.joinLate(f, terms.late, stop) }()
	s := stages{test: &t, fleet: f, stop: terms.over, said: terms.said}
	report := s.run(ctx, terms.total)
	close(stop)
	report.Missed = <-joined
	f.halt()
	return report, nil
}

// terms are what a test begins with.
type terms struct {
	total time.Duration    // 0: continuous
	said  time.Time        // when the senders were told to begin; zero: they were not
	over  <-chan why       // how the senders end it; nil: only by time
	late  func(guest) bool // who may still join; nil: nobody
}

// await returns when the test begins, with the connections in the fleet; an error where that takes longer than is asked for.
func (r *Receiver) await(ctx context.Context, t *Test, f *fleet) (terms, error) {
	if t.Wait <= 0 {
		return r.awaitSender(ctx, t, f)
	}
	waiting, cancel := context.WithTimeout(ctx, t.Wait)
	defer cancel()
	now, err := r.awaitSender(waiting, t, f)
	if err == nil || ctx.Err() != nil || waiting.Err() == nil && !errors.Is(err, errNoToken) {
		return now, err
	}
	return terms{}, r.nobody()
}

// nobody is why a receiver has waited in vain.
func (r *Receiver) nobody() error {
	t := r.test
	none := fmt.Errorf("no sender came within %s", t.Wait)
	if t.UDP || !t.Exact {
		return none
	}
	came := r.lobby.look(len(t.Threads))
	if !oneCame(came) {
		return none
	}
	if missing := slices.Index(came, 0); missing >= 0 {
		had := len(slices.DeleteFunc(came, func(n int) bool { return n == 0 }))
		return fmt.Errorf("connections came to %d of this end's %d ports, and none to %d within %s: both ends need as many threads (-m), and -sp at both or at neither",
			had, len(t.Threads), t.Threads[missing].Port, t.Wait)
	}
	return errNoToken
}

func (r *Receiver) awaitSender(ctx context.Context, t *Test, f *fleet) (terms, error) {
	switch {
	case t.Sync == SyncLinux:
		return r.awaitCallers(ctx, t, f)
	case t.Sync == SyncWindows:
		return terms{total: t.wanted()}, r.awaitTokens(ctx, f)
	case t.UDP:
		if err := awaitDatagram(ctx, r.udp); err != nil {
			return terms{}, err
		}
		return terms{total: t.wanted()}, f.add(r.takeUDP())
	case t.Exact:
		if err := r.awaitGuests(ctx, allCame); err != nil {
			return terms{}, err
		}
		return terms{total: t.wanted()}, r.takeGuests(f, r.onePerThread(anybody))
	}
	if err := r.awaitGuests(ctx, oneCame); err != nil {
		return terms{}, err
	}
	return terms{total: t.wanted(), late: anybody}, r.takeGuests(f, r.lobby.claim(anybody))
}

// awaitCallers waits for the word to go on the sync port. The data connections
// are those of the hosts that got it.
func (r *Receiver) awaitCallers(ctx context.Context, t *Test, f *fleet) (terms, error) {
	begun, over := r.desk.round()
	select {
	case <-begun:
	case <-ctx.Done():
		return terms{}, ctx.Err()
	}
	seconds, said, runners := r.desk.agreed()
	t.say(Event{What: Agreed, N: seconds})
	now := terms{total: t.settle(int32(seconds)), said: said, over: over}
	if t.UDP {
		return now, f.add(r.takeUDP())
	}
	var guests []guest
	guests, now.late = r.claimOf(ctx, runners)
	return now, r.takeGuests(f, guests)
}

// claimOf claims the data connections of the senders that got the word to go, and tells which later ones are theirs. Those of a
// lone sender may come from other addresses than its sync connection, where addresses are translated on the way.
func (r *Receiver) claimOf(ctx context.Context, runners map[netip.Addr]bool) (guests []guest, theirs func(guest) bool) {
	theirs = func(g guest) bool { return runners[g.from] }
	for began := time.Now(); ; {
		if guests = r.lobby.claim(theirs); len(guests) > 0 || r.test.Many {
			return guests, theirs
		}
		if time.Since(began) > firstGuest || sleep(ctx, porterEvery) != nil {
			break
		}
	}
	r.lobby.sweep()
	if guests = r.lobby.claim(anybody); len(guests) == 0 {
		return nil, theirs
	}
	r.test.note("no data connection came from the address of the sender's sync connection: that from %s is taken for its own", guests[0].from)
	return guests, anybody
}

func anybody(guest) bool { return true }

func oneCame(perThread []int) bool { return slices.Max(perThread) > 0 }
func allCame(perThread []int) bool { return slices.Min(perThread) > 0 }

// takeGuests gives the fleet its connections.
func (r *Receiver) takeGuests(f *fleet, guests []guest) error {
	if len(guests) > 0 && r.test.ReceiveBuffer > 0 {
		r.test.shortBuffer(guests[0].conn)
	}
	return f.add(toDialled(guests))
}

func (r *Receiver) takeUDP() []dialled {
	var conns []dialled
	for i, conn := range r.udp {
		conns = append(conns, dialled{i, conn})
	}
	r.udp = nil
	return conns
}

// joinLate lets connections into a test that runs: a sender without sync opens
// them one after the other, and a handshake's end may come after the word to go.
// It returns why some could not join.
func (r *Receiver) joinLate(f *fleet, wanted func(guest) bool, stop <-chan struct{}) (missed error) {
	if r.lobby == nil || wanted == nil {
		return nil
	}
	for {
		select {
		case <-stop:
			return missed
		case <-r.lobby.changed:
		}
		select {
		case <-stop:
			return missed
		case <-time.After(max(lateBatch, f.gathers())):
		}
		if err := f.add(toDialled(r.lobby.claim(wanted))); err != nil && missed == nil {
			missed = err
			r.test.note("late connections could not join: %v", err)
		}
	}
}

// awaitGuests waits until enough connections lie on the data ports.
func (r *Receiver) awaitGuests(ctx context.Context, enough func(perThread []int) bool) error {
	for {
		r.lobby.sweep()
		if enough(r.lobby.look(len(r.test.Threads))) {
			return nil
		}
		select {
		case <-r.lobby.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// onePerThread claims the newest fitting guest of every thread and turns the
// others away: the older ones belong to a sender that gave up.
func (r *Receiver) onePerThread(fits func(guest) bool) []guest {
	newest := map[int]guest{}
	for _, g := range r.lobby.claim(fits) {
		if older, ok := newest[g.thread]; ok {
			older.conn.Close()
		}
		newest[g.thread] = g
	}
	var all []guest
	for _, g := range newest {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b guest) int { return a.thread - b.thread })
	return all
}

func hostPort(thread Thread) string {
	return net.JoinHostPort(thread.Host, fmt.Sprint(thread.Port))
}

// awaitDatagram returns when the first datagram lies in one of the sockets.
func awaitDatagram(ctx context.Context, conns []*net.UDPConn) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	came := make(chan error, len(conns))
	for _, conn := range conns {
		stop := context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Unix(1, 0)) })
		defer conn.SetReadDeadline(time.Time{})
		defer stop()
		go func() {
			came <- untilReadable(conn)
		}()
	}
	first := <-came
	parent := ctx.Err()
	cancel(nil)
	for range len(conns) - 1 {
		<-came
	}
	if parent != nil {
		return parent
	}
	return first
}
