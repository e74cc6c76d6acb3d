package poll

import "windtunnel/vrouter/config"

// Check refuses what the poll mode cannot do. The error is a *config.Error.
func Check(c config.Config) error {
	switch f := c.Fabric; {
	case f.Receive != "" && f.Receive != config.ReceiveAuto:
		return &config.Error{Path: "fabric.receive", Message: `poll mode receives everything by itself; "auto", or nothing, is all it takes`}
	case f.Fast == config.FastOn:
		return &config.Error{Path: "fabric.fast", Message: "the fast path is the kernel mode's; poll mode has one path only"}
	}
	for _, p := range c.Ports {
		if p.Fast == config.FastOn {
			return &config.Error{Path: "ports", Message: "port " + p.Name + ": the fast path is the kernel mode's; poll mode has one path only"}
		}
	}
	return nil
}
