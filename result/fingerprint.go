package result

// Fingerprint is what a node is made of, by dotted name: "cpu.model",
// "kernel.release", "sysctl.net.ipv4.tcp_rmem". Two runs are comparable when
// theirs agree; what could not be read is absent.
type Fingerprint map[string]string
