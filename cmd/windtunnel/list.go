package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"windtunnel/agent"
	"windtunnel/datapath/paths"
	"windtunnel/oneoff"
	"windtunnel/suites"
	"windtunnel/traffic/kinds"
)

func listCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the shipped suites, the paths, the kinds of traffic and the protocols", Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
			for _, name := range suites.List() {
				spec, err := loadSuite(name)
				if err != nil {
					return err
				}
				fmt.Fprintf(table, "suite\t%s\t%d cells\t%s\n", name, len(spec.Cells), spec.Asks)
			}
			for _, path := range paths.All() {
				fmt.Fprintf(table, "path\t%s\t\t%s\n", path.Name(), path.Says())
			}
			for _, kind := range kinds.All() {
				fmt.Fprintf(table, "traffic\t%s\t\t%s\n", kind.Name(), optionNames(kind.Name()))
			}
			for _, server := range oneoff.Servers() {
				fmt.Fprintf(table, "serves\t%s\t\tclients on port %s, by windtunnel recv\n", server.Name(), server.Ports())
			}
			return ended(table.Flush())
		},
	}
}

func optionNames(kind string) string {
	var names string
	for _, option := range agent.Traffic()[kind] {
		if names != "" {
			names += ", "
		}
		names += option.Name
	}
	return "options: " + names
}
