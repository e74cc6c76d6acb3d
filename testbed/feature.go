package testbed

// Features are the words for what a testbed may need of a machine's kernel, or of its NICs, what
// others build on first. Backends find out which are missing.
var Features = []string{
	FeatureNetns, FeatureVeth, FeatureBridge, FeatureVXLAN, FeatureMacvlan, FeatureBonding,
	FeatureBPF, FeatureTCX, FeatureThreaded, FeatureRPS, FeatureShaper, FeatureSmartNIC, FeatureDesktopEngine,
	FeatureTap, FeatureGuestKernel, FeatureGuestContainer, FeatureKVM, FeatureVhostNet,
	FeatureStacks,
}

// The features.
const (
	FeatureNetns    = "netns"         // network namespaces
	FeatureVeth     = "veth"          // virtual Ethernet pairs
	FeatureBridge   = "bridge"        // Linux bridges
	FeatureVXLAN    = "vxlan"         // VXLAN devices
	FeatureMacvlan  = "macvlan"       // macvlan devices
	FeatureBonding  = "bonding"       // bonding devices
	FeatureBPF      = "bpf"           // BPF programs for tc
	FeatureTCX      = "tcx"           // their attachment by tcx
	FeatureThreaded = "threaded-napi" // receive work in kernel threads
	FeatureRPS      = "rps"           // receive packet steering
	FeatureShaper   = "token-bucket"  // token buckets before interfaces (tbf)
	FeatureSmartNIC = "smartnic"      // a NIC that forwards by rules of its own
	// FeatureDesktopEngine is a container engine in a virtual machine of another system.
	FeatureDesktopEngine = "desktop-engine"

	// What virtual machines stand on. Without the last two they are emulated, and their packets are
	// QEMU's to carry.
	FeatureTap         = "tap"          // tap devices
	FeatureGuestKernel = "guest-kernel" // a kernel for virtual machines, with its modules
	// FeatureGuestContainer is what its modules have to have for a container in a virtual machine: bridges and NAT.
	FeatureGuestContainer = "guest-container"

	FeatureKVM      = "kvm"       // virtual machines by the CPU
	FeatureVhostNet = "vhost-net" // their packets carried by the kernel

	// FeatureStacks is what layer costs are made of; without it cells are measured all the same.
	FeatureStacks = "stack-sampling"
)
