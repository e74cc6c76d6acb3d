package lobby

import (
	"io"
	"net"
	"testing"
	"time"
)

// door is a doorman whose greeting reads one byte and sends it on.
func door(t *testing.T, most int, patience time.Duration) (*Doorman, chan string) {
	t.Helper()
	socket, err := Listen(t.Context(), "127.0.0.1", nil)
	if err != nil {
		t.Fatal(err)
	}
	d, heard := NewDoorman(socket, most, patience), make(chan string, 64)
	d.Open(func(conn *net.TCPConn) {
		defer conn.Close()
		var b [1]byte
		_, err := io.ReadFull(conn, b[:])
		d.Introduced(conn)
		if err != nil {
			heard <- "nothing"
			return
		}
		heard <- string(b[:])
	})
	t.Cleanup(func() { d.Shut(); d.Wait() })
	return d, heard
}

func call(t *testing.T, d *Doorman) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", d.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestSilentStrangersMakeWay(t *testing.T) {
	d, heard := door(t, 2, time.Minute)
	for range 5 {
		call(t, d)
	}
	for range 3 { // the oldest
		if got := <-heard; got != "nothing" {
			t.Errorf("heard %q", got)
		}
	}
	io.WriteString(call(t, d), "x")
	if one, other := <-heard, <-heard; one != "x" && other != "x" {
		t.Errorf("heard %q and %q", one, other)
	}
}

func TestWhoSaysNothingIsHungUpOn(t *testing.T) {
	d, heard := door(t, 8, 10*time.Millisecond)
	call(t, d)
	if got := <-heard; got != "nothing" {
		t.Errorf("heard %q", got)
	}
}

func TestShutEndsAllGreetings(t *testing.T) {
	d, heard := door(t, 8, time.Minute)
	io.WriteString(call(t, d), "x")
	<-heard // so the door has been open
	conn := call(t, d)
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	d.Shut()
	d.Shut()
	d.Wait()
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("read %d bytes, %v", n, err)
	} else if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Error("the connection still stands")
	}
	if _, err := net.Dial("tcp", d.Address().String()); err == nil {
		t.Error("it still listens")
	}
}

func TestBindAddress(t *testing.T) {
	for given, want := range map[string]string{
		"192.0.2.1": "192.0.2.1:0", "192.0.2.1:5201": "192.0.2.1:5201", "2001:db8::1": "[2001:db8::1]:0", "[2001:db8::1]:7": "[2001:db8::1]:7", "": ":0",
	} {
		if got := BindAddress(given); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}
