/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where the headers of a packet lie, and what its sender has left to devices: the checksum of TCP
 * or UDP, and to cut an aggregate into packets. A port says so in the mbuf, by DPDK's flags of
 * received packets: RX_L4_CKSUM_NONE for a checksum, with where it is in hash.usr if that is known
 * (else 0); RX_LRO, tso_segsz and packet_type for an aggregate. Both are what a sender states, and
 * a VM may state anything.
 */
#ifndef POLL_LAYERS_H
#define POLL_LAYERS_H

#include <rte_mbuf.h>

#include "../core/vr_drops.h"
#include "../core/vr_types.h"

/* Into how many packets an aggregate may be cut: 64 KiB in segments of 64 bytes. Without a bound, a
 * VM could have 65,000 packets made of each of its own. */
#define POLL_SEGMENTS 1024

/* Where a checksum is summed from, and where it goes from there: struct virtio_net_hdr. */
#define POLL_SUM_AT(start, offset) ((uint32_t)(start) << 16 | (offset))

/* Any may be unfinished, and the device does not say so: those are that hold the pseudo-header's
 * sum. If a finished one happens to hold that, to finish it again changes nothing. */
#define POLL_SUM_MAYBE UINT32_MAX

struct poll_layers {
	uint32_t end;	    /* of the IP packet in the frame */
	uint16_t ip;	    /* where its header begins */
	uint16_t l4;	    /* the TCP or UDP header */
	uint16_t payload;   /* what is behind that */
	uint16_t segment;   /* payload of each packet that it is cut into; 0: it is no aggregate */
	uint8_t version;    /* 0: nothing is left to anybody, and nothing was looked for */
	uint8_t proto;	    /* TCP's or UDP's */
	uint8_t unfinished; /* the checksum */
	uint8_t reduced;    /* TCP's CWR flag is set: RFC 3168, section 6.1.2 */
};

/* The payload of each packet that a frame is to be cut into, 0 if it is no aggregate. */
static inline uint32_t poll_gso_size(const struct rte_mbuf *m)
{
	if (!(m->ol_flags & RTE_MBUF_F_RX_LRO) || m->pkt_len <= m->tso_segsz)
		return 0;
	return m->tso_segsz;
}

/* Whether a port said that nothing of it is left to anybody. */
static inline int poll_is_finished(const struct rte_mbuf *m)
{
	return !(m->ol_flags & RTE_MBUF_F_RX_LRO) &&
	       (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) != RTE_MBUF_F_RX_L4_CKSUM_NONE;
}

/* Looks at the IP packet at an offset of a frame, if something is left to devices: why the packet
 * is lost, or VR_DROP_NONE. A checksum that is neither TCP's nor UDP's is finished. */
uint32_t poll_layers_of(struct rte_mbuf *m, uint32_t ip, struct poll_layers *l);

/* How many packets it is cut into. */
static inline uint32_t poll_segments(const struct poll_layers *l)
{
	return l->segment ? (l->end - l->payload + l->segment - 1) / l->segment : 1;
}

/* So many bytes have come to the front of the frame, or gone. */
static inline void poll_layers_shift(struct poll_layers *l, int bytes)
{
	l->end = (uint32_t)((int)l->end + bytes);
	l->ip = (uint16_t)(l->ip + bytes);
	l->l4 = (uint16_t)(l->l4 + bytes);
	l->payload = (uint16_t)(l->payload + bytes);
}

/* Whether what stands in the place of the checksum is the sum of the pseudo-header. */
int poll_sum_is_begun(const struct rte_mbuf *m, const struct poll_layers *l);

/* Checksums: finish.c. The sum of the pseudo-header goes into the checksum's place, and then that
 * of all. */
void poll_begin_sum(struct rte_mbuf *m, const struct poll_layers *l);
void poll_finish(struct rte_mbuf *m, const struct poll_layers *l);
int poll_sum_is_right(const struct rte_mbuf *m, const struct poll_layers *l);

/* The checksum of a tunnel's UDP header, whose headers are on, and behind which all is finished. */
void poll_sum_tunnel(struct rte_mbuf *m, const struct vr_nh *nh);

/* The same of any sum: from a place in the frame to its end. */
void poll_finish_at(struct rte_mbuf *m, uint32_t start, uint32_t offset);

#endif
