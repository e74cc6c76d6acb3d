package result

import (
	"encoding/json"
	"testing"
)

// TestPerFlow: what came of three flows, one of which did not, and of those of another receiver.
func TestPerFlow(t *testing.T) {
	var p PerFlow
	for _, packets := range []uint64{7, 0, 9} {
		p.Add(packets)
	}
	if want := (PerFlow{Flows: 3, Came: 2, Fewest: 0, Most: 9}); p != want {
		t.Errorf("%+v, want %+v", p, want)
	}
	sum := PerFlow{Flows: 2, Came: 2, Fewest: 5, Most: 5}
	text := sum.String()
	sum.Merge(PerFlow{})
	sum.Merge(p)
	if want := (PerFlow{Flows: 5, Came: 4, Fewest: 0, Most: 9}); sum != want {
		t.Errorf("%+v, want %+v", sum, want)
	}
	if text != "2, all of which came, with 5 packets each" || sum.String() != "5, of which 4 came, with 0 to 9 packets each" {
		t.Errorf("%s; %s", text, sum)
	}
}

// TestWhatOfCopiesIsTold: that nothing was copied is said only where the kernel tells it.
func TestWhatOfCopiesIsTold(t *testing.T) {
	for method, want := range map[string]string{
		"msg-zerocopy": `{"zero_copy":{"method":"msg-zerocopy","completed":3,"copied":0}}`,
		"splice":       `{"zero_copy":{"method":"splice"}}`,
	} {
		end := struct {
			Z *ZeroCopy `json:"zero_copy"`
		}{&ZeroCopy{Method: method}}
		if method == "msg-zerocopy" {
			end.Z.Completed = 3
		}
		if text, err := json.Marshal(end); err != nil || string(text) != want {
			t.Errorf("%s, %v, want %s", text, err, want)
		}
	}
}
