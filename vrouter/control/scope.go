package control

import (
	"fmt"
	"slices"

	"windtunnel/vrouter/config"
)

// Scope narrows what is shown to a network or a port; the zero one is all.
type Scope struct{ Network, Port string }

// check refuses names that are not there.
func (v view) check(s Scope) error {
	networks, ports := make([]string, 0), make([]string, 0)
	for _, n := range v.config.Networks {
		networks = append(networks, n.Name)
	}
	for _, p := range v.config.Ports {
		ports = append(ports, p.Name)
	}
	switch {
	case s.Network != "" && !slices.Contains(networks, s.Network):
		return Refuse(fmt.Errorf("there is no network %q%s", s.Network, config.Nearest(s.Network, networks)))
	case s.Port != "" && !slices.Contains(ports, s.Port):
		return Refuse(fmt.Errorf("there is no port %q%s", s.Port, config.Nearest(s.Port, ports)))
	}
	return nil
}

func (s Scope) has(p config.Port) bool {
	return (s.Network == "" || p.Network == s.Network) && (s.Port == "" || p.Name == s.Port)
}
