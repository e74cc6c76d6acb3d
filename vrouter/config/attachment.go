package config

// Attachment is where packets of a vif come from and go to; vif 0 is the fabric.
type Attachment struct {
	Vif       uint32
	Ifindex   uint32
	Interface string // or a socket's path, or a PCI address
	Driver    Driver // of the poll mode
	MTU       uint32 // of a device that has none of its own, else 0
	MAC       MAC    // that a tap gets, the container's
	Netns     string // that a tap is in; empty: the vRouter's own
	// Host is the host's interface beside a fabric that is no interface of the host's: what is not the
	// vRouter's goes there, and comes from there.
	Host string
}

// Driver is how the poll mode reaches a device.
type Driver string

const (
	// DriverPacket is a socket of AF_PACKET at a network interface.
	DriverPacket Driver = "af_packet"
	// DriverXDP is a socket of AF_XDP there.
	DriverXDP Driver = "af_xdp"
	// DriverVhostServer is a vhost-user socket that the vRouter makes and a VM connects to.
	DriverVhostServer Driver = "vhost-server"
	// DriverVhostClient is one that the VM makes.
	DriverVhostClient Driver = "vhost-client"
	// DriverVirtioClient is the other side of such a socket, as a VM has it: a switch listens.
	DriverVirtioClient Driver = "virtio-client"
	// DriverTap is an interface that the vRouter makes.
	DriverTap Driver = "tap"
	// DriverPCI is a device that the kernel has given up.
	DriverPCI Driver = "pci"
)

// IsVhost tells whether the other side is a VM, or what stands for one.
func (d Driver) IsVhost() bool { return d == DriverVhostServer || d == DriverVhostClient }

// IsSocket tells whether the other side may come and go.
func (d Driver) IsSocket() bool { return d.IsVhost() || d == DriverVirtioClient }

// Listens tells whether it makes a socket's file.
func (d Driver) Listens() bool { return d == DriverVhostServer }

// IsInterface tells whether it is a network interface that is there without the vRouter.
func (d Driver) IsInterface() bool { return d == DriverPacket || d == DriverXDP }

// Pinned tells whether a device of PCI is to read and write the packets' memory by itself, which then is
// taken whole. Not where AF_XDP needs so much of it that most would better not be.
func (c Config) Pinned() bool {
	drivers := make(map[Driver]bool)
	for _, p := range c.Ports {
		drivers[p.How()] = true
	}
	if c.Fabric.Device != nil {
		drivers[c.Fabric.Device.How()] = true
	}
	return drivers[DriverPCI] && !drivers[DriverXDP]
}
