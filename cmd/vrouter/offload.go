package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/offload"
)

type offloadFlags struct {
	config, format, port string
	flows                []string
	limit                int
}

func newOffload() *cobra.Command {
	var f offloadFlags
	c := &cobra.Command{
		Use: "offload --config F [flags]", Short: "Show what a NIC's switch could be told of a configuration", Args: cobra.NoArgs,
		Long: `Show what a NIC's embedded switch could be told of a configuration, and what not, and why.

Nothing is changed, and no vRouter needs to run: interfaces and neighbours are looked up on this
machine. Rules are printed as commands of DPDK's testpmd (rte_flow), as commands of tc with flower
filters (tc), or both as JSON. Tunnels with a UDP port need flows by name in rte_flow:
--flow PORT,PROTOCOL,SOURCE,DESTINATION, as often as needed.`,
		Example: `  vrouter offload --config node.json --flow sender,tcp,10.0.1.3:40000,10.0.1.4:5201
  vrouter offload --config node.json --format tc --port fabric`,
		RunE: func(c *cobra.Command, _ []string) error { return showOffload(f, c.InOrStdin(), c.OutOrStdout()) },
	}
	c.Flags().StringVar(&f.config, "config", "", "configuration file (JSON), - for the standard input")
	c.Flags().StringVar(&f.format, "format", "rte_flow", "rte_flow, tc or json")
	c.Flags().StringVar(&f.port, "port", "", "only what comes by this port, or by the fabric")
	c.Flags().StringArrayVar(&f.flows, "flow", nil, "a flow that gets rules of its own")
	c.Flags().IntVar(&f.limit, "limit", offload.MaxRules, "how many rules, at most")
	require(c, "config")
	return c
}

// offloadForms are what can be written, and for whom.
var offloadForms = map[string]struct {
	targets []offload.Target
	write   func([]offload.Plan, io.Writer) error
}{
	"rte_flow": {[]offload.Target{offload.RTEFlow}, func(p []offload.Plan, out io.Writer) error { return p[0].Testpmd(out) }},
	"tc":       {[]offload.Target{offload.Flower}, func(p []offload.Plan, out io.Writer) error { return p[0].Flower(out) }},
	"json":     {[]offload.Target{offload.RTEFlow, offload.Flower}, func(p []offload.Plan, out io.Writer) error { return json.NewEncoder(out).Encode(p) }},
}

func showOffload(f offloadFlags, stdin io.Reader, stdout io.Writer) error {
	form, there := offloadForms[f.format]
	if !there {
		return control.Refuse(fmt.Errorf("there is no format %q%s", f.format, config.Nearest(f.format, []string{"rte_flow", "tc", "json"})))
	}
	if f.limit < 1 {
		return control.Refuse(fmt.Errorf("--limit %d leaves no rule", f.limit))
	}
	c, err := readConfig(f.config, stdin)
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		return control.Refuse(err)
	}
	if known := func(p config.Port) bool { return p.Name == f.port }; f.port != "" && f.port != "fabric" && !slices.ContainsFunc(c.Ports, known) {
		return control.Refuse(fmt.Errorf("there is no port %q in %s", f.port, f.config))
	}
	o := offload.Options{Only: f.port, Limit: f.limit}
	for _, text := range f.flows {
		flow, err := offload.ParseFlow(text)
		if err != nil {
			return control.Refuse(err)
		}
		o.Flows = append(o.Flows, flow)
	}
	var plans []offload.Plan
	for _, target := range form.targets {
		o.Target = target
		plan, err := control.Offload(c, o)
		if err != nil {
			return fmt.Errorf("translating %s: %w", f.config, err)
		}
		plans = append(plans, plan)
	}
	return form.write(plans, stdout)
}
