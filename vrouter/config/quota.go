package config

// FlowQuotas are how many flows the ports of each network may have together, by its name; 0 is as many
// as there is room for.
//
// A network that names no number may not fill the table for the others: half of the table is a reserve,
// of which each network in flow mode has an equal part, and it may have all but the parts of the others.
// Alone, it may have all.
func (c Config) FlowQuotas() map[string]uint32 {
	inFlowMode := make(map[string]bool)
	for _, p := range c.Ports {
		if p.Flow.Policy != "" {
			inFlowMode[p.Network] = true
		}
	}
	quotas, table := make(map[string]uint32, len(c.Networks)), c.Limits.FlowTable()
	for _, n := range c.Networks {
		quotas[n.Name] = n.Flows
		if count := uint32(len(inFlowMode)); n.Flows == 0 && inFlowMode[n.Name] && count > 1 {
			quotas[n.Name] = table - (count-1)*(table/(2*count))
		}
	}
	return quotas
}
