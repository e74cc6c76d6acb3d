package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
)

type applyFlags struct {
	socket                   string
	dryRun, exitCode, asJSON bool
}

func newApply() *cobra.Command {
	var f applyFlags
	c := &cobra.Command{
		Use: "apply FILE [flags]", Short: "Give a running vRouter another configuration, while packets flow", Args: one("FILE"),
		Long: `Give a running vRouter another configuration, while packets flow, and tell what that changed.
FILE is the whole configuration, - for the standard input.

With --dry-run nothing is changed: it tells what would be, and what somebody would notice. The
vRouter checks the file against the machine, as it would before applying it.

Exit codes: 0 applied, or could be; 1 failed, and the old configuration is in force; 2 refused, and
nothing was changed; 3 something would change, with --dry-run --exit-code only.`,
		Example: `  vrouter apply node.json --dry-run
  vrouter apply node.json
  generate-config | vrouter apply - --json`,
		RunE: func(c *cobra.Command, args []string) error { return apply(c, f, args[0]) },
	}
	socketFlag(c, &f.socket, "the vRouter's Unix socket")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "change nothing, and tell what would be")
	c.Flags().BoolVar(&f.exitCode, "exit-code", false, "with --dry-run: exit with 3 if something would change")
	jsonFlag(c, &f.asJSON)
	return c
}

func apply(c *cobra.Command, f applyFlags, file string) error {
	if f.exitCode && !f.dryRun {
		return control.Refuse(fmt.Errorf("--exit-code is for --dry-run"))
	}
	wanted, err := readConfig(file, c.InOrStdin())
	if err != nil {
		return err
	}
	text, err := json.Marshal(wanted)
	if err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	reply, err := control.Ask(f.socket, control.Request{Apply: text, DryRun: f.dryRun})
	if err != nil {
		return err
	}
	var changes control.Changes
	if err := decode(reply, &changes); err != nil {
		return err
	}
	err = show(c.OutOrStdout(), reply, f.asJSON, func(out io.Writer) error { return printChanges(out, changes, f.dryRun) })
	if err == nil && f.exitCode && changes.Changed {
		err = errWouldChange
	}
	return err
}

func printChanges(out io.Writer, c control.Changes, dryRun bool) error {
	if !c.Changed {
		_, err := fmt.Fprintln(out, "nothing changes")
		return err
	}
	var sum config.Counts
	for _, s := range []struct {
		title   string
		section config.Section
	}{{"fabric", c.Fabric}, {"networks", c.Networks}, {"ports", c.Ports}, {"policies", c.Policies}, {"routes", c.Routes}, {"nexthops", c.Nexthops}} {
		if err := printSection(out, s.title, s.section); err != nil {
			return err
		}
		counts := s.section.Counts
		sum.Added, sum.Removed, sum.Changed, sum.Same = sum.Added+counts.Added, sum.Removed+counts.Removed, sum.Changed+counts.Changed, sum.Same+counts.Same
	}
	did := "Done"
	if dryRun {
		did = "To do"
	}
	fmt.Fprintf(out, "\n%s: %d added, %d changed, %d removed; %d stay as they are.\n", did, sum.Added, sum.Changed, sum.Removed, sum.Same)
	fmt.Fprintf(out, "Tables: %s before any packet looks there, %s switched one by one, %s wiped afterwards; %s.\n",
		plural(c.Tables.Prepared, "write"), plural(c.Tables.Switched, "word"), plural(c.Tables.Retired, "record"), plural(c.Tables.Bytes, "byte"))
	if len(c.Effects) == 0 {
		fmt.Fprintln(out, "Packets flow on, each by the old tables or the new; nobody loses one.")
	} else {
		fmt.Fprintln(out, "Noticed by somebody:")
		for _, effect := range c.Effects {
			fmt.Fprintln(out, "  "+effect)
		}
		fmt.Fprintln(out, "All other packets flow on, each by the old tables or the new.")
	}
	if dryRun {
		fmt.Fprintln(out, "This was a dry run: nothing was changed.")
	}
	return nil
}

func printSection(out io.Writer, title string, s config.Section) error {
	if s.Empty() {
		return nil
	}
	fmt.Fprintln(out, title)
	fields := func(list []config.Field) string {
		var parts []string
		for _, f := range list {
			parts = append(parts, strings.TrimPrefix(f.Name, "via.")+" "+f.Value)
		}
		return strings.Join(parts, ", ")
	}
	return columns(out, func(line func(string)) {
		for _, r := range s.Removed {
			line("  - " + r.Key + "\t" + fields(r.Fields))
		}
		for _, r := range s.Changed {
			var parts []string
			for _, f := range r.Fields {
				parts = append(parts, fmt.Sprintf("%s %s -> %s", strings.TrimPrefix(f.Name, "via."), orNone(f.From), orNone(f.To)))
			}
			line("  ~ " + r.Key + "\t" + strings.Join(parts, ", "))
		}
		for _, r := range s.Added {
			line("  + " + r.Key + "\t" + fields(r.Fields))
		}
		if more := s.Counts.Added + s.Counts.Removed + s.Counts.Changed - len(s.Added) - len(s.Removed) - len(s.Changed); more > 0 {
			line(fmt.Sprintf("  ... and %d more", more))
		}
	})
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}
