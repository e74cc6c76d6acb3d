package testbed

// Features are the words for what a testbed may need of a machine's kernel, or of its NICs, what
// others build on first. Backends find out which are missing.
var Features = []string{
	FeatureNetns, FeatureVeth, FeatureBridge, FeatureVXLAN, FeatureMacvlan,
	FeatureBPF, FeatureTCX, FeatureThreaded, FeatureRPS, FeatureSmartNIC, FeatureDesktopEngine,
}

// The features.
const (
	FeatureNetns    = "netns"         // network namespaces
	FeatureVeth     = "veth"          // virtual Ethernet pairs
	FeatureBridge   = "bridge"        // Linux bridges
	FeatureVXLAN    = "vxlan"         // VXLAN devices
	FeatureMacvlan  = "macvlan"       // macvlan devices
	FeatureBPF      = "bpf"           // BPF programs for tc
	FeatureTCX      = "tcx"           // their attachment by tcx
	FeatureThreaded = "threaded-napi" // receive work in kernel threads
	FeatureRPS      = "rps"           // receive packet steering
	FeatureSmartNIC = "smartnic"      // a NIC that forwards by rules of its own
	// FeatureDesktopEngine is a container engine in a virtual machine of another system.
	FeatureDesktopEngine = "desktop-engine"
)
