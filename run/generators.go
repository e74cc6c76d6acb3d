package run

import (
	"errors"
	"fmt"
	"time"

	"windtunnel/agent"
	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/scenario"
	"windtunnel/search"
)

// checkGenerators refuses loads that their generators cannot express, by the option's name,
// and containers that have no such program: an engine's image is made of ours alone.
func checkGenerators(cell scenario.Cell, laid datapath.Laid) error {
	own := cell.Load
	if program, _ := agent.Foreign(own); program == "" && cell.Find != nil { // its trials have a rate, which some options are beside
		own = search.Paced(own, result.PacketsPerSecond, 1, 1)
	}
	for _, l := range []load{{kind: cell.Traffic, options: own}, {kind: cell.Beside, options: cell.BesideLoad}} {
		if err := agent.CheckLoad(l.kind, l.options); err != nil {
			return err
		}
		if program, _ := agent.Foreign(l.options); program != "" && len(laid.Graph.Engines) > 0 {
			return fmt.Errorf("an engine's containers have no %s: leave out the generator, or take a path whose containers are namespaces, such as bridge", program)
		}
		if program, _ := agent.Foreign(l.options); program != "" && len(laid.Graph.VMs) > 0 {
			return fmt.Errorf("a virtual machine has no %s: leave out the generator, or take containers", program)
		}
	}
	if program, _ := agent.Foreign(cell.Load); program != "" && cell.Find != nil {
		return errors.New("`find` tries loads with windtunnel's own engine only: leave it out, or the generator " + program)
	}
	return nil
}

// lacksGenerators says which program that makes a load is missing, and how to get it, ""
// if none is.
func (h Host) lacksGenerators(loads ...result.Options) string {
	for _, load := range loads {
		program, install := agent.Foreign(load)
		if program != "" && h.Find != nil && h.Find(program) != nil {
			return fmt.Sprintf("needs the program %s: %s", program, install)
		}
	}
	return ""
}

// foreign reports whether a program of others makes a load of a cell that will run.
func (p Plan) foreign() bool {
	for _, cell := range p.Runnable() {
		for _, load := range []result.Options{cell.Record.Load, cell.Record.BesideLoad} {
			if program, _ := agent.Foreign(load); program != "" {
				return true
			}
		}
	}
	return false
}

// foreignTimes are the times of a suite in which programs of others make loads: these count
// whole seconds, and all cells have the same.
func foreignTimes(window time.Duration) (whole, warmUp time.Duration) {
	return max(window.Truncate(time.Second), time.Second), time.Second
}
