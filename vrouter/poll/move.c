//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "move.h"

#include <string.h>

#include "../core/vr_build6.h"
#include "../core/vr_build_bridge.h"

static uint8_t *head(struct rte_mbuf *m)
{
	return rte_pktmbuf_mtod(m, uint8_t *);
}

static int push(struct rte_mbuf *m, const struct vr_verdict *v)
{
	if (!rte_pktmbuf_prepend(m, v->nh->push))
		return -1;
#define PUSH(ip, kind) (vr_build_tunnel(head(m), v->nh, &v->push, ip, kind), 0)
	return VR_BY_TUNNEL(v->nh, PUSH);
#undef PUSH
}

static int push_frame(struct rte_mbuf *m, const struct vr_nh *nh, const struct vr_push *p)
{
	struct vr_eth eth;

	vr_read_eth(head(m), &eth);
	if (!rte_pktmbuf_prepend(m, nh->push))
		return -1;
#define PUSH(ip, kind) (vr_build_frame(head(m), nh, p, &eth, ip, kind), 0)
	return VR_BY_FRAME_TUNNEL(nh, PUSH);
#undef PUSH
}

/* Makes the packet so long, of bytes that are written later. */
static int resize(struct rte_mbuf *m, uint32_t bytes)
{
	uint32_t length = rte_pktmbuf_data_len(m);

	rte_pktmbuf_free(m->next); /* all headers are in the first buffer */
	m->next = NULL;
	m->nb_segs = 1;
	m->pkt_len = length;
	if (length > bytes)
		return rte_pktmbuf_trim(m, (uint16_t)(length - bytes));
	return length == bytes || rte_pktmbuf_append(m, (uint16_t)(bytes - length)) ? 0 : -1;
}

/* A frame that is shorter than any that leaves a tunnel gets zeros. */
static int pad(struct rte_mbuf *m)
{
	uint32_t length = rte_pktmbuf_data_len(m);

	if (length >= VR_FRAME_LEAST)
		return 0;
	if (resize(m, VR_FRAME_LEAST))
		return -1;
	memset(head(m) + length, 0, VR_FRAME_LEAST - length);
	return 0;
}

int poll_pop_frame(struct rte_mbuf *m, const struct vr_verdict *v)
{
	if (!v->pop)
		return 0;
	if (!rte_pktmbuf_adj(m, v->pop) || pad(m)) /* its own header is the last of those bytes */
		return -1;
	if (v->version)
		vr_build_tos(head(m) + VR_ETH_LEN, v->tos, v->version);
	return 0;
}

int poll_move_copy(struct rte_mbuf *m, const struct vr_nh *nh, const struct vr_push *p)
{
	return nh->type == VR_NH_TUNNEL ? push_frame(m, nh, p) : 0;
}

static void clamp(struct rte_mbuf *m, const struct vr_verdict *v)
{
	uint8_t *tcp = head(m) + VR_ETH_LEN + v->header;
	uint32_t at = vr_mss_find(tcp, head(m) + rte_pktmbuf_data_len(m));

	if (at && vr_get16(tcp + at) > v->mss)
		vr_build_mss(tcp, at, v->mss);
}

static int too_big(struct rte_mbuf *m, const struct vr_vif *vif, const struct vr_verdict *v)
{
	const struct vr_vrf *vrf = v->vrf;

	if (v->version == 6) {
		if (resize(m, VR_ETH_LEN + VR_QUOTE6_LEN) ||
		    !rte_pktmbuf_prepend(m, VR_IP6_LEN + VR_ICMP_LEN))
			return -1;
		vr_build_too_big6(head(m), vif->mac, vrf->gateway_mac, vrf->gateway6, v->mtu);
		return 0;
	}
	if (resize(m, VR_ETH_LEN + VR_QUOTE_LEN) ||
	    !rte_pktmbuf_prepend(m, VR_IP4_LEN + VR_ICMP_LEN))
		return -1;
	vr_build_too_big(head(m), vif->mac, vrf->gateway_mac, vrf->gateway, v->mtu);
	return 0;
}

static int answer_nd(struct rte_mbuf *m, const struct vr_verdict *v)
{
	if (resize(m, VR_ADVERTISED_LEN))
		return -1;
	vr_build_advertisement(head(m), v->vrf->gateway_mac);
	return 0;
}

/* Out of a tunnel, to a container. */
static int pop(struct rte_mbuf *m, const struct vr_verdict *v)
{
	if (!rte_pktmbuf_adj(m, v->pop))
		return -1;
	vr_build_eth(head(m), VR_READ_ONCE(v->nh->dmac), v->nh->smac, v->version);
	vr_build_tos(head(m) + VR_ETH_LEN, v->tos, v->version);
	return 0;
}

int poll_move(struct rte_mbuf *m, const struct vr_vif *vif, const struct vr_verdict *v)
{
	if (v->mss)
		clamp(m, v);
	if (v->routed)
		vr_build_hop(head(m) + VR_ETH_LEN, v->version);
	switch (v->op) {
	case VR_OP_ARP:
		vr_build_arp_reply(head(m), v->vrf->gateway_mac);
		return 0;
	case VR_OP_ND:
		return answer_nd(m, v);
	case VR_OP_ECHO:
		if (v->version == 6)
			vr_build_echo6_reply(head(m));
		else
			vr_build_echo_reply(head(m));
		return 0;
	case VR_OP_TOO_BIG:
		return too_big(m, vif, v);
	case VR_OP_TUNNEL:
		return push(m, v);
	case VR_OP_BRIDGE_TUNNEL:
		return push_frame(m, v->nh, &v->push);
	case VR_OP_BRIDGE_DECAP:
		return poll_pop_frame(m, v);
	case VR_OP_DECAP:
		return pop(m, v);
	case VR_OP_ENCAP:
		vr_build_eth(head(m), VR_READ_ONCE(v->nh->dmac), v->nh->smac, v->version);
		return 0;
	case VR_OP_BRIDGE:
		return 0;
	}
	return -1;
}
