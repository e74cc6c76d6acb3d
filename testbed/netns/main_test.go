package netns

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"windtunnel/testbed"
)

// init keeps the process's first thread for TestMain: tests change the namespaces of their threads, and
// those of the first one are the process's.
func init() { runtime.LockOSThread() }

// TestMain lets the test binary play the other processes of a testbed: daemons,
// and a second node's agent.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if play, ok := roles[os.Args[1]]; ok {
			os.Exit(play(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

var roles = map[string]func(args []string) int{
	"play-daemon":   playDaemon,
	"play-broken":   playBroken,
	"play-stubborn": playStubborn,
	"play-silent":   playSilent,
	"play-agent":    playAgent,
	"play-foreign":  playForeign,
	"play-listener": playListener,
	"play-writer":   playWriter,
}

// playDaemon behaves: it shows the file it was given and ends with its input.
func playDaemon(args []string) int {
	text, err := os.ReadFile(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf("{\"ready\":true,\"read\":%q}\nand more\n", text)
	io.Copy(io.Discard, os.Stdin)
	return 0
}

func playBroken([]string) int {
	fmt.Fprintln(os.Stderr, "no luck today")
	return 3
}

// playSilent never says that it is ready.
func playSilent([]string) int {
	io.Copy(io.Discard, os.Stdin)
	return 0
}

// playStubborn neither ends with its input nor on SIGTERM.
func playStubborn([]string) int {
	signal.Ignore(syscall.SIGTERM)
	fmt.Println(`{"ready":true}`)
	select {}
}

// agentGraph has a daemon on node b besides, one that a signal must end.
func agentGraph() testbed.Graph {
	g := wireGraph()
	own, err := os.Executable()
	if err != nil {
		panic(err)
	}
	g.Daemons = []testbed.Daemon{{Name: "stubborn", Node: "b", Program: filepath.Base(own), Args: []string{"play-stubborn"}}}
	return g
}

// playAgent is node b's agent: it places the graph, says where its stacks are,
// and on a line of input applies and verifies.
func playAgent(args []string) int {
	b, ctx := New("b", []int{1}, args[0]), context.Background()
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	say := func(v any, err error) bool {
		if err != nil {
			v = err.Error()
		}
		json.NewEncoder(os.Stdout).Encode(v)
		return err == nil
	}
	g := agentGraph()
	if stacks, err := b.Place(ctx, g); !say(stacks, err) || !in.Scan() {
		return 1
	}
	var peers map[string]string
	if err := json.Unmarshal(in.Bytes(), &peers); !say("peers", err) {
		return 1
	}
	err := b.Apply(ctx, g, peers)
	if err == nil {
		err = b.Verify(ctx, g)
	}
	say("applied", err)
	in.Scan()
	return 0
}

// playForeign says that it is up as other people's programs do, and does not mind its
// input. It shows what it was given.
func playForeign(args []string) int {
	fmt.Print("hello, all is ")
	fmt.Println("well", os.Getenv("COLOUR"), args)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
	os.WriteFile(args[0], []byte("ended by a signal"), 0o600)
	return 0
}

// playListener takes connections at a socket after a while.
func playListener(args []string) int {
	listener, err := net.Listen("unix", args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return 1
		}
		conn.Close()
	}
}

// playWriter adds its second argument to the file that is its first.
func playWriter(args []string) int {
	file, err := os.OpenFile(args[0], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(file, args[1], os.Getenv("COLOUR"))
	file.Close()
	return 0
}
