package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"windtunnel/bench/wire"
)

// peerPort is where peers listen that can be told.
const peerPort = 5213

// peer is a foreign tool: one file beside this one, and one line in known.
type peer struct {
	name string // with its version
	// commands are its server's and its client's for a setup; able is false for
	// what it cannot do.
	commands func(s settings, setup setup) (server, client []string, able bool)
	port     int // where its server listens
	lingers  bool
}

// known finds the peers that are installed; those that must be there fail.
var known = []func(context.Context) ([]peer, error){findIperf3, findNuttcp, findNeper, findNtttcp}

func findPeers(ctx context.Context) (all []peer, err error) {
	for _, find := range known {
		found, err := find(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (p peer) program(s settings, setup setup) (wire.Program, bool) {
	server, client, able := p.commands(s, setup)
	return wire.Program{Name: p.name, Run: func(ctx context.Context, w *wire.Wire) (wire.Sample, error) {
		return w.RunPeer(ctx, wire.Peer{Server: server, Client: client, Ready: wire.Listens(p.port), Lingers: p.lingers, Window: s.window})
	}}, able
}

func names(peers []peer) string {
	var all []string
	for _, p := range peers {
		all = append(all, p.name)
	}
	return strings.Join(all, ", ")
}

// versionOf is the word after the tool's name in what it says of itself.
func versionOf(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", args[0], err)
	}
	fields := strings.Fields(string(out))
	if len(fields) < 2 {
		return "", fmt.Errorf("%s does not tell its version", args[0])
	}
	return fields[1], nil
}
