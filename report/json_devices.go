package report

import "windtunnel/analysis"

// deviceObject is what an interface on the way was set to, as the kernel said in the cell's last trial.
type deviceObject struct {
	Node  string   `json:"node"`
	Place string   `json:"place"` // and its name there
	MTU   int      `json:"mtu"`
	On    []string `json:"on"` // offloads
}

// devicesOf are in the order of the way.
func devicesOf(c analysis.Cell) (all []deviceObject) {
	for _, h := range c.Hops {
		if h.Settings != nil {
			all = append(all, deviceObject{h.Node, h.Place, h.Settings.MTU, list(h.Settings.On)})
		}
	}
	return all
}
