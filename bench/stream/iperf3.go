package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const peerPort = "5213"

// peerVersion is iperf3's name and version.
func peerVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "iperf3", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("finding iperf3 (Debian: apt-get install iperf3): %w", err)
	}
	fields := strings.Fields(string(out))
	if len(fields) < 2 {
		return "", errors.New("iperf3 does not tell its version")
	}
	return "iperf3 " + fields[1], nil
}

// runPeer runs one iperf3 test and measures its steady middle.
func runPeer(ctx context.Context, w *wire, s settings, setup load) (figure, error) {
	ctx, cancel := context.WithTimeout(ctx, s.window+15*time.Second)
	defer cancel()
	server := nodeB.command(ctx, s.nice, "iperf3", "-s", "-1", "-p", peerPort, "-B", nodeB.address, "--forceflush")
	ready, err := server.StdoutPipe()
	if err != nil {
		return figure{}, err
	}
	if err := server.Start(); err != nil {
		return figure{}, err
	}
	defer stopProcess(server)
	if err := readUntil(ready, "Server listening"); err != nil {
		return figure{}, fmt.Errorf("starting iperf3's server: %w", err)
	}
	client := nodeA.command(ctx, s.nice, peerArgs(s, setup)...)
	if err := client.Start(); err != nil {
		return figure{}, err
	}
	defer stopProcess(client)
	if err := wait(ctx, warmUp); err != nil {
		return figure{}, err
	}
	f, err := w.sampleWindow(ctx, s.window, server.Process.Pid, client.Process.Pid)
	if err != nil {
		return f, err
	}
	if err := client.Wait(); err != nil {
		return f, fmt.Errorf("running iperf3: %w", err)
	}
	return f, server.Wait()
}

func peerArgs(s settings, setup load) []string {
	seconds := (warmUp + s.window + margin + time.Second - 1) / time.Second
	args := []string{
		"iperf3", "-c", nodeB.address, "-p", peerPort, "-C", "cubic", "-l", strconv.Itoa(setup.message),
		"-t", strconv.Itoa(int(seconds)), "-i", "0", "-J",
	}
	if setup.nodelay {
		args = append(args, "-N")
	}
	return args
}
