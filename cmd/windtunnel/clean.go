//go:build linux

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"windtunnel/agent"
)

func cleanCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use: "clean", Short: "Take away what a killed run left, and nothing that a living one holds", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			said, err := agent.Clean(agent.Root)
			for _, line := range said {
				fmt.Fprintln(s.out, line)
			}
			if len(said) == 0 && err == nil {
				fmt.Fprintln(s.out, "nothing was left")
			}
			return ended(err)
		},
	}
}
