package agent

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"windtunnel/agent/proto"
)

// FuzzPeer lets a hostile agent answer: whatever it writes, the asking side ends
// with an error or an answer, and soon.
func FuzzPeer(f *testing.F) {
	hello := `{"windtunnel":1,"role":"node","pid":1}` + "\n"
	f.Add([]byte(hello + `{"id":1,"error":"no"}` + "\n"))
	f.Add([]byte(hello + `{"id":1,"trial":{"ends":[{"pair":-1}]}}` + "\n"))
	f.Add([]byte(hello + `{"id":1,"host":{"cpus":[0,1],"memory_bytes":1,"kernel":"6","nic":{"device":"../../etc","address":"x","mtu":-1}}}` + "\n"))
	f.Add([]byte(hello + `{"id":1,"host":{"cpus":[-1,99999999999999999999]}}` + "\n"))
	f.Add([]byte(hello + "{\n\n\x00"))
	f.Add([]byte(`{"windtunnel":2}`))
	f.Fuzz(func(t *testing.T, said []byte) {
		p, err := connect(bytes.NewReader(said), io.Discard)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		reply, err := p.ask(ctx, proto.Request{Do: proto.DoResult})
		if ctx.Err() != nil {
			t.Fatalf("it waited for a peer that has ended: %v", err)
		}
		if err == nil && checkHost(reply.Host) == nil && (len(reply.Host.CPUs) > maxCPUs || reply.Host.MemoryBytes <= 0) {
			t.Fatalf("no host is %+v", reply.Host)
		}
	})
}
