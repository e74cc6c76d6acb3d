package testbed

import "fmt"

// Action is what a Change does.
type Action string

// The actions.
const (
	Make   Action = "make"
	Set    Action = "set"
	Remove Action = "remove"
)

// Kind is the kind of object that a Change is about.
type Kind string

// The kinds of objects, in the order in which they are made.
const (
	KindNode      Kind = "node"
	KindContainer Kind = "container"
	KindBridge    Kind = "bridge"
	KindBond      Kind = "bond"
	KindLink      Kind = "link"
	KindVXLAN     Kind = "vxlan"
	KindDaemon    Kind = "daemon"
	KindPort      Kind = "port"
	KindEngine    Kind = "engine"
	KindRoute     Kind = "route"
	KindVM        Kind = "vm"
)

// The names of attributes that can be set on a living object. Offloads go by
// their own names.
const (
	AttributeCPUs      = "cpus"
	AttributeMAC       = "mac"
	AttributeMTU       = "mtu"
	AttributeBridge    = "bridge"
	AttributeAddresses = "addresses"
	AttributeRoutes    = "routes"
	AttributeSteering  = "steering"
	AttributeQueueBy   = "queue by"
	AttributeRate      = "rate"
	AttributeLoss      = "loss"
)

// Change is one step from a testbed to another, as data.
type Change struct {
	Do     Action
	Kind   Kind
	Name   string
	Detail string // what is made, in words

	// Of a Set: where, which attribute, and its values.
	Place, Device string
	Attribute     string
	From, To      string
}

// String is the change's line in a plan.
func (c Change) String() string {
	switch c.Do {
	case Set:
		where := ""
		if c.Device != "" {
			where = c.Place + "/" + c.Device + " "
		}
		return fmt.Sprintf("set %s %s: %s%s %s -> %s", c.Kind, c.Name, where, c.Attribute, orNone(c.From), orNone(c.To))
	case Make:
		return fmt.Sprintf("make %s %s: %s", c.Kind, c.Name, c.Detail)
	}
	return fmt.Sprintf("%s %s %s", c.Do, c.Kind, c.Name)
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}
