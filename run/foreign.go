package run

import (
	"fmt"

	"windtunnel/agent"
	"windtunnel/datapath"
	"windtunnel/scenario"
	"windtunnel/testbed"
)

// generatorOf is the program of others that sends a cell's frames, none if our own engine does. It is refused what
// it cannot be told, by name.
func generatorOf(cell scenario.Cell) (datapath.Program, error) {
	program, install, err := agent.Generator(cell.Traffic, cell.Load)
	if program == "" || err != nil {
		return datapath.Program{}, err
	}
	if cell.Beside != "" {
		return datapath.Program{}, fmt.Errorf("%s has a sender's port for itself: leave out the load beside it, or the generator", program)
	}
	for _, one := range cell.Pairs {
		for _, other := range cell.Pairs {
			if one.From == other.To || one != other && one.From == other.From {
				return datapath.Program{}, fmt.Errorf("%s has the port of %s for itself, which sends once and counts nothing: give each pair a sender of its own that is no receiver, or leave the generator out",
					program, one.From.Name())
			}
		}
	}
	if cell.Find != nil {
		return datapath.Program{}, fmt.Errorf("`find` sets rates, which %s does not take while it runs: leave it out, or the generator", program)
	}
	return datapath.Program{Name: program, Install: install}, nil
}

// checkGenerated refuses a path that has no place for the generator.
func checkGenerated(program string, g testbed.Graph) error {
	if program == "" {
		return nil
	}
	there := false
	for _, p := range g.Ports {
		there = there || p.Socket != ""
		if p.Socket != "" && p.Tunnel != nil {
			return fmt.Errorf("%s sends plain frames, and those of %s wear %s: let the other end send, or leave the generator out", program, p.Place, p.Tunnel.Encapsulation)
		}
	}
	if !there {
		return fmt.Errorf("%s sends at ports of poll mode, and the path has none: take path vrouter with mode poll, ovs-dpdk or testpmd, or leave the generator out", program)
	}
	return nil
}
