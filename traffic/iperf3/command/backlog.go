package command

import "sync"

// mostUnprinted bounds the tests that have ended and are not printed yet: of more, clients wait.
const mostUnprinted = 16

// backlog prints the JSON of tests that have ended, one after the other, for as long as the reader takes: iperf3's server, too,
// prints it when its client is served.
type backlog struct {
	jobs    chan func()
	pending sync.WaitGroup
	worker  sync.WaitGroup
}

func newBacklog() *backlog {
	b := &backlog{jobs: make(chan func(), mostUnprinted)}
	b.worker.Go(func() {
		for job := range b.jobs {
			job()
			b.pending.Done()
		}
	})
	return b
}

func (b *backlog) later(job func()) {
	b.pending.Add(1)
	b.jobs <- job
}

// wait returns when all is printed.
func (b *backlog) wait() { b.pending.Wait() }

func (b *backlog) close() {
	close(b.jobs)
	b.worker.Wait()
}
