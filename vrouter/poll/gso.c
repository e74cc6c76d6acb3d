//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "gso.h"

#include "../core/vr_parse.h"

#define TCP_SEQUENCE 4
#define TCP_FLAGS 13
#define TCP_AT_END (0x01 | 0x08) /* FIN and PSH: what is said of the last byte */
#define TCP_CWR 0x80
#define UDP_LENGTH 4

void poll_cut_begin(struct poll_cut *cut, const struct rte_mbuf *m, const struct poll_layers *l)
{
	*cut = (struct poll_cut){
	    .all = m, .from = m, .at = l->payload, .left = l->end - l->payload, .layers = *l};
	cut->layers.segment = 0;
}

static void copy(struct poll_cut *cut, uint8_t *to, uint32_t bytes)
{
	while (bytes) {
		uint32_t here = rte_pktmbuf_data_len(cut->from) - cut->at;

		if (!here) {
			cut->from = cut->from->next;
			cut->at = 0;
			continue;
		}
		here = RTE_MIN(here, bytes);
		memcpy(to, rte_pktmbuf_mtod_offset(cut->from, const uint8_t *, cut->at), here);
		cut->at += here;
		to += here;
		bytes -= here;
	}
}

/* Puts so many bytes of payload behind what the packet has. A segment may be longer than a buffer.
 */
static int fill(struct poll_cut *cut, struct rte_mbuf *m, uint32_t bytes)
{
	struct rte_mbuf *last = m;

	while (bytes) {
		uint32_t part = RTE_MIN(bytes, (uint32_t)rte_pktmbuf_tailroom(last));

		copy(cut, rte_pktmbuf_mtod_offset(last, uint8_t *, last->data_len), part);
		last->data_len = (uint16_t)(last->data_len + part);
		m->pkt_len += part;
		bytes -= part;
		if (!bytes)
			break;
		last->next = rte_pktmbuf_alloc(cut->all->pool);
		last = last->next;
		if (!last)
			return -1;
		m->nb_segs++;
	}
	return 0;
}

/* The length, and in IPv4 the identification, one more for each packet: inet_gso_segment. */
static void set_ip(const struct poll_cut *cut, uint8_t *ip)
{
	const struct poll_layers *l = &cut->layers;
	uint32_t header = l->l4 - l->ip;

	if (l->version == 6) {
		vr_put16(ip + 4, (uint16_t)(l->end - l->ip - VR_IP6_LEN));
		return;
	}
	vr_put16(ip + 2, (uint16_t)(l->end - l->ip));
	vr_put16(ip + 4, (uint16_t)(vr_get16(ip + 4) + cut->done));
	vr_put_raw16(ip + 10, 0);
	vr_put_raw16(ip + 10, (uint16_t)~vr_ip4_sum(ip, ip + header, header));
}

/* What is said once is said by the packet that it is about: tcp_gso_segment. */
static void set_tcp(const struct poll_cut *cut, uint8_t *tcp, uint32_t before)
{
	vr_put32(tcp + TCP_SEQUENCE, vr_get32(tcp + TCP_SEQUENCE) + before);
	if (cut->left)
		tcp[TCP_FLAGS] &= (uint8_t)~TCP_AT_END;
	if (cut->done)
		tcp[TCP_FLAGS] &= (uint8_t)~TCP_CWR;
}

static void set_headers(const struct poll_cut *cut, struct rte_mbuf *m, uint32_t before)
{
	const struct poll_layers *l = &cut->layers;
	uint8_t *l4 = rte_pktmbuf_mtod_offset(m, uint8_t *, l->l4);

	set_ip(cut, rte_pktmbuf_mtod_offset(m, uint8_t *, l->ip));
	if (l->proto == VR_PROTO_TCP)
		set_tcp(cut, l4, before);
	else
		vr_put16(l4 + UDP_LENGTH, (uint16_t)(l->end - l->l4));
}

struct rte_mbuf *poll_cut_next(struct poll_cut *cut)
{
	struct poll_layers *l = &cut->layers;
	struct rte_mbuf *m = rte_pktmbuf_alloc(cut->all->pool);
	uint32_t segment = cut->all->tso_segsz, bytes = RTE_MIN(segment, cut->left);

	if (!m)
		return NULL;
	memcpy(rte_pktmbuf_mtod(m, void *), rte_pktmbuf_mtod(cut->all, const void *), l->payload);
	m->data_len = l->payload;
	m->pkt_len = l->payload;
	if (fill(cut, m, bytes)) {
		rte_pktmbuf_free(m);
		return NULL;
	}
	cut->left -= bytes;
	l->end = l->payload + bytes;
	set_headers(cut, m, cut->done * segment);
	cut->done++;
	return m;
}
