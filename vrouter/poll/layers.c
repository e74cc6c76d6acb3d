//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "layers.h"

#include "../core/vr_ip6.h"
#include "../core/vr_mss.h"

#define TCP_FLAGS 13
#define TCP_CWR 0x80

/* Whether it is a whole TCP or UDP packet whose headers lie in the first buffer. */
static int find(const struct rte_mbuf *m, uint32_t at, uint32_t gso_size, struct poll_layers *l)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	const uint8_t *end = data + rte_pktmbuf_data_len(m);
	struct vr_ip h = {0};

	if (vr_parse_ip(data + at, end, m->pkt_len - at, gso_size, &h) || h.fragment ||
	    (h.proto != VR_PROTO_TCP && h.proto != VR_PROTO_UDP))
		return 0;
	l->ip = (uint16_t)at;
	l->l4 = (uint16_t)(at + h.header);
	l->payload = (uint16_t)(l->l4 + h.l4);
	l->end = at + vr_ip_bytes(&h, m->pkt_len - at);
	l->version = h.version;
	l->proto = h.proto;
	return l->payload <= rte_pktmbuf_data_len(m);
}

/* Whether a port said so of such a packet. Of UDP in either family, a socket says UDP and no more;
 * a VM's is to become fragments (VIRTIO_NET_HDR_GSO_UDP), which nobody is offered. */
static int is_stated(const struct rte_mbuf *m, const struct poll_layers *l)
{
	if (l->proto == VR_PROTO_UDP)
		return m->packet_type == RTE_PTYPE_L4_UDP;
	return (m->packet_type & RTE_PTYPE_L4_MASK) == RTE_PTYPE_L4_TCP &&
	       (l->version == 6 ? RTE_ETH_IS_IPV6_HDR(m->packet_type)
				: RTE_ETH_IS_IPV4_HDR(m->packet_type)) != 0;
}

static uint32_t aggregate(const struct rte_mbuf *m, uint32_t gso_size, struct poll_layers *l)
{
	if (l->end - l->payload <= gso_size) /* one packet will do: it is none */
		return VR_DROP_NONE;
	l->segment = (uint16_t)gso_size;
	if (poll_segments(l) > POLL_SEGMENTS)
		return VR_DROP_bad_aggregate;
	if (l->proto == VR_PROTO_TCP)
		l->reduced =
		    *rte_pktmbuf_mtod_offset(m, const uint8_t *, l->l4 + TCP_FLAGS) & TCP_CWR;
	return VR_DROP_NONE;
}

static int is_checksum_of(uint32_t at, const struct poll_layers *l)
{
	return at == POLL_SUM_AT(l->l4, l->proto == VR_PROTO_TCP ? VR_TCP_CSUM : 6);
}

uint32_t poll_layers_of(struct rte_mbuf *m, uint32_t ip, struct poll_layers *l)
{
	uint64_t sum = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
	uint32_t gso_size = poll_gso_size(m), where = m->hash.usr, bad;
	int found;

	*l = (struct poll_layers){0};
	if (likely(!gso_size && sum != RTE_MBUF_F_RX_L4_CKSUM_NONE))
		return VR_DROP_NONE;
	found = find(m, ip, gso_size, l);
	if (gso_size) {
		bad = found && is_stated(m, l) ? aggregate(m, gso_size, l) : VR_DROP_bad_aggregate;
		if (bad || l->segment) {
			l->unfinished = 1; /* each packet gets its own */
			return bad;
		}
	}
	if (where == POLL_SUM_MAYBE) {
		l->unfinished = found && poll_sum_is_begun(m, l);
		return VR_DROP_NONE;
	}
	if (found && (!where || is_checksum_of(where, l)))
		l->unfinished = sum == RTE_MBUF_F_RX_L4_CKSUM_NONE;
	else if (where)
		poll_finish_at(m, where >> 16, where & 0xffff);
	return VR_DROP_NONE;
}
