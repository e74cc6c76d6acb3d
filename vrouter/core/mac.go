package core

const (
	macHash       = 0x9e3779b97f4a7c15
	macBucketBits = 13
)

// MACKey names a MAC address, without MACKnown or with it, in a VRF.
func MACKey(vrf uint32, mac uint64) uint64 { return uint64(vrf)<<48 | mac&(MACKnown-1) }

// MACBucketsOf are the first slots of the two buckets that may hold a key, as vr_mac_find in
// vr_bridge.h has them.
func MACBucketsOf(key uint64) [2]uint32 {
	mixed := key * macHash
	mixed = (mixed ^ mixed>>32) * macHash
	at := func(shift int) uint32 { return uint32(mixed>>shift) % MACBuckets * MACWays }
	return [2]uint32{at(64 - macBucketBits), at(64 - 2*macBucketBits)}
}
