//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "gro.h"

#include "../core/vr_parse.h"

#define MOST_JOINED 63 /* to one packet: as many as a burst has, with it */

#define TCP_SEQUENCE 4
#define TCP_ACKNOWLEDGED 8
#define TCP_FLAGS 13
#define TCP_WINDOW 14
#define TCP_URGENT 18
#define TCP_FIN 0x01
#define TCP_PSH 0x08
#define TCP_ACK 0x10
#define TCP_ECE 0x40

static const uint8_t *at(const struct rte_mbuf *m, uint32_t offset)
{
	return rte_pktmbuf_mtod_offset(m, const uint8_t *, offset);
}

/* Finds the headers of a TCP packet that is all of its frame, in one buffer, without IPv4 options
 * or IPv6 extensions. */
static int find(const struct rte_mbuf *m, struct poll_layers *l)
{
	const uint8_t *ip = at(m, VR_ETH_LEN);
	uint32_t bytes = m->pkt_len, header;

	if (m->nb_segs != 1 || bytes < VR_ETH_LEN + VR_IP4_LEN + VR_TCP_LEN)
		return 0;
	l->version = vr_version_of(vr_get16(ip - 2));
	l->ip = VR_ETH_LEN;
	l->end = bytes;
	l->proto = VR_PROTO_TCP;
	l->l4 = VR_ETH_LEN + (l->version == 6 ? VR_IP6_LEN : VR_IP4_LEN);
	if (bytes < l->l4 + (uint32_t)VR_TCP_LEN)
		return 0;
	if (l->version == 4 &&
	    (ip[0] != 0x45 || ip[9] != VR_PROTO_TCP || vr_get16(ip + 6) & VR_IP4_FRAGMENT ||
	     vr_get16(ip + 2) + (uint32_t)VR_ETH_LEN != bytes))
		return 0;
	if (l->version == 6 && (ip[0] >> 4 != 6 || ip[6] != VR_PROTO_TCP ||
				vr_get16(ip + 4) + (uint32_t)VR_ETH_LEN + VR_IP6_LEN != bytes))
		return 0;
	header = (uint32_t)(*at(m, l->l4 + 12) >> 4) * 4;
	l->payload = (uint16_t)(l->l4 + header);
	return l->version != 0 && header >= VR_TCP_LEN && l->payload <= bytes;
}

/* Addresses and ports. */
static uint32_t hash_of(const struct rte_mbuf *m, const struct poll_layers *l)
{
	uint32_t first = l->version == 6 ? 8 : 12, hash = vr_raw32(at(m, l->l4));

	for (uint32_t i = l->ip + first; i < l->l4; i += 4)
		hash = (hash ^ vr_raw32(at(m, i))) * 0x9e3779b1u;
	return hash | 1;
}

void poll_join_look(struct rte_mbuf *m, const struct poll_layers *l, struct poll_join *j)
{
	uint32_t payload, flags;

	j->flow = 0;
	j->count = 0;
	j->open = 0;
	if (l->segment || !find(m, &j->layers))
		return;
	j->layers.segment = 0;
	j->layers.reduced = 0;
	j->layers.unfinished = 1; /* once it is an aggregate */
	flags = *at(m, j->layers.l4 + TCP_FLAGS);
	payload = j->layers.end - j->layers.payload;
	j->flow = hash_of(m, &j->layers);
	j->next = vr_get32(at(m, j->layers.l4 + TCP_SEQUENCE)) + payload;
	j->last = m;
	j->size = (uint16_t)payload;
	j->right = l->unfinished;
	j->open = payload && (flags & (uint32_t)~TCP_ECE) == TCP_ACK;
}

static int same_flow(const struct rte_mbuf *a, const struct rte_mbuf *b,
		     const struct poll_layers *l)
{
	uint32_t first = l->ip + (l->version == 6 ? 8 : 12);

	return !memcmp(at(a, first), at(b, first), l->l4 + 4 - first);
}

/* Whether IP says the same of both, so that it can be said of both at once: RFC 6864, section 4.1,
 * of the identification, which is not looked at where nothing may be cut. */
static int same_ip(const struct rte_mbuf *a, const struct rte_mbuf *b, const struct poll_layers *l,
		   uint32_t count)
{
	const uint8_t *one = at(a, l->ip), *two = at(b, l->ip);

	if (memcmp(at(a, 0), at(b, 0), VR_ETH_LEN))
		return 0;
	if (l->version == 6)
		return vr_raw32(one) == vr_raw32(two) && one[7] == two[7];
	if (vr_raw16(one) != vr_raw16(two) || vr_raw16(one + 6) != vr_raw16(two + 6) ||
	    one[8] != two[8])
		return 0;
	return vr_get16(one + 6) & VR_IP4_DF ||
	       (uint16_t)(vr_get16(one + 4) + count + 1) == vr_get16(two + 4);
}

static int same_tcp(const uint8_t *one, const uint8_t *two, uint32_t header)
{
	return vr_raw32(one + TCP_ACKNOWLEDGED) == vr_raw32(two + TCP_ACKNOWLEDGED) &&
	       one[12] == two[12] && !((one[TCP_FLAGS] ^ two[TCP_FLAGS]) & ~(TCP_FIN | TCP_PSH)) &&
	       vr_raw16(one + TCP_WINDOW) == vr_raw16(two + TCP_WINDOW) &&
	       vr_raw16(one + TCP_URGENT) == vr_raw16(two + TCP_URGENT) &&
	       !memcmp(one + VR_TCP_LEN, two + VR_TCP_LEN, header - VR_TCP_LEN);
}

/* Whether a segment follows what waits, and differs in nothing but what the two may differ in. */
static int follows(const struct rte_mbuf *waits, const struct poll_join *w,
		   const struct rte_mbuf *m, const struct poll_join *j)
{
	const struct poll_layers *l = &j->layers;

	if (!w->open || !j->size || j->size > w->size || w->next != j->next - j->size ||
	    w->count == MOST_JOINED || waits->pkt_len + j->size > VR_ETH_LEN + 0xffff)
		return 0;
	return same_ip(waits, m, l, w->count) &&
	       same_tcp(at(waits, l->l4), at(m, l->l4), l->payload - l->l4);
}

/* A wrong checksum must arrive as one. */
static int is_right(struct rte_mbuf *m, struct poll_join *j)
{
	if (!j->right)
		j->right = (uint8_t)poll_sum_is_right(m, &j->layers);
	return j->right;
}

static void join(struct rte_mbuf *waits, struct poll_join *w, struct rte_mbuf *m,
		 const struct poll_join *j)
{
	uint8_t *flags = rte_pktmbuf_mtod_offset(waits, uint8_t *, w->layers.l4 + TCP_FLAGS);
	uint8_t more = *at(m, j->layers.l4 + TCP_FLAGS) & (TCP_FIN | TCP_PSH);

	rte_pktmbuf_adj(m, j->layers.payload);
	w->last->next = m;
	w->last = m;
	waits->nb_segs++;
	waits->pkt_len += j->size;
	*flags |= more;
	w->next = j->next;
	w->count++;
	w->open = j->size == w->size && !more;
}

int poll_join_to(struct rte_mbuf *const *mbufs, struct poll_join *joins, uint32_t count,
		 struct rte_mbuf *m, struct poll_join *j)
{
	for (uint32_t i = count; i-- > 0;) {
		struct poll_join *w = &joins[i];

		if (w->flow != j->flow || w->layers.version != j->layers.version ||
		    !same_flow(mbufs[i], m, &j->layers))
			continue;
		if (!follows(mbufs[i], w, m, j))
			return -1; /* nor may it pass this one */
		if (!is_right(mbufs[i], w)) {
			w->open = 0;
			return -1;
		}
		if (!is_right(m, j)) {
			j->open = 0;
			return -1;
		}
		join(mbufs[i], w, m, j);
		return (int)i;
	}
	return -1;
}

void poll_join_end(struct rte_mbuf *m, struct poll_join *j)
{
	struct poll_layers *l = &j->layers;
	uint8_t *ip = rte_pktmbuf_mtod_offset(m, uint8_t *, l->ip);

	l->end = m->pkt_len;
	l->segment = j->size;
	if (l->version == 6) {
		vr_put16(ip + 4, (uint16_t)(l->end - l->ip - VR_IP6_LEN));
		return;
	}
	vr_put16(ip + 2, (uint16_t)(l->end - l->ip));
	vr_put_raw16(ip + 10, 0);
	vr_put_raw16(ip + 10, (uint16_t)~vr_ip4_sum(ip, ip + VR_IP4_LEN, VR_IP4_LEN));
}
