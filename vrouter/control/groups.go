package control

import (
	"fmt"

	"windtunnel/vrouter/core"
)

// Member is one of several ways: a nexthop, the label that it pushes, and its share of the flows, from 0
// (it cannot be reached) to 1.
type Member struct {
	Nexthop uint32  `json:"nh"`
	Label   uint32  `json:"label,omitempty"`
	Share   float64 `json:"share"`
}

// ecmp is the row of a nexthop that is one of several.
func (v view) ecmp(number uint32, r core.Nexthop) Nexthop {
	row := Nexthop{Nexthop: number, Type: nexthopTypes[r.Type], Members: []Member{}}
	for _, s := range v.image.Shares(r.Vif) {
		row.Members = append(row.Members, Member{s.Nexthop, s.Label, float64(s.Buckets) / core.GroupBuckets})
		row.Resolved = row.Resolved || v.image.Nexthops[s.Nexthop].Dmac&core.MACKnown != 0
	}
	return row
}

// groups counts those that routes lead to, and their members that get no flow: what cannot be reached, also
// where no other can.
func (v view) groups() (groups, avoided int) {
	used := v.image.UsedGroups()
	for _, slot := range used {
		for _, s := range v.image.Shares(slot) {
			if v.image.Nexthops[s.Nexthop].Dmac&core.MACKnown == 0 {
				avoided++
			}
		}
	}
	return len(used), avoided
}

// Text is a member in a table's row.
func (m Member) Text() string {
	text := fmt.Sprint(m.Nexthop)
	if m.Label != 0 {
		text += fmt.Sprintf(" label %d", m.Label)
	}
	return fmt.Sprintf("%s %.0f%%", text, 100*m.Share)
}
