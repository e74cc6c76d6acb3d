package lobby

import "net"

// somebodyWaits is not asked: no limit of files comes before memory's.
func somebodyWaits(net.Listener) bool { return true }
