//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "ports.h"

/* A tap that has nothing is asked again after 2 us, and while it has nothing after twice as long
 * each time, up to 64 us: to ask is a system call of 300 ns, and the core has other ports. */
#define REST_OF_A_SECOND 500000
#define REST_DOUBLES 5

struct poll_tap {
	int fd;
	uint64_t least; /* cycles between two questions */
	uint64_t rest;	/* now */
	uint64_t next;	/* when it is asked again */
};

struct poll_tap *poll_tap_open(int fd)
{
	struct poll_tap *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	t->least = t->rest = rte_get_tsc_hz() / REST_OF_A_SECOND;
	if (t->fd >= 0)
		return t;
	free(t);
	return NULL;
}

void poll_tap_close(struct poll_tap *t)
{
	close(t->fd);
	free(t);
}

/* The kernel cuts what is too long in silence (tun_put_user), so what fills the buffer counts as
 * cut; an MTU that the port may have leaves room. */
static int take(struct poll_tap *t, struct rte_mbuf *m)
{
	ssize_t length = read(t->fd, rte_pktmbuf_mtod(m, void *), POLL_FRAME);

	if (length <= 0)
		return -1;
	m->data_len = (uint16_t)length;
	m->hash.usr = 0;
	m->pkt_len = (uint32_t)length + (length == POLL_FRAME);
	return 0;
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

uint16_t poll_tap_receive(struct poll_tap *t, struct rte_mempool *pool, struct rte_mbuf **mbufs,
			  uint16_t count)
{
	uint16_t n = 0;

	if (rte_rdtsc() < t->next)
		return 0;
	for (; n < count; n++) {
		mbufs[n] = rte_pktmbuf_alloc(pool);
		if (!mbufs[n])
			break; /* it stays in the tap's queue */
		if (take(t, mbufs[n])) {
			rte_pktmbuf_free(mbufs[n]);
			break;
		}
	}
	rest(t, n);
	return n;
}

uint16_t poll_tap_send(struct poll_tap *t, struct rte_mbuf **mbufs, uint16_t count)
{
	uint16_t n = 0;

	for (; n < count; n++) {
		struct rte_mbuf *m = mbufs[n];

		if (write(t->fd, rte_pktmbuf_mtod(m, void *), m->data_len) != m->data_len)
			break; /* the interface is down */
		rte_pktmbuf_free(m);
	}
	return n;
}
