package main

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
)

// wayFlags are a route's way as the command line gives it.
type wayFlags struct {
	tunnel, encapsulation, mac, port, network string
	label, vni                                uint32
	several                                   []string // each as key=value,...
}

func (f wayFlags) via() (config.Via, error) {
	if len(f.several) > 0 {
		return severalWays(f.several)
	}
	via := config.Via{Encapsulation: config.Encapsulation(f.encapsulation), Label: f.label, VNI: f.vni, Port: f.port, Network: f.network}
	var err error
	if f.tunnel != "" {
		if via.Tunnel, err = netip.ParseAddr(f.tunnel); err != nil {
			return via, control.Refuse(fmt.Errorf("--tunnel: %w", err))
		}
	}
	if f.mac != "" {
		if via.MAC, err = config.ParseMAC(f.mac); err != nil {
			return via, control.Refuse(fmt.Errorf("--mac: %w", err))
		}
	}
	return via, nil
}

func severalWays(texts []string) (config.Via, error) {
	var members []config.Via
	for _, text := range texts {
		f, err := readWay(text)
		if err == nil {
			var member config.Via
			member, err = f.via()
			members = append(members, member)
		}
		if err != nil {
			return config.Via{}, control.Refuse(fmt.Errorf("--way %s: %w", text, err))
		}
	}
	return config.Via{ECMP: config.MakeMembers(members...)}, nil
}

// readWay reads such as tunnel=10.0.0.2,encapsulation=mplsoudp,label=17.
func readWay(text string) (f wayFlags, err error) {
	words := map[string]*string{"tunnel": &f.tunnel, "encapsulation": &f.encapsulation, "mac": &f.mac, "port": &f.port}
	numbers := map[string]*uint32{"label": &f.label, "vni": &f.vni}
	for _, pair := range strings.Split(text, ",") {
		key, value, _ := strings.Cut(pair, "=")
		switch {
		case words[key] != nil:
			*words[key] = value
		case numbers[key] != nil:
			number, err := strconv.ParseUint(value, 10, 32)
			if err != nil {
				return f, fmt.Errorf("%s: %q is no number", key, value)
			}
			*numbers[key] = uint32(number)
		default:
			return f, fmt.Errorf("there is no %q%s", key, config.Nearest(key, []string{"tunnel", "encapsulation", "mac", "port", "label", "vni"}))
		}
	}
	return f, nil
}
