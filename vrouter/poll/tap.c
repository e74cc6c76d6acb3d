//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "vnet.h"

/* A tap that has nothing is asked again after 2 us, and while it has nothing after twice as long
 * each time, up to 64 us: to ask is a system call of 300 ns, and the core has other ports. */
#define REST_OF_A_SECOND 500000
#define REST_DOUBLES 5

/* TUN_F_USO4 and TUN_F_USO6, younger than our headers: aggregates of UDP (Linux 6.2). */
#define TUN_F_USO 0x60

/* Buffers that a frame is sent from: IOV_MAX, and one is the header's. */
#define PARTS 1024

struct poll_tap {
	int fd;
	uint32_t takes;
	uint64_t least;		   /* cycles between two questions */
	uint64_t rest;		   /* now */
	uint64_t next;		   /* when it is asked again */
	struct iovec parts[PARTS]; /* of what is sent, which is under the queue's lock */
};

/* What the stack behind the tap leaves to us, of whatever it did before. */
static int agree(struct poll_tap *t, int offloads)
{
	const unsigned int tcp = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;

	if (!offloads)
		return ioctl(t->fd, TUNSETOFFLOAD, 0);
	t->takes = POLL_TAKES_CHECKSUM | POLL_TAKES_TCP4 | POLL_TAKES_TCP6 | POLL_TAKES_REDUCED;
	if (ioctl(t->fd, TUNSETOFFLOAD, tcp | TUN_F_USO))
		return ioctl(t->fd, TUNSETOFFLOAD, tcp);
	t->takes |= POLL_TAKES_UDP;
	return 0;
}

static int set_up(struct poll_tap *t, int offloads)
{
	int header = sizeof(struct virtio_net_hdr);
	struct ifreq is;

	if (ioctl(t->fd, TUNGETIFF, &is))
		return -1;
	if (!(is.ifr_flags & IFF_VNET_HDR)) {
		errno = EPROTO;
		return -1;
	}
	if (ioctl(t->fd, TUNSETVNETHDRSZ, &header))
		return -1;
	return agree(t, offloads);
}

struct poll_tap *poll_tap_open(int fd, int offloads)
{
	struct poll_tap *t = calloc(1, sizeof(*t));
	int error;

	if (!t)
		return NULL;
	t->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	t->least = t->rest = rte_get_tsc_hz() / REST_OF_A_SECOND;
	if (t->fd >= 0 && !set_up(t, offloads))
		return t;
	error = errno;
	if (t->fd >= 0)
		close(t->fd);
	free(t);
	errno = error;
	return NULL;
}

void poll_tap_close(struct poll_tap *t)
{
	close(t->fd);
	free(t);
}

uint32_t poll_tap_takes(const struct poll_tap *t)
{
	return t->takes;
}

/* The next frame, in the first of the pieces: how many it takes, or 0. The kernel cuts what is too
 * long in silence (tun_put_user), so what fills all of them counts as cut. */
static uint32_t take(const struct poll_tap *t, struct rte_mbuf **pieces)
{
	struct iovec parts[1 + POLL_PIECES];
	struct virtio_net_hdr h;
	uint32_t bytes, count;
	ssize_t length;

	parts[0] = (struct iovec){&h, sizeof(h)};
	for (uint32_t i = 0; i < POLL_PIECES; i++)
		parts[1 + i] = (struct iovec){rte_pktmbuf_mtod(pieces[i], void *), POLL_FRAME};
	length = readv(t->fd, parts, 1 + POLL_PIECES);
	if (length <= (ssize_t)sizeof(h))
		return 0;
	bytes = (uint32_t)length - (uint32_t)sizeof(h);
	count = (bytes + POLL_FRAME - 1) / POLL_FRAME;
	if (bytes == POLL_PIECES * POLL_FRAME) {
		pieces[0]->data_len = 0;
		pieces[0]->hash.usr = 0;
		pieces[0]->pkt_len = bytes + 1;
		return 1;
	}
	poll_vnet_note(pieces[0], &h);
	poll_chain(pieces, count, bytes);
	return count;
}

/* When it is asked again: at once while it has packets. */
static void rest(struct poll_tap *t, int found)
{
	if (found) {
		t->rest = t->least;
		t->next = 0;
		return;
	}
	t->next = rte_rdtsc() + t->rest;
	t->rest = RTE_MIN(2 * t->rest, t->least << REST_DOUBLES);
}

/* A frame may take any number of the buffers that are held out for it; they are the next one's, but
 * for those that it took. */
uint16_t poll_tap_receive(struct poll_tap *t, struct rte_mempool *pool, struct rte_mbuf **mbufs,
			  uint16_t count)
{
	struct rte_mbuf *pieces[POLL_PIECES];
	uint32_t taken = POLL_PIECES;
	uint16_t n = 0;

	if (rte_rdtsc() < t->next)
		return 0;
	while (n < count) {
		if (rte_pktmbuf_alloc_bulk(pool, pieces, taken)) {
			rte_pktmbuf_free_bulk(pieces + taken, POLL_PIECES - taken);
			return n; /* they stay in the tap's queue */
		}
		taken = take(t, pieces);
		if (!taken)
			break;
		mbufs[n++] = pieces[0];
	}
	rte_pktmbuf_free_bulk(pieces + taken, POLL_PIECES - taken);
	rest(t, n);
	return n;
}

static int write_frame(struct poll_tap *t, const struct rte_mbuf *m)
{
	struct virtio_net_hdr h;
	int count = 1;

	poll_vnet_state(&h, m);
	t->parts[0] = (struct iovec){&h, sizeof(h)};
	for (; m; m = m->next) {
		if (count == PARTS) {
			errno = EINVAL;
			return -1;
		}
		t->parts[count++] = (struct iovec){rte_pktmbuf_mtod(m, void *), m->data_len};
	}
	return writev(t->fd, t->parts, count) < 0 ? -1 : 0;
}

int poll_tap_send(struct poll_tap *t, struct rte_mbuf **mbufs, uint16_t count)
{
	uint16_t n = 0;

	while (n < count && !write_frame(t, mbufs[n]))
		n++;
	if (n == 0 && count > 0 && errno == EINVAL)
		return -1;
	rte_pktmbuf_free_bulk(mbufs, n); /* they were copied; without, the interface is down */
	return n;
}
