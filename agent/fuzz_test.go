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
	f.Add([]byte(hello + "{\n\n\x00"))
	f.Add([]byte(`{"windtunnel":2}`))
	f.Fuzz(func(t *testing.T, said []byte) {
		p, err := connect(bytes.NewReader(said), io.Discard)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if _, err := p.ask(ctx, proto.Request{Do: proto.DoResult}); ctx.Err() != nil {
			t.Fatalf("it waited for a peer that has ended: %v", err)
		}
	})
}
