//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"windtunnel/agent"
)

func cleanCommand(s streams) *cobra.Command {
	var copied bool
	c := &cobra.Command{
		Use: "clean", Short: "Take away what a killed run left, and nothing that a living one holds", Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			said, err := agent.Clean(agent.Root)
			for _, line := range said {
				fmt.Fprintln(s.out, line)
			}
			if len(said) == 0 && err == nil {
				fmt.Fprintln(s.out, "nothing was left")
			}
			if copied {
				self, found := os.Executable()
				if found == nil {
					found = agent.RemoveCopied(agent.Root, filepath.Dir(self))
				}
				err = errors.Join(err, found)
			}
			return ended(err)
		},
	}
	c.Flags().BoolVar(&copied, "copied", false, "this program was brought here for a run: remove its folder, too, unless another run has the same")
	return c
}
