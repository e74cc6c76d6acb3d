//go:build linux

package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	// rulesWithin bounds how long a program that lists rules may take.
	rulesWithin = 10 * time.Second
	// maxRules bounds what is kept of it, in bytes.
	maxRules = 128 << 10
)

// ruleLists are the programs that list a stack's rules, by which an engine may have set them. The
// second sees those of both where iptables is nftables' (iptables-nft(8)).
var ruleLists = [][]string{{"iptables-save"}, {"nft", "list", "ruleset"}}

// rules are a node's rules for packets, its proxies, and what its connection tracking has room for.
func (e *engines) rules(ctx context.Context, cell string) (string, error) {
	var text strings.Builder
	for _, list := range ruleLists {
		program, err := exec.LookPath(list[0])
		if err != nil {
			continue
		}
		said, err := e.list(ctx, cell, program, list[1:])
		if err != nil {
			return "", fmt.Errorf("listing the rules by %s: %w", list[0], err)
		}
		fmt.Fprintf(&text, "%s:\n%s", strings.Join(list, " "), said)
		break
	}
	stack := e.backend.Stack(cell, e.config.Name)
	if stack == nil {
		return "", errors.New("the node's stack is gone")
	}
	err := stack.Do(func() error {
		for _, name := range []string{"nf_conntrack_count", "nf_conntrack_max"} {
			value, err := os.ReadFile("/proc/sys/net/netfilter/" + name)
			if err == nil { // a kernel without connection tracking has none
				fmt.Fprintf(&text, "%s %s\n", name, bytes.TrimSpace(value))
			}
		}
		return nil
	})
	for _, running := range e.all(cell) {
		for _, proxy := range running.Proxies() {
			fmt.Fprintf(&text, "process: %s\n", proxy.Line)
		}
	}
	return text.String(), err
}

func (e *engines) list(ctx context.Context, cell, program string, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, rulesWithin)
	defer cancel()
	stack := e.backend.Stack(cell, e.config.Name)
	if stack == nil {
		return "", errors.New("the node's stack is gone")
	}
	var said, wrong bytes.Buffer
	run := exec.CommandContext(ctx, program, args...)
	run.Stdout, run.Stderr, run.WaitDelay = &said, &wrong, time.Second
	if err := stack.Start(run); err != nil {
		return "", err
	}
	if err := run.Wait(); err != nil {
		return "", fmt.Errorf("%w: %.300s", err, wrong.String())
	}
	var kept strings.Builder
	for line := range strings.Lines(said.String()) {
		if strings.HasPrefix(line, "#") { // when it was listed
			continue
		}
		if kept.Len()+len(line) > maxRules {
			kept.WriteString("... and more\n")
			break
		}
		kept.WriteString(line)
	}
	return kept.String(), nil
}
