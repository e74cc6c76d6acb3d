//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "vhost.h"

#include <linux/virtio_net.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_vhost.h>

#include "ports.h"

#define FEATURE(name) (1ULL << VIRTIO_NET_F_##name)
#define ONCE 32	 /* packets that the library takes in a call */
#define PATH 108 /* of a Unix socket: unix(7) */

/* The rings of the first pair of queues, as VMs name them (virtio 1.2, 5.1.2). */
enum { TO_VM, FROM_VM };

struct poll_vhost {
	struct poll_port *port;
	int vm; /* the library's number of who is there, or -1 */
	char path[PATH];
};

/* By vif: the library tells of a VM by its socket's path. */
static struct poll_vhost *sockets[POLL_PORTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct poll_vhost *socket_of(int vm)
{
	struct poll_vhost *found = NULL;
	char path[PATH];

	if (rte_vhost_get_ifname(vm, path, sizeof(path)))
		return NULL;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < POLL_PORTS && !found; i++)
		if (sockets[i] && !strcmp(sockets[i]->path, path))
			found = sockets[i];
	pthread_mutex_unlock(&lock);
	return found;
}

/* Not CWR: the library cannot tell a VM of it. Nor does it count the length of an aggregate in the
 * pseudo-header's sum, which the stack of a VM that the packet is for does not look at. */
static uint32_t takes_of(int vm)
{
	uint64_t agreed;
	uint32_t takes = POLL_TAKES_CHECKSUM;

	if (rte_vhost_get_negotiated_features(vm, &agreed) || !(agreed & FEATURE(GUEST_CSUM)))
		return 0;
	if (agreed & FEATURE(GUEST_TSO4))
		takes |= POLL_TAKES_TCP4;
	if (agreed & FEATURE(GUEST_TSO6))
		takes |= POLL_TAKES_TCP6;
	return takes;
}

/* A VM that comes may have agreed to less than the one before. That its rings are looked at need
 * not be told by it: a core looks all the time. */
static int comes(int vm)
{
	struct poll_vhost *v = socket_of(vm);

	if (!v)
		return -1;
	for (uint16_t i = 0; i < rte_vhost_get_vring_num(vm); i++)
		rte_vhost_enable_guest_notification(vm, i, 0);
	__atomic_store_n(&v->port->takes, takes_of(vm), __ATOMIC_RELAXED);
	__atomic_store_n(&v->vm, vm, __ATOMIC_SEQ_CST);
	return 0;
}

/* Its memory goes when this returns, so no core may be at it any more. */
static void goes(int vm)
{
	struct poll_vhost *v = socket_of(vm);

	if (v && __atomic_load_n(&v->vm, __ATOMIC_RELAXED) == vm) { /* else another one came */
		__atomic_store_n(&v->vm, -1, __ATOMIC_SEQ_CST);
		__atomic_store_n(&v->port->takes, 0, __ATOMIC_RELAXED);
	}
	poll_wait_round();
}

static const struct rte_vhost_device_ops events = {.new_device = comes, .destroy_device = goes};

static void enter(struct poll_vhost *v, uint32_t vif)
{
	pthread_mutex_lock(&lock);
	sockets[vif] = v;
	pthread_mutex_unlock(&lock);
}

/* Checksums and aggregates of TCP are offered both ways, as the flags of packets say them that all
 * drivers know. UDP that is to become fragments is not: nobody sends it any more (Linux 4.14). */
static int listen_at(const char *path, int client)
{
	uint64_t flags = RTE_VHOST_USER_NET_COMPLIANT_OL_FLAGS;

	if (client)
		flags |= RTE_VHOST_USER_CLIENT;
	if (rte_vhost_driver_register(path, flags))
		return -1;
	if (!rte_vhost_driver_disable_features(path, FEATURE(HOST_UFO) | FEATURE(GUEST_UFO)) &&
	    !rte_vhost_driver_callback_register(path, &events) && !rte_vhost_driver_start(path))
		return 0;
	rte_vhost_driver_unregister(path);
	return -1;
}

struct poll_vhost *poll_vhost_open(struct poll_port *p, const char *path, int client)
{
	struct poll_vhost *v = rte_zmalloc("vhost", sizeof(*v), RTE_CACHE_LINE_SIZE);

	if (!v)
		return NULL;
	v->port = p;
	v->vm = -1;
	snprintf(v->path, sizeof(v->path), "%s", path);
	enter(v, p->vif);
	if (!listen_at(path, client))
		return v;
	enter(NULL, p->vif);
	rte_free(v);
	return NULL;
}

void poll_vhost_close(struct poll_vhost *v)
{
	rte_vhost_driver_unregister(v->path);
	enter(NULL, v->port->vif);
	rte_free(v);
}

uint16_t poll_vhost_receive(const struct poll_vhost *v, struct rte_mempool *pool,
			    struct rte_mbuf **mbufs, uint16_t count)
{
	const int vm = __atomic_load_n(&v->vm, __ATOMIC_ACQUIRE);
	uint16_t all = 0, got = vm < 0 ? 0 : ONCE;

	while (got == ONCE && all < count) {
		got = rte_vhost_dequeue_burst(vm, FROM_VM, pool, mbufs + all,
					      RTE_MIN(count - all, ONCE));
		all += got;
	}
	return all;
}

uint16_t poll_vhost_send(const struct poll_vhost *v, struct rte_mbuf **mbufs, uint16_t count)
{
	const int vm = __atomic_load_n(&v->vm, __ATOMIC_ACQUIRE);
	uint16_t all = 0, sent = vm < 0 ? 0 : ONCE;

	while (sent == ONCE && all < count) {
		sent = rte_vhost_enqueue_burst(vm, TO_VM, mbufs + all, RTE_MIN(count - all, ONCE));
		all += sent;
	}
	rte_pktmbuf_free_bulk(mbufs, all); /* they were copied */
	return all;
}

int poll_vhost_linked(const struct poll_vhost *v)
{
	return __atomic_load_n(&v->vm, __ATOMIC_RELAXED) >= 0;
}
