package config

import "fmt"

func (k *checker) network(path string, n Network) *Error {
	if err := k.name(path+".name", "network", n.Name); err != nil {
		return err
	}
	switch {
	case !n.Subnet.IsValid() || !n.Subnet.Addr().Is4():
		return bad(path+".subnet", "%s is no IPv4 prefix", n.Subnet)
	case n.Subnet != n.Subnet.Masked():
		return bad(path+".subnet", "%s has bits behind its prefix; did you mean %s?", n.Subnet, n.Subnet.Masked())
	case !unicast(n.Gateway) || !n.Subnet.Contains(n.Gateway):
		return bad(path+".gateway", "%s is no host of %s", n.Gateway, n.Subnet)
	case n.Subnet6.IsValid() != n.Gateway6.IsValid():
		return bad(path, "subnet6 and gateway6 belong together; give both or none")
	case n.Subnet6.IsValid() && !n.Subnet6.Addr().Is6():
		return bad(path+".subnet6", "%s is no IPv6 prefix", n.Subnet6)
	case n.Subnet6.IsValid() && n.Subnet6 != n.Subnet6.Masked():
		return bad(path+".subnet6", "%s has bits behind its prefix; did you mean %s?", n.Subnet6, n.Subnet6.Masked())
	case n.Subnet6.IsValid() && (!unicast6(n.Gateway6) || !n.Subnet6.Contains(n.Gateway6)):
		return bad(path+".gateway6", "%s is no host of %s", n.Gateway6, n.Subnet6)
	case n.VNI > maxVNI:
		return bad(path+".vni", "%d is not between 1 and %d", n.VNI, maxVNI)
	case n.VNI != 0 && k.vnis[n.VNI] != "":
		return bad(path+".vni", "%d belongs to network %q already", n.VNI, k.vnis[n.VNI])
	}
	k.vnis[n.VNI] = n.Name
	k.networks[n.Name] = n
	if err := k.label(path, n.Label, fmt.Sprintf("network %q", n.Name)); err != nil || n.Bridge == nil {
		return err
	}
	return k.label(path+".bridge", n.Bridge.Label, fmt.Sprintf("the bridge of network %q", n.Name))
}

func (k *checker) knownNetwork(path, name string) (Network, *Error) {
	n, ok := k.networks[name]
	if !ok {
		return n, bad(path+".network", "there is no network %q%s", name, nearest(name, sortedKeys(k.networks)))
	}
	return n, nil
}
