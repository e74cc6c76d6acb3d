/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The records of the tables. They are shared by the BPF programs, the poll mode and Go, so every
 * one has a fixed size, holds indices and never pointers, and means nothing when it is all zero.
 *
 * Addresses are in host byte order: the route table is indexed by their bits. A MAC address is a
 * word, its first byte in the lowest bits, so that one aligned store changes it whole.
 */
#ifndef VR_TYPES_H
#define VR_TYPES_H

#include <stdint.h>

#include "vr_drops.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the records and the packet accessors are written for little-endian machines"
#endif

#define VR_INLINE static inline __attribute__((always_inline))

#define VR_MAX_VIFS 1024
#define VR_MAX_VRFS 256
#define VR_MAX_NHS 4096
#define VR_MAX_GROUPS 1024
#define VR_MAX_LABELS 65536
#define VR_VNI_BUCKETS 512
#define VR_VNI_WAYS 8 /* words a bucket: one cache line */
#define VR_MAX_VNIS (VR_VNI_BUCKETS * VR_VNI_WAYS)
#define VR_MAC_BUCKETS 8192
#define VR_MAC_WAYS 8 /* records a bucket: two cache lines */
#define VR_MAX_MACS (VR_MAC_BUCKETS * VR_MAC_WAYS)
#define VR_MAX_FLOODS (2 * VR_MAX_VRFS) /* twice, so that all can be replaced at once */
#define VR_FLOOD_TARGETS 64

/* Blocks of the route tables, where nobody says how many routes there will be. */
#define VR_DEFAULT_BLOCKS 147456

/* Labels 0 to 15 are reserved: RFC 3032, section 2.1. */
#define VR_MIN_LABEL 16

/* The fabric's own routing table: the addresses that are reached without a tunnel. */
#define VR_FABRIC_VRF 0

/* No network's, but the nodes that tunnel packets without a checksum come from, over IPv6. */
#define VR_PEERS_VRF VR_MAX_VRFS
#define VR_VRF_SLOTS (VR_MAX_VRFS + 1)

/* Set in byte 6 of a MAC word when bytes 0 to 5 are known. */
#define VR_MAC_KNOWN (1ULL << 48)

/* An address of either family, its first bit the highest of hi; IPv4 has the upper half of hi. */
struct vr_addr {
	uint64_t hi;
	uint64_t lo;
};

enum vr_vif_flag {
	VR_VIF_PEER = 1, /* a veth whose other end is in another namespace: bpf_redirect_peer */
};

/* A vif: the host's side of a port. */
struct vr_vif {
	uint64_t id;  /* names the port: FNV-1a of its name */
	uint64_t mac; /* the container's own */
	uint32_t ifindex;
	uint32_t vrf;
	uint32_t address;
	uint32_t mtu;
	uint32_t flags;
	uint32_t label;
	uint32_t policy; /* of its flows; 0: packet mode */
	uint32_t reserved;
	struct vr_addr address6; /* 0: it has none */
};
_Static_assert(sizeof(struct vr_vif) == 64, "vr_vif is shared with Go");

enum vr_vrf_flag {
	VR_VRF_MSS_CLAMP = 1,	  /* TCP connections begin with segments that fit */
	VR_VRF_BRIDGE = 2,	  /* one link: what is not for the gateway's MAC is bridged */
	VR_VRF_FLOOD_UNKNOWN = 4, /* so is, to all, what is for a MAC that is not in the table */
	VR_VRF_HOSTS = 8, /* most IPv4 routes are of single addresses: look for those first */
};

/* A VRF: one network's routing table. Only the roots, both with one store, the flags, the quota of
 * flows and the flood list change while the record is in use. */
struct vr_vrf {
	uint64_t id;
	uint64_t gateway_mac;
	uint32_t root4; /* block of the route tables; 0: no routes */
	uint32_t root6;
	uint32_t subnet;
	uint32_t mask;
	uint32_t gateway;
	uint16_t flags;
	uint16_t slot;	/* its own number */
	uint32_t flows; /* how many its ports may have; 0: as many as there is room for */
	uint32_t flood; /* the list of those who get what is for all; 0: there is nobody */
	struct vr_addr gateway6;
	struct vr_addr subnet6;
	struct vr_addr mask6;
};
_Static_assert(sizeof(struct vr_vrf) == 96, "vr_vrf is shared with Go");

enum vr_nh_type {
	VR_NH_NONE = 0,
	VR_NH_DISCARD,
	VR_NH_RECEIVE,	 /* the virtual gateway itself */
	VR_NH_ENCAP,	 /* an Ethernet header, then out of a device: a vif, or the fabric */
	VR_NH_TUNNEL,	 /* the template's headers, then out of the fabric */
	VR_NH_ECMP,	 /* one of several ways, by the flow: a group's */
	VR_NH_TRANSLATE, /* the routes of another network say where to */
	VR_NH_FRAMES,	 /* of a label: whole frames, for a network that is one link */
};

/* What a tunnel wraps packets in. */
enum vr_encapsulation {
	VR_BARE = 0,
	VR_MPLSOUDP, /* RFC 7510 */
	VR_MPLSOGRE, /* RFC 4023 */
	VR_VXLAN,    /* RFC 7348 */
	/* Behind the label a whole frame (RFC 7432, section 13), or one that a control word comes
	 * before (RFC 4385, section 3). */
	VR_FRAME_MPLSOUDP,
	VR_FRAME_MPLSOGRE,
	VR_WORD_MPLSOUDP,
	VR_WORD_MPLSOGRE,
};

/* The longest template: IPv6, UDP, VXLAN (or a label and a control word) and the inner Ethernet
 * header, in whole words. */
#define VR_TEMPLATE_LEN 72

enum vr_nh_flag {
	VR_NH_FABRIC = 1, /* leaves by the fabric, not by a vif */
	VR_NH_PEER = 2,	  /* as VR_VIF_PEER */
	VR_NH_ADDR6 = 4,  /* addr is an IPv6 address */
	VR_NH_FLOW = 8,	  /* to a vif that has a policy */
	VR_NH_WORD = 16,  /* of VR_NH_FRAMES: a control word comes before each */
	VR_NH_SUM = 32,	  /* of a tunnel with UDP: it has a checksum (poll mode only) */
};

/* A nexthop holds all that a packet needs on its way out: two cache lines. Only dmac and mtu change
 * while the record is in use. The template is what stands between the outer Ethernet header and the
 * inner IP header, with zeros where packets differ. */
struct vr_nh {
	uint64_t dmac;
	uint64_t smac;
	uint8_t type;
	uint8_t encapsulation;
	uint8_t push;  /* bytes of the template that are used: what the tunnel adds to a packet */
	uint8_t outer; /* bytes of the outer IP header in it */
	uint32_t flags;
	uint32_t ifindex;
	uint32_t vif;	     /* for a vif: whose counters; else see VR_NH_GROUP and VR_NH_VRF */
	uint32_t mtu;	     /* the longest inner packet, encapsulation already taken off */
	uint32_t csum;	     /* of an outer IPv4 header as the template has it, not complemented */
	struct vr_addr addr; /* whose it is: the far end, the neighbour or the port */
	uint8_t header[VR_TEMPLATE_LEN];
};
_Static_assert(sizeof(struct vr_nh) == 128, "vr_nh is shared with Go");

/* Of a nexthop that leads on: the number of its group or its network. */
#define VR_NH_GROUP(nh) ((nh)->vif)
#define VR_NH_VRF(nh) ((nh)->vif)
#define VR_NH_LEADS_ON(nh) ((nh)->type >= VR_NH_ECMP)

/* Which members of a group may be chosen. What a tunnel brought does not go into the next one. */
enum vr_members {
	VR_ANY_MEMBER,
	VR_LOCAL_MEMBER, /* a port of this node */
};

/*
 * A group: several ways to one destination. A flow has a bucket, and a bucket has a member, for
 * each kind of choice; VR_GROUP_MEMBERS and above is none. A member is a route's word: a nexthop,
 * and the label to push. Buckets and members change while the record is in use, a word at a time;
 * the agent says who has which bucket, so that a member that goes takes no other's flows with it.
 */
#define VR_GROUP_MEMBERS 16
#define VR_GROUP_BUCKET_BITS 10
#define VR_GROUP_BUCKETS 1024
struct vr_group {
	uint64_t id; /* names the members: FNV-1a of them */
	uint64_t members[VR_GROUP_MEMBERS];
	uint8_t buckets[2][VR_GROUP_BUCKETS];
};
_Static_assert(sizeof(struct vr_group) == 2184, "vr_group is shared with Go");
_Static_assert(VR_GROUP_BUCKETS == 1 << VR_GROUP_BUCKET_BITS, "a hash's bits name a bucket");

enum vr_node_flag {
	VR_NODE_VXLAN = 1,  /* VXLAN packets to the node are the vRouter's: a network has a VNI */
	VR_NODE_FRAMES = 2, /* there are labels of frames */
};

/* The node itself. */
struct vr_node {
	uint64_t mac;
	uint32_t address;
	uint32_t ifindex;
	uint32_t mtu;
	uint32_t version; /* of this layout, VR_LAYOUT */
	uint32_t flags;
	uint32_t hosts;		 /* buckets of the hosts' table, a power of two; 0: it has none */
	struct vr_addr address6; /* as address: 0 if it has none of the family */
};
_Static_assert(sizeof(struct vr_node) == 48, "vr_node is shared with Go");

/* Grows with every change of a record, so that pinned tables of another layout are refused. */
#define VR_LAYOUT 18

/*
 * A route entry is one 64-bit word, because a packet must see all of it or nothing:
 * bits 0-30 a nexthop, or a block further down if bit 31 is set; bits 32-51 the label to push;
 * bits 52-59 the length of the prefix, the route's or the block's; bit 60 is the agent's.
 */
#define VR_ROUTE_CHILD (1ULL << 31)
#define VR_ROUTE_REF(entry) ((uint32_t)(entry) & 0x7fffffffu)
#define VR_ROUTE_LABEL(entry) ((uint32_t)((entry) >> 32) & 0xfffffu)
#define VR_ROUTE_BITS(entry) ((uint32_t)((entry) >> 52) & 0xffu)

/*
 * A lone route below an entry needs no block: bit 63 says that bits 16-30, in place of a large
 * nexthop's, hold what is left of its prefix, up to 15 bits. It saves memory, and so a cache miss.
 */
#define VR_ROUTE_TAIL (1ULL << 63)
#define VR_ROUTE_TAIL_BITS 15
#define VR_ROUTE_TAIL_OF(entry) ((uint32_t)(entry) >> 16 & 0x7fffu)
#define VR_ROUTE_WITHOUT_TAIL(entry) ((entry) & ~(VR_ROUTE_TAIL | 0x7fffULL << 16))

/*
 * A block of the route tables: the routes of one prefix that are 1 to 4 bits longer, and the ways
 * to the blocks of longer prefixes, by the four bits behind the prefix. Shorter routes of the block
 * are spread over the entries that no longer one claims. Blocks without a route or a fork are
 * left out, so the prefix of a block says what the way to it did not look at ("path compression":
 * Morrison, PATRICIA, Journal of the ACM 15(4), 1968). Nothing in a block that packets can
 * reach ever changes: a change makes new blocks, up to the root.
 */
#define VR_BLOCK_BITS 4
#define VR_BLOCK_ENTRIES 16
struct vr_block {
	struct vr_addr prefix;
	uint64_t otherwise; /* the route, in the block above, of the entry that leads here; or 0 */
	uint32_t length;    /* bits of the prefix, a multiple of 4 */
	uint32_t reserved;
	uint64_t entries[VR_BLOCK_ENTRIES];
};
_Static_assert(sizeof(struct vr_block) == 160, "vr_block is shared with Go");

/*
 * The hosts: routes of single IPv4 addresses, once more, where one look finds them. Of a million
 * random ones the blocks take three cache misses, this takes one. It may lack any: the route tables
 * have them all. A route that changes is taken out before the change and put in once no packet
 * follows the old one, so no packet sees one here that its route tables do not have.
 *
 * A key is the address with its VRF in bits 32-63, so it is never 0. It lies in its one bucket, a
 * cache line, if there was room. A route without its key, or a key without its route, is none.
 */
#define VR_HOST_WAYS 4
#define VR_DEFAULT_HOSTS 32768 /* buckets, where nobody says how many routes there will be */
struct vr_host {
	uint64_t key;
	uint64_t route;
};
struct vr_hosts {
	struct vr_host ways[VR_HOST_WAYS];
};
_Static_assert(sizeof(struct vr_hosts) == 64, "vr_hosts is shared with Go");
#define VR_HOST_KEY(vrf, address) ((uint64_t)(vrf) << 32 | (address))
#define VR_HOST_HASH 0x9e3779b97f4a7c15ULL
#define VR_HOST_BUCKET(key, buckets) ((uint32_t)((key) * VR_HOST_HASH >> 32) & ((buckets) - 1))

/*
 * The VNI table is exact: a VNI lies in one of the words of its bucket, wherever there is room. A
 * word holds the VNI in bits 0-23 and the VRF in bits 32-63, so it changes in one store; 0 is none.
 * Buckets are chosen by Fibonacci hashing, which spreads consecutive numbers evenly.
 */
#define VR_VNI_HASH 0x9e3779b1u
#define VR_VNI_BUCKET(vni) (((vni) * VR_VNI_HASH) >> (32 - 9))
_Static_assert(VR_VNI_BUCKETS == 1 << 9, "VR_VNI_BUCKET gives 9 bits");
#define VR_VNI_OF(word) ((uint32_t)(word) & 0xffffffu)
#define VR_VNI_VRF(word) ((uint32_t)((word) >> 32))

/*
 * The MAC table is exact. A key is a MAC address with its VRF in bits 48-63, so it is never 0; it
 * lies in one of two buckets, in the one that had more room, which lets the table be filled by half
 * and more (Azar, Broder, Karlin and Upfal, "Balanced Allocations", 1994). The route is a word as
 * in the route tables; a record is filled before its key is stored, and emptied after.
 */
struct vr_mac {
	uint64_t key;
	uint64_t route;
};
_Static_assert(sizeof(struct vr_mac) == 16, "vr_mac is shared with Go");

#define VR_MAC_KEY(vrf, mac) ((uint64_t)(vrf) << 48 | (mac))
#define VR_MAC_HASH 0x9e3779b97f4a7c15ULL
#define VR_MAC_BUCKET_BITS 13
_Static_assert(VR_MAC_BUCKETS == 1 << VR_MAC_BUCKET_BITS, "buckets are chosen by so many bits");

/* Who gets a copy of what is for all of a network: routes, ports of this node first, then tunnels,
 * those that add less before those that add more. A list that a VRF has never changes: a change
 * makes another one. */
struct vr_flood {
	uint32_t count;
	uint32_t udp; /* whether a tunnel's headers have UDP */
	uint64_t targets[VR_FLOOD_TARGETS];
};
_Static_assert(sizeof(struct vr_flood) == 8 + 8 * VR_FLOOD_TARGETS, "vr_flood is shared with Go");

/* Packets as the hook saw them, segments as the wire would, bytes as the hook saw them. */
struct vr_count {
	uint64_t packets;
	uint64_t segments;
	uint64_t bytes;
};

/* One CPU's account. received = forwarded + passed + answered + the sum of drops.
 * A packet that is flooded is one of these: forwarded if a copy left, else dropped as its last copy
 * was. The copies themselves are counted apart: flooded are the packets, copies what left of them,
 * copy_drops what did not. */
struct vr_totals {
	struct vr_count received_vif;
	struct vr_count received_fabric;
	struct vr_count forwarded;
	struct vr_count passed;
	struct vr_count answered;
	struct vr_count drops[VR_DROP_COUNT];
	struct vr_count flooded;
	struct vr_count copies;
	struct vr_count copy_drops[VR_DROP_COUNT];
};
_Static_assert(sizeof(struct vr_totals) == (7 + 2 * VR_DROP_COUNT) * 24, "shared with Go");

/* One CPU's account of one vif: rx from the container, tx to it.
 * rx = forwarded + answered + the sum of vr_vif_drops.from. */
struct vr_vif_count {
	struct vr_count rx;
	struct vr_count forwarded;
	struct vr_count answered;
	struct vr_count tx;
};
_Static_assert(sizeof(struct vr_vif_count) == 96, "vr_vif_count is shared with Go");

/* What one vif lost, of what came from the container, and of what the fabric had for it. */
struct vr_vif_drops {
	struct vr_count from[VR_DROP_COUNT];
	struct vr_count to[VR_DROP_COUNT];
};
_Static_assert(sizeof(struct vr_vif_drops) == 2 * VR_DROP_COUNT * 24, "shared with Go");

#endif
