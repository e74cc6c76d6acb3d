package wire

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"windtunnel/traffic"
)

// Worker is one worker of ours, in its own process as an agent's would be.
type Worker struct {
	Address string // where a prepared receiver is reached
	cmd     *exec.Cmd
	in      io.WriteCloser
	lines   *bufio.Reader
}

// StartWorker starts a worker and waits until it is prepared. The command that
// calls it has given its WorkerCommand to RunWorker. Address and CPUs of the order
// are the node's, unless they are set.
func StartWorker(ctx context.Context, n Node, nice int, order traffic.Order) (*Worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if order.Address == "" {
		order.Address = n.Address
	}
	if order.CPUs == nil {
		order.CPUs = []int{n.CPU}
	}
	p := &Worker{cmd: n.Command(ctx, nice, self, WorkerCommand)}
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
	prepared, err := p.ask(order)
	if err != nil {
		p.Stop()
		return nil, fmt.Errorf("preparing the worker to %s: %w", order.Role, err)
	}
	p.Address = prepared.Address
	return p, nil
}

func (p *Worker) ask(v any) (reply, error) {
	if err := json.NewEncoder(p.in).Encode(v); err != nil {
		return reply{}, err
	}
	return p.hear()
}

func (p *Worker) hear() (reply, error) {
	line, err := p.lines.ReadBytes('\n')
	if err != nil {
		return reply{}, err
	}
	var r reply
	if err := json.Unmarshal(line, &r); err != nil {
		return r, err
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

// StartLeased starts a program that ends with its standard input, such as `vrouter run --lease`. Nobody but
// this process has the other end, so the program ends with it, by whatever signal that ends.
func StartLeased(cmd *exec.Cmd) error {
	if _, err := cmd.StdinPipe(); err != nil {
		return err
	}
	return cmd.Start()
}

// Stop ends the worker's process.
func (p *Worker) Stop() { StopProcess(p.cmd) }

// StopProcess ends a process that still runs and waits for it.
func StopProcess(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		cmd.Process.Kill()
		cmd.Wait()
	}
}
