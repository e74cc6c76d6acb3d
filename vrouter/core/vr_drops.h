/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Every way in which the vRouter loses a packet, once. The C enumeration and the Go names
 * (drops_generated.go) come from this list: a new reason is one line, at the end of its group.
 */
#ifndef VR_DROPS_H
#define VR_DROPS_H

/* clang-format off */
#define VR_DROP_REASONS(X)                                                                         \
	X(truncated,        "the frame ends before its headers do")                                \
	X(unknown_vif,      "the interface has no vif record")                                     \
	X(vlan,             "a VLAN tag at a vif")                                                 \
	X(not_ip,           "neither IP nor ARP at a vif")                                         \
	X(bad_header,       "an IP header with a wrong version or length")                         \
	X(bad_checksum,     "an IPv4 header whose checksum is wrong")                              \
	X(spoofed_mac,      "the source MAC is not the port's")                                    \
	X(spoofed_address,  "the source address is not the port's")                                \
	X(not_gateway_mac,  "a unicast frame that is not addressed to the virtual gateway's MAC")  \
	X(multicast,        "a broadcast or multicast destination")                                \
	X(ttl_expired,      "the time to live ran out")                                            \
	X(no_route,         "no route to the destination in the port's network")                   \
	X(discarded,        "the route's nexthop is discard")                                      \
	X(bad_nexthop,      "the route or label names a nexthop that is not there")                \
	X(gateway,          "addressed to the virtual gateway, which offers only echo")            \
	X(unresolved,       "the nexthop's MAC address is not known yet")                          \
	X(mtu_exceeded,     "larger than the way out allows, and no answer could be sent")         \
	X(arp_malformed,    "an ARP packet that is not Ethernet and IPv4")                         \
	X(arp_not_request,  "an ARP packet that asks nothing")                                     \
	X(arp_own_address,  "an ARP request for the port's own address: nobody else has it")       \
	X(arp_outside,      "an ARP request for an address outside the network")                   \
	X(label_stack,      "more than one MPLS label")                                            \
	X(label_ttl,        "the MPLS label's time to live ran out")                               \
	X(unknown_label,    "an MPLS label that no port or network here has")                      \
	X(inner_not_ip,     "the tunnel carries something other than IP")                          \
	X(inner_bad_header, "the tunnel carries an IP header with a wrong length or checksum")      \
	X(ecn,              "congestion marked outside on a packet that cannot carry the mark")    \
	X(rewrite_failed,   "the kernel refused to make or take away room for headers")            \
	X(tenant_tunnel,    "a tunnel packet sent by a container: only nodes may send those")      \
	X(inner_tunnel,     "a tunnel packet inside a tunnel packet")                              \
	X(gre_flags,        "MPLS in GRE with a checksum, key, sequence number or version")        \
	X(vxlan_flags,      "a VXLAN packet that does not say that its VNI is valid")              \
	X(unknown_vni,      "a VNI that no network here has")                                      \
	X(inner_wrong_mac,  "a tunnel's frame for a MAC that is neither the gateway's nor the port's") \
	X(not_here,         "a tunnel packet to an address that no port here has")                 \
	X(no_ipv6,          "IPv6 at a port that has no IPv6 address")                             \
	X(extensions,       "more IPv6 extension headers than are looked at")                      \
	X(link_local,       "a link-local source address: those are for neighbour discovery only") \
	X(nd_malformed,     "a neighbour solicitation with a wrong length or hop limit")           \
	X(nd_not_solicitation, "neighbour discovery that asks nothing")                            \
	X(nd_probe,         "detection of a duplicate address: nobody else has the address")       \
	X(nd_own_address,   "a neighbour solicitation for the port's own address")                 \
	X(nd_outside,       "a neighbour solicitation for an address outside the network")         \
	X(router_solicitation, "a router solicitation: addresses are given by the configuration")  \
	X(mld,              "multicast listener discovery: there is no multicast")                 \
	X(outer_extensions, "a tunnel packet with IPv6 extension headers: nodes send none")        \
	X(unknown_peer,     "a tunnel packet over IPv6, without a checksum, from no known node")   \
	X(policy_denied,    "no flow that is known, and the port's policy denies a new one")       \
	X(flow_quota,       "a new flow, but the network has as many as its quota")                \
	X(flow_table_full,  "a new flow, but the flow table is full")                              \
	X(icmp_unrelated,   "an ICMP error that quotes no packet of a flow that is known")         \
	X(fragment_unknown, "a later fragment whose first one has not passed")                     \
	X(translated_twice, "a route into another network led to a route into a third")   \
	X(unknown_mac,      "a MAC address that nobody here has, in a network that does not flood") \
	X(own_mac,          "a frame to the port's own MAC address")                               \
	X(link_control,     "a frame that bridges keep to themselves, to 01:80:c2:00:00:0X")       \
	X(rogue_router,     "a router advertisement or redirect from a container")                 \
	X(split_horizon,    "came from the fabric for another node: that one gets it by itself")   \
	X(flood_nobody,     "for all of a network, and there is nobody else")                      \
	X(copy_failed,      "the kernel could not copy a frame, or the device not take the copy")   \
	X(control_word,     "no control word between the label and the frame, where one has to be") \
	X(tx_full,          "poll mode: the way out took no more packets, or is gone")              \
	X(oversized,        "poll mode: longer than an IP packet can be, or the port had no room for all of it") \
	X(bad_transport,    "a TCP or UDP header with a wrong length")                             \
	X(outer_length,     "a tunnel packet whose UDP header has another length than the packet") \
	X(outer_source,     "a tunnel packet from an address that is no other node's")             \
	X(joined,           "an aggregate that is not one IP packet, as tunnel packets joined outside are") \
	X(bad_aggregate,    "poll mode: an aggregate that is not what its sender says, or of too many packets") \
	X(no_buffers,       "poll mode: no buffer was free for a packet of an aggregate that was cut")
/* clang-format on */

enum vr_drop {
	VR_DROP_NONE = 0,
#define VR_X(name, text) VR_DROP_##name,
	VR_DROP_REASONS(VR_X)
#undef VR_X
	    VR_DROP_COUNT
};

#endif
