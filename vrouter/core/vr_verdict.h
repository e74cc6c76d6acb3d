/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What goes into a decision and what comes out of it. */
#ifndef VR_VERDICT_H
#define VR_VERDICT_H

#include "vr_parse.h"

enum vr_op {
	VR_OP_DROP,
	VR_OP_PASS,    /* not ours: the host's stack has it */
	VR_OP_ARP,     /* answer the ARP request in place */
	VR_OP_ECHO,    /* answer the echo request to the gateway in place */
	VR_OP_TOO_BIG, /* answer with ICMP "fragmentation needed" (RFC 1191), "packet too big" (RFC
			  4443) */
	VR_OP_ENCAP,   /* an Ethernet header, and out of the nexthop's device */
	VR_OP_TUNNEL,  /* the nexthop's tunnel headers, and out of the fabric */
	VR_OP_DECAP,   /* take the tunnel's headers off, then as VR_OP_ENCAP */
	VR_OP_ND,      /* answer the neighbour solicitation in place */
	VR_OP_BRIDGE,  /* the frame as it is, out of the nexthop's device */
	VR_OP_BRIDGE_TUNNEL, /* the nexthop's tunnel headers before the whole frame, and out of the
				fabric */
	VR_OP_BRIDGE_DECAP,  /* take the tunnel's headers off the frame, then as VR_OP_BRIDGE */
	VR_OP_FLOOD, /* take them off, if it has any; a copy to each of the network's list */
};

/* What a port's policy is asked about a packet that crosses its vif. Rules are about IP packets, so
 * of other frames only its default says anything. */
enum vr_asked {
	VR_ASKED_FLOW,	  /* whether its flow may cross */
	VR_ASKED_DEFAULT, /* whether it allows what no rule is about: no IP */
	VR_ASKED_NOTHING, /* a link's own messages: their senders are checked, and that is all */
};

struct vr_verdict {
	const struct vr_nh *nh;	  /* also of a packet that is lost once it is known */
	const struct vr_vrf *vrf; /* for answers */
	struct vr_push push;	  /* for VR_OP_TUNNEL, and what is bridged */
	uint32_t nexthop;	  /* for VR_OP_BRIDGE_TUNNEL: the number of nh */
	uint32_t longest;	  /* for VR_OP_FLOOD: what must fit, once an aggregate is cut */
	uint32_t mtu;		  /* for VR_OP_TOO_BIG */
	uint16_t mss;		  /* the largest that this SYN may ask for; 0: leave it alone */
	uint8_t op;
	uint8_t drop;
	uint8_t tos;	 /* for VR_OP_DECAP: the new one of the inner header */
	uint8_t routed;	 /* this is a router's hop: decrement the time to live */
	uint8_t header;	 /* bytes of the IP headers, with mss */
	uint8_t version; /* of the (inner) IP packet */
	uint8_t outer;	 /* of pop's bytes, the IP header's */
	uint8_t pop; /* for VR_OP_DECAP, and what is bridged: the tunnel's bytes behind the Ethernet
			header */
	uint8_t asked; /* enum vr_asked */
	uint8_t plain; /* the protocol of a packet that vr_plain.h decided; else 0 */
};

/* What goes on to one nexthop: from a vif, and from the fabric. */
VR_INLINE int vr_is_forwarded(uint8_t op)
{
	return op == VR_OP_ENCAP || op == VR_OP_TUNNEL || op == VR_OP_BRIDGE ||
	       op == VR_OP_BRIDGE_TUNNEL;
}

VR_INLINE int vr_is_delivered(uint8_t op)
{
	return op == VR_OP_ENCAP || op == VR_OP_DECAP || op == VR_OP_BRIDGE_DECAP;
}

/* A frame as a hook sees it: the bytes that can be read, and the length of it all. */
struct vr_frame {
	const uint8_t *data;
	const uint8_t *end;
	uint32_t length;
	uint32_t gso_size; /* payload bytes a segment, 0 for a packet that is no aggregate */
	uint32_t hook;	   /* the mover's: where it has the packet from, and */
	void *packet;	   /* what it knows it by */
};

VR_INLINE void vr_drop_it(struct vr_verdict *v, enum vr_drop reason)
{
	v->op = VR_OP_DROP;
	v->drop = (uint8_t)reason;
}

#endif
