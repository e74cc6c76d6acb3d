package control

import (
	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// Vif is a port's row: rx is from the container, tx to it.
type Vif struct {
	Vif       uint32 `json:"vif"`
	Name      string `json:"name"`
	Interface string `json:"interface"` // or a socket's path, or a PCI address
	Network   string `json:"network"`
	Address   string `json:"address"`
	Address6  string `json:"address6,omitempty"`
	MAC       string `json:"mac"`
	MTU       uint32 `json:"mtu"`
	Label     uint32 `json:"label,omitempty"`
	Delivery  string `json:"delivery"`         // at tc: "peer" or "redirect"; in poll mode the driver
	Driver    string `json:"driver,omitempty"` // poll mode: how the device is reached
	Fast      Fast   `json:"fast"`
	Rx        Count  `json:"rx"`
	Tx        Count  `json:"tx"`
}

// Vifs lists the ports that have a vif, in the configuration's order.
func (a *Agent) Vifs() ([]Vif, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rows, slots := []Vif{}, a.view().slots()
	for _, p := range a.config.Ports {
		slot, ok := slots[config.ID(p.Name)]
		if !ok {
			continue
		}
		count, err := a.plane.VifCount(slot)
		if err != nil {
			return nil, err
		}
		record := a.image.Vifs[slot]
		row := Vif{
			Vif: slot, Name: p.Name, Interface: p.Place(), Network: p.Network, Address: p.Address.String(), Address6: text(p.Address6), MAC: p.MAC.String(),
			MTU: record.MTU, Label: p.Label, Delivery: "redirect", Rx: countOf(count.Rx), Tx: countOf(count.Tx),
		}
		if row.Fast, err = a.fastRow(record.Ifindex, slot); err != nil {
			return nil, err
		}
		if a.poll != nil {
			row.Driver, row.Delivery = string(p.How()), string(p.How())
		}
		if record.Flags&core.VifPeer != 0 {
			row.Delivery = "peer"
		}
		rows = append(rows, row)
	}
	return rows, nil
}
