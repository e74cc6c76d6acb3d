//go:build linux

package vm

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
)

// What was said to somebody who has gone is passed over, a number of before too, and what follows the answer is whole.
func TestALineBeginsAnew(t *testing.T) {
	here, there := net.Pipe()
	answered := make(chan struct{})
	go func() {
		defer there.Close()
		in := bufio.NewReader(there)
		_, _ = in.ReadString('\n')
		asked, _ := in.ReadString('\n') // it is what fails the test, if it is anything else
		number := strings.TrimPrefix(strings.TrimSpace(asked), Again)
		_, _ = io.WriteString(there, strings.Repeat("x", 9000)+"\n"+Anew+"12\n{\"cut off\n"+Anew+number+"\n{\"hello\"}\n")
		<-answered // a pipe whose other end is closed takes no deadline
	}()
	line, err := anew(here)
	close(answered)
	if err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(line)
	if err != nil || string(rest) != "{\"hello\"}\n" {
		t.Errorf("what follows is %q, %v", rest, err)
	}
}

func TestALineWithoutAnybody(t *testing.T) {
	here, there := net.Pipe()
	go func() {
		_, _ = bufio.NewReader(there).ReadString('\n')
		there.Close()
	}()
	if _, err := anew(here); err == nil {
		t.Error("nobody has answered, and that is no error")
	}
}
