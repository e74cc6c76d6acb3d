package iperf3

import (
	"errors"
	"testing"
)

// TestWindowThatIsCut is refused, as by iperf3.
func TestWindowThatIsCut(t *testing.T) {
	raw, err := loopbackUDP(t).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for window, cut := range map[int]bool{1: false, MaxWindow: true} {
		raw.Control(func(fd uintptr) { err = (socketOptions{window: window}).checkWindow(int(fd)) })
		var option *OptionError
		if refused := errors.As(err, &option) && option.Number == ErrorBufferSize; refused != cut || !cut && err != nil {
			t.Errorf("a window of %d: %v", window, err)
		}
	}
}
