package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// process is one worker of ours, in its own process as an agent's would be.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
	reply reply // its last
}

// startWorker starts a worker and waits until it is prepared.
func startWorker(ctx context.Context, n node, nice int, order traffic.Order) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: n.command(ctx, nice, self, workerCommand)}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.lines = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if err := errors.Join(p.tell(order), p.hear()); err != nil {
		stopProcess(p.cmd)
		return nil, fmt.Errorf("preparing the worker to %s: %w", order.Role, err)
	}
	return p, nil
}

func (p *process) tell(v any) error { return json.NewEncoder(p.in).Encode(v) }

func (p *process) hear() error {
	line, err := p.lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	p.reply = reply{}
	if err := json.Unmarshal(line, &p.reply); err != nil {
		return err
	}
	if p.reply.Error != "" {
		return errors.New(p.reply.Error)
	}
	return nil
}

// runOurs runs one trial of the engine and measures its steady middle.
func runOurs(ctx context.Context, w *wire, s settings, setup load) (figure, error) {
	ctx, cancel := context.WithTimeout(ctx, s.window+15*time.Second)
	defer cancel()
	options := result.Options{"message": setup.message, "nodelay": setup.nodelay, "congestion": "cubic"}
	receiver, err := startWorker(ctx, nodeB, s.nice, traffic.Order{Role: traffic.Receive, Load: options, Address: nodeB.address, CPUs: []int{nodeB.cpu}})
	if err != nil {
		return figure{}, err
	}
	defer stopProcess(receiver.cmd)
	sender, err := startWorker(ctx, nodeA, s.nice, traffic.Order{Role: traffic.Send, Load: options, Address: receiver.reply.Address, CPUs: []int{nodeA.cpu}})
	if err != nil {
		return figure{}, err
	}
	defer stopProcess(sender.cmd)
	when := schedule{InSeconds: 0.1, WarmUpSeconds: warmUp.Seconds() / 2, WindowSeconds: (s.window + warmUp/2 + margin).Seconds()}
	if err := errors.Join(receiver.tell(when), sender.tell(when)); err != nil {
		return figure{}, err
	}
	if err := wait(ctx, warmUp+100*time.Millisecond); err != nil {
		return figure{}, err
	}
	f, err := w.sampleWindow(ctx, s.window, receiver.cmd.Process.Pid, sender.cmd.Process.Pid)
	if err != nil {
		return f, err
	}
	return f, errors.Join(sender.hear(), receiver.hear())
}

// stopProcess ends a process that still runs and waits for it.
func stopProcess(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		cmd.Process.Kill()
		cmd.Wait()
	}
}

// readUntil reads lines until one has the words, then discards what follows.
func readUntil(r io.Reader, words string) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if strings.Contains(lines.Text(), words) {
			go io.Copy(io.Discard, r)
			return nil
		}
	}
	return errors.Join(lines.Err(), io.ErrUnexpectedEOF)
}

func matches(name, part string) bool { return strings.Contains(name, part) }
