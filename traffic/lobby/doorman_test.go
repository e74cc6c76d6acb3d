package lobby

import (
	"io"
	"net"
	"testing"
	"time"
)

// door is a doorman to whom one introduces oneself by one byte, which it sends on.
func door(t *testing.T, most int, patience time.Duration) (*Doorman, chan string) {
	t.Helper()
	socket, err := Listen(t.Context(), "127.0.0.1", nil)
	if err != nil {
		t.Fatal(err)
	}
	d, heard := NewDoorman(socket, most, patience), make(chan string, 64)
	d.Open(1, func(hello []byte, conn net.Conn) {
		defer conn.Close()
		heard <- string(hello)
	}, func([]byte, net.Conn) { t.Error("no file was left") })
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

// hungUp waits until the other end has closed a connection.
func hungUp(t *testing.T, conn net.Conn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("read %d bytes, %v", n, err)
	} else if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Error("the connection still stands")
	}
}

func TestSilentStrangersMakeWay(t *testing.T) {
	d, heard := door(t, 2, time.Minute)
	var strangers []net.Conn
	for range 5 {
		strangers = append(strangers, call(t, d))
	}
	for _, conn := range strangers[:3] { // the oldest
		hungUp(t, conn)
	}
	io.WriteString(call(t, d), "x")
	if got := <-heard; got != "x" {
		t.Errorf("heard %q", got)
	}
}

func TestWhoSaysNothingIsHungUpOn(t *testing.T) {
	d, heard := door(t, 8, 10*time.Millisecond)
	hungUp(t, call(t, d))
	if len(heard) > 0 {
		t.Errorf("heard %q", <-heard)
	}
}

func TestShutEndsAllGreetings(t *testing.T) {
	d, heard := door(t, 8, time.Minute)
	io.WriteString(call(t, d), "x")
	<-heard // so the door has been open
	conn := call(t, d)
	d.Shut()
	d.Shut()
	d.Wait()
	hungUp(t, conn)
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
