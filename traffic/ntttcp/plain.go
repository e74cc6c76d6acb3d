package ntttcp

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"windtunnel/traffic"
)

// plain is an engine of one goroutine a connection.
type plain struct {
	test    *Test
	conns   []net.Conn
	counts  []plainFlow
	start   chan struct{}
	once    sync.Once
	ended   chan struct{}
	workers sync.WaitGroup
}

type plainFlow struct{ bytes, calls atomic.Uint64 }

func (t *Test) engine(conns []net.Conn) (engine, error) {
	p := &plain{test: t, conns: conns, counts: make([]plainFlow, len(conns)), start: make(chan struct{}), ended: make(chan struct{})}
	for i := range conns {
		p.workers.Go(func() { p.move(i) })
	}
	go func() {
		p.workers.Wait()
		close(p.ended)
	}()
	return p, nil
}

func (p *plain) move(i int) {
	<-p.start
	b := make([]byte, p.test.Message)
	for j := range b {
		b[j] = tcpFill
	}
	for {
		var n int
		var err error
		if p.test.Role == traffic.Send {
			if p.test.Messages > 0 && p.counts[i].calls.Load() == p.test.Messages {
				p.conns[i].(*net.TCPConn).CloseWrite()
				return
			}
			n, err = p.conns[i].Write(b)
		} else {
			n, err = p.conns[i].Read(b)
		}
		p.counts[i].bytes.Add(uint64(n))
		p.counts[i].calls.Add(1)
		if err != nil {
			return
		}
	}
}

func (p *plain) Start()                { p.once.Do(func() { close(p.start) }) }
func (p *plain) Done() <-chan struct{} { return p.ended }
func (p *plain) Halt() {
	for _, c := range p.conns {
		c.SetDeadline(time.Unix(1, 0))
	}
	p.Start()
	p.workers.Wait()
}
func (p *plain) Close() {
	p.Halt()
	closeConns(p.conns)
	<-p.ended
}

func (p *plain) read() reading {
	r := reading{flows: make([]flow, len(p.conns))}
	for i := range p.counts {
		r.flows[i] = flow{bytes: p.counts[i].bytes.Load(), calls: p.counts[i].calls.Load()}
	}
	return r
}
