//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "vnet.h"

#include "../core/vr_mss.h"
#include "layers.h"

#define TCP_CWR 0x80
#define GSO_UDP 5 /* VIRTIO_NET_HDR_GSO_UDP_L4, younger than our headers */

/* What an aggregate is cut into, as DPDK has it. Of a kind without a name here, nothing is said,
 * and it is lost by that. */
static uint32_t kind_of(uint8_t gso_type)
{
	switch (gso_type & ~VIRTIO_NET_HDR_GSO_ECN) {
	case VIRTIO_NET_HDR_GSO_TCPV4:
		return RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP;
	case VIRTIO_NET_HDR_GSO_TCPV6:
		return RTE_PTYPE_L3_IPV6 | RTE_PTYPE_L4_TCP;
	case GSO_UDP: /* either family's */
		return RTE_PTYPE_L4_UDP;
	default:
		return 0;
	}
}

/* What is left to a device, as layers.h has it. */
void poll_vnet_note(struct rte_mbuf *m, const struct virtio_net_hdr *h)
{
	m->hash.usr = 0;
	if (h->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) {
		m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_NONE;
		m->hash.usr = POLL_SUM_AT(h->csum_start, h->csum_offset);
	}
	if (h->gso_type == VIRTIO_NET_HDR_GSO_NONE)
		return;
	m->ol_flags |= RTE_MBUF_F_RX_LRO;
	m->packet_type = kind_of(h->gso_type);
	m->tso_segsz = h->gso_size;
}

/* What is left to the kernel, or to a device behind it. */
void poll_vnet_state(struct virtio_net_hdr *h, const struct rte_mbuf *m)
{
	uint64_t sum = m->ol_flags & RTE_MBUF_F_TX_L4_MASK;

	*h = (struct virtio_net_hdr){.gso_type = VIRTIO_NET_HDR_GSO_NONE};
	if (!sum)
		return;
	h->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	h->csum_start = (uint16_t)(m->l2_len + m->l3_len);
	h->csum_offset = sum == RTE_MBUF_F_TX_TCP_CKSUM ? VR_TCP_CSUM : 6;
	if (!(m->ol_flags & (RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_UDP_SEG)))
		return;
	h->hdr_len = (uint16_t)(h->csum_start + m->l4_len);
	h->gso_size = m->tso_segsz;
	if (m->ol_flags & RTE_MBUF_F_TX_UDP_SEG)
		h->gso_type = GSO_UDP;
	else
		h->gso_type = m->ol_flags & RTE_MBUF_F_TX_IPV4 ? VIRTIO_NET_HDR_GSO_TCPV4
							       : VIRTIO_NET_HDR_GSO_TCPV6;
	if (*rte_pktmbuf_mtod_offset(m, const uint8_t *, h->csum_start + 13) & TCP_CWR &&
	    h->gso_type != GSO_UDP)
		h->gso_type |= VIRTIO_NET_HDR_GSO_ECN;
}

struct rte_mbuf *poll_chain(struct rte_mbuf **pieces, uint32_t count, uint32_t bytes)
{
	struct rte_mbuf *m = pieces[0];

	m->pkt_len = bytes;
	m->nb_segs = (uint16_t)count;
	for (uint32_t i = 0; i < count; i++) {
		pieces[i]->data_len = (uint16_t)RTE_MIN(bytes, (uint32_t)POLL_FRAME);
		pieces[i]->next = i + 1 < count ? pieces[i + 1] : NULL;
		bytes -= pieces[i]->data_len;
	}
	return m;
}
