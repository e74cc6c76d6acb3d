package run

import (
	"fmt"

	"windtunnel/result"
)

// backlogSetting is the length of the queue that is the ring of a wire by RPS. Agents raise it where they see it, which is
// in the machine's first network namespace alone.
const backlogSetting = "net.core.netdev_max_backlog"

// shallow is the doubt about a cell whose wire's ring could not be made as deep as it is elsewhere.
func (c *Conductor) shallow(cell PlannedCell) []result.Doubt {
	if !cell.Laid.Graph.ByBacklog() {
		return nil
	}
	for _, node := range c.nodesOf(cell.Laid.Graph) {
		if print := node.Fingerprint(); len(print) > 0 && print[backlogSetting] == "" {
			return []result.Doubt{{Kind: "backlog", Says: fmt.Sprintf(
				"the wire's ring is the queue of %s, which node %s, inside of another network namespace, can neither see nor lengthen: by its own 1000 packets a fast stream loses some there (softnet), and is slower for it",
				backlogSetting, node.Name())}}
		}
	}
	return nil
}
