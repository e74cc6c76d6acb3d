//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Checksums that were left to a device. The stack behind a veth leaves them to it
 * (CHECKSUM_PARTIAL), and so does a VM's (VIRTIO_NET_HDR_F_NEEDS_CSUM). What stands in the
 * checksum's place then is the sum of the pseudo-header (tcp_v4_send_check, udp4_hwcsum).
 */
#include "layers.h"

#include <rte_ip.h>

#include "../core/vr_ip6.h"
#include "../core/vr_mss.h"

static uint32_t place(const struct poll_layers *l)
{
	return l->l4 + (l->proto == VR_PROTO_TCP ? VR_TCP_CSUM : 6);
}

/* RFC 9293, section 3.1; RFC 768; RFC 8200, section 8.1. */
static uint16_t pseudo_sum(const struct rte_mbuf *m, const struct poll_layers *l)
{
	const uint8_t *ip = rte_pktmbuf_mtod_offset(m, const uint8_t *, l->ip);
	uint32_t from = l->version == 6 ? 8 : 12, bytes = l->version == 6 ? 32 : 8;
	uint64_t sum = (uint64_t)__builtin_bswap32(l->end - l->l4) + __builtin_bswap16(l->proto);

	for (uint32_t i = 0; i < bytes; i += 4)
		sum += vr_raw32(ip + from + i);
	return vr_csum_fold(sum);
}

/* The sum from a place of a frame, which is in it, to another, in as many buffers as it has. */
static uint16_t sum_of(const struct rte_mbuf *m, uint32_t from, uint32_t end)
{
	uint16_t sum = 0;

	if (likely(end <= rte_pktmbuf_data_len(m)))
		return rte_raw_cksum(rte_pktmbuf_mtod_offset(m, const void *, from), end - from);
	return rte_raw_cksum_mbuf(m, from, end - from, &sum) ? 0 : sum;
}

void poll_begin_sum(struct rte_mbuf *m, const struct poll_layers *l)
{
	vr_put_raw16(rte_pktmbuf_mtod_offset(m, uint8_t *, place(l)), pseudo_sum(m, l));
}

void poll_finish(struct rte_mbuf *m, const struct poll_layers *l)
{
	uint8_t *at = rte_pktmbuf_mtod_offset(m, uint8_t *, place(l));
	uint16_t sum;

	vr_put_raw16(at, pseudo_sum(m, l));
	sum = (uint16_t)~sum_of(m, l->l4, l->end);
	vr_put_raw16(at, sum == 0 && l->proto == VR_PROTO_UDP ? 0xffff : sum);
}

void poll_sum_tunnel(struct rte_mbuf *m, const struct vr_nh *nh)
{
	struct poll_layers l = {.ip = VR_ETH_LEN,
				.l4 = (uint16_t)(VR_ETH_LEN + nh->outer),
				.end = m->pkt_len,
				.version = nh->outer == VR_IP6_LEN ? 6 : 4,
				.proto = VR_PROTO_UDP};

	poll_finish(m, &l);
}

int poll_sum_is_begun(const struct rte_mbuf *m, const struct poll_layers *l)
{
	return vr_raw16(rte_pktmbuf_mtod_offset(m, const uint8_t *, place(l))) == pseudo_sum(m, l);
}

int poll_sum_is_right(const struct rte_mbuf *m, const struct poll_layers *l)
{
	uint64_t sum = (uint64_t)pseudo_sum(m, l) + sum_of(m, l->l4, l->end);

	return vr_csum_fold(sum) == 0xffff;
}

void poll_finish_at(struct rte_mbuf *m, uint32_t start, uint32_t offset)
{
	uint32_t at = start + offset;
	uint16_t sum;

	if (at + sizeof(sum) > rte_pktmbuf_data_len(m)) /* none of the headers' */
		return;
	sum = (uint16_t)~sum_of(m, start, m->pkt_len);
	vr_put_raw16(rte_pktmbuf_mtod_offset(m, uint8_t *, at), sum ? sum : 0xffff);
}
