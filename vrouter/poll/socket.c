//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#define _GNU_SOURCE /* sendmmsg */
#include "socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netdev.h"
#include "vnet.h"

/* Tells what the process sends from what the host does: silence.go. */
#define POLL_MARK 0x76720001

#define SLOT                                                                                       \
	4096 /* bytes of the ring for a frame; what a buffer does not hold, it does not either */
#define SLOTS 512
#define BLOCK (16 * SLOT) /* what the kernel allocates at once */
#define RING (SLOTS * SLOT)

/* Frames that a slot is too small for are whole beside the ring, up to so many bytes: about 500
 * aggregates of full size. As much may be under way to the other side. */
#define LONG_ROOM (32 << 20)

/* Buffers that one call sends, of all its frames. */
#define PARTS 1024

struct poll_socket {
	int fd;
	uint32_t next; /* slot to look at */
	uint32_t takes;
	uint8_t *ring;
	struct virtio_net_hdr headers[POLL_BURST];
	struct mmsghdr messages[POLL_BURST];
	struct iovec parts[PARTS];
};

static int set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}

/* The sockets that share an interface are a group (packet(7), PACKET_FANOUT). The first one makes
 * it when the second comes, and the kernel gives it a number that nobody else in this network
 * namespace has. */
static int share(int fd, int first)
{
	const int how = PACKET_FANOUT_HASH << 16;
	int group = 0;
	socklen_t length = sizeof(group);

	if (getsockopt(first, SOL_PACKET, PACKET_FANOUT, &group, &length))
		return -1;
	if (!group &&
	    (set(first, SOL_PACKET, PACKET_FANOUT, how | PACKET_FANOUT_FLAG_UNIQUEID << 16) ||
	     getsockopt(first, SOL_PACKET, PACKET_FANOUT, &group, &length)))
		return -1;
	return set(fd, SOL_PACKET, PACKET_FANOUT, (group & 0xffff) | how);
}

/* A socket can join a group only once it gets packets, and those the others have got as well. */
static int join(int fd, int first, struct sockaddr_ll *at)
{
	struct sock_filter none = {.code = BPF_RET | BPF_K};
	const struct sock_fprog deaf = {.len = 1, .filter = &none};

	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &deaf, sizeof(deaf)) ||
	    bind(fd, (struct sockaddr *)at, sizeof(*at)) || share(fd, first))
		return -1;
	return set(fd, SOL_SOCKET, SO_DETACH_FILTER, 0);
}

static int set_up(int fd, const char *interface, const struct poll_socket *first)
{
	const struct tpacket_req ring = {.tp_block_size = BLOCK,
					 .tp_block_nr = RING / BLOCK,
					 .tp_frame_size = SLOT,
					 .tp_frame_nr = SLOTS};
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_ALL),
				 .sll_ifindex = (int)if_nametoindex(interface)};

	if (at.sll_ifindex == 0)
		return -1;
	if (set(fd, SOL_PACKET, PACKET_VERSION, TPACKET_V2) ||
	    set(fd, SOL_PACKET, PACKET_VNET_HDR, 1) || set(fd, SOL_PACKET, PACKET_COPY_THRESH, 1) ||
	    set(fd, SOL_PACKET, PACKET_RESERVE, SLOT - POLL_FRAME) ||
	    set(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1) ||
	    set(fd, SOL_SOCKET, SO_MARK, POLL_MARK) ||
	    set(fd, SOL_SOCKET, SO_RCVBUFFORCE, LONG_ROOM) ||
	    set(fd, SOL_SOCKET, SO_SNDBUFFORCE, LONG_ROOM))
		return -1;
	if (setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof(ring)))
		return -1;
	if (first)
		return join(fd, first->fd, &at);
	return bind(fd, (struct sockaddr *)&at, sizeof(at));
}

struct poll_socket *poll_socket_open(const char *interface, const struct poll_socket *first)
{
	struct poll_socket *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	s->ring = MAP_FAILED;
	if (s->fd >= 0 && !set_up(s->fd, interface, first))
		s->ring = mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (s->ring != MAP_FAILED) {
		s->takes = POLL_TAKES_CHECKSUM | POLL_TAKES_TCP4 | POLL_TAKES_TCP6 |
			   POLL_TAKES_UDP | POLL_TAKES_REDUCED;
		if (poll_finishes_any(s->fd, interface))
			s->takes |= POLL_TAKES_INNER;
		return s;
	}
	poll_socket_close(s);
	return NULL;
}

void poll_socket_close(struct poll_socket *s)
{
	int error = errno;

	if (s->ring != MAP_FAILED)
		munmap(s->ring, RING);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
	errno = error;
}

uint32_t poll_socket_takes(const struct poll_socket *s)
{
	return s->takes;
}

/* The frame of a slot, in a buffer: as much of it as there is. */
static struct rte_mbuf *take(const struct tpacket2_hdr *slot, struct rte_mempool *pool)
{
	uint32_t length = RTE_MIN(slot->tp_snaplen, (uint32_t)POLL_FRAME);
	const uint8_t *frame = (const uint8_t *)slot + slot->tp_mac;
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	struct virtio_net_hdr h;

	if (!m)
		return NULL;
	memcpy(&h, frame - sizeof(h), sizeof(h));
	poll_vnet_note(m, &h);
	memcpy(rte_pktmbuf_mtod(m, void *), frame, length);
	m->data_len = (uint16_t)length;
	m->pkt_len = slot->tp_len;
	return m;
}

/* The next frame that is beside the ring, of so many bytes. */
static struct rte_mbuf *take_long(struct poll_socket *s, uint32_t bytes, struct rte_mempool *pool)
{
	uint32_t count = (bytes + POLL_FRAME - 1) / POLL_FRAME;
	struct rte_mbuf *pieces[POLL_PIECES];
	struct iovec parts[1 + POLL_PIECES];
	struct virtio_net_hdr h = {0};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 1 + count};

	if (rte_pktmbuf_alloc_bulk(pool, pieces, count))
		return NULL;
	parts[0] = (struct iovec){&h, sizeof(h)};
	for (uint32_t i = 0; i < count; i++)
		parts[1 + i] = (struct iovec){rte_pktmbuf_mtod(pieces[i], void *), POLL_FRAME};
	if (recvmsg(s->fd, &message, MSG_DONTWAIT) == (ssize_t)(sizeof(h) + bytes)) {
		poll_vnet_note(pieces[0], &h);
		return poll_chain(pieces, count, bytes);
	}
	/* The kernel had it, but could not give it: it is one that was cut, of which nothing is
	 * left. */
	rte_pktmbuf_free_bulk(&pieces[1], count - 1);
	pieces[0]->data_len = 0;
	pieces[0]->pkt_len = bytes;
	return pieces[0];
}

/* A tag that stands beside the frame is put into it: no port and no tunnel has such frames. */
static void tag(const struct tpacket2_hdr *slot, struct rte_mbuf **m)
{
	(*m)->vlan_tci = slot->tp_vlan_tci;
	if ((*m)->data_len >= RTE_ETHER_HDR_LEN &&
	    ((*m)->nb_segs > 1 || (*m)->data_len == (*m)->pkt_len))
		(void)rte_vlan_insert(m); /* there is room: nothing is in front of a new frame */
}

static struct rte_mbuf *take_any(struct poll_socket *s, const struct tpacket2_hdr *slot,
				 uint32_t status, struct rte_mempool *pool)
{
	struct rte_mbuf *m;

	if (!(status & TP_STATUS_COPY))
		return take(slot, pool);
	if (slot->tp_len <= POLL_LONGEST && slot->tp_len > 0)
		return take_long(s, slot->tp_len, pool);
	m = take(slot, pool);
	if (m)
		(void)recv(s->fd, NULL, 0, MSG_DONTWAIT); /* the rest of it is of no use */
	return m;
}

uint16_t poll_socket_receive(struct poll_socket *s, struct rte_mempool *pool,
			     struct rte_mbuf **mbufs, uint16_t count)
{
	uint16_t n = 0;

	for (; n < count; n++) {
		struct tpacket2_hdr *slot =
		    (struct tpacket2_hdr *)(s->ring + (size_t)s->next * SLOT);
		uint32_t status = __atomic_load_n(&slot->tp_status, __ATOMIC_ACQUIRE);

		if (!(status & TP_STATUS_USER))
			break;
		mbufs[n] = take_any(s, slot, status, pool);
		if (!mbufs[n])
			break; /* it stays where it is */
		if (status & TP_STATUS_VLAN_VALID)
			tag(slot, &mbufs[n]);
		__atomic_store_n(&slot->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		s->next = (s->next + 1) % SLOTS;
	}
	return n;
}

uint32_t poll_socket_missed(const struct poll_socket *s)
{
	struct tpacket_stats counts = {0}; /* which begin anew with each question */
	socklen_t size = sizeof(counts);

	return getsockopt(s->fd, SOL_PACKET, PACKET_STATISTICS, &counts, &size) ? 0
										: counts.tp_drops;
}

/* A message of each frame, while there are parts for their buffers. */
static uint16_t gather(struct poll_socket *s, struct rte_mbuf **mbufs, uint16_t count)
{
	uint32_t part = 0;
	uint16_t n = 0;

	for (; n < count && part + 1 + mbufs[n]->nb_segs <= PARTS; n++) {
		struct msghdr *h = &s->messages[n].msg_hdr;

		poll_vnet_state(&s->headers[n], mbufs[n]);
		h->msg_iov = &s->parts[part];
		h->msg_iovlen = 1 + mbufs[n]->nb_segs;
		s->parts[part++] = (struct iovec){&s->headers[n], sizeof(s->headers[n])};
		for (const struct rte_mbuf *m = mbufs[n]; m; m = m->next)
			s->parts[part++] = (struct iovec){rte_pktmbuf_mtod(m, void *), m->data_len};
	}
	return n;
}

/* Whether there is no room for now, and not one frame at fault. */
static int is_full(int error)
{
	return error == EAGAIN || error == ENOBUFS || error == ENETDOWN || error == ENXIO;
}

int poll_socket_send(struct poll_socket *s, struct rte_mbuf **mbufs, uint16_t count)
{
	uint16_t n = gather(s, mbufs, RTE_MIN(count, (uint16_t)POLL_BURST));
	int sent = sendmmsg(s->fd, s->messages, n, MSG_DONTWAIT);

	if (sent < 0)
		return is_full(errno) ? 0 : -1;
	rte_pktmbuf_free_bulk(mbufs, (unsigned int)sent);
	return sent;
}
