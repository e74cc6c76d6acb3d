/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * frame-load: what a data plane between two vhost-user sockets is measured
 * with. It sends one kind of frame into one port and counts what comes out of
 * another, on one core, and does next to nothing with either, so that the data
 * plane is the limit as far as can be. Its ports are those of EAL's arguments,
 * in their order; what it does is told on its standard input, a line each, and
 * answered by one:
 *
 *	run IN OUT WARM-UP WINDOW AT COUNT STEP MASK FRAME
 *
 * sends FRAME, in hex, as fast as the port takes it, for so many ms of warm-up and of window, with
 * a random one of COUNT words at the byte AT: of the frame's own, the bits of MASK are those of a
 * number below COUNT times STEP. The IPv4 header's checksum is kept right (AT is 30, its
 * destination, or behind it). The answer is "ok" and, of the window, the packets sent, those
 * counted, and its ns. It ends when its standard input does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#define BURST 32
#define DESCRIPTORS 1024
#define BUFFERS 8191 /* 2^n - 1 wastes least (rte_mempool_create) */
#define BUFFER_CACHE 256
#define FRAME_MOST 1514
#define LINE_MOST 4096
#define IPV4_SUM 24 /* in the frame */
#define IPV4_TARGET 30

struct order {
	uint16_t in, out;
	uint32_t warm_up, window; /* ms */
	uint32_t at, count, step, mask;
	uint32_t length;
	uint8_t frame[FRAME_MOST];
};

struct load {
	struct order order;
	struct rte_mempool *sends;
	uint32_t session; /* of the frames in buffers that come back */
	uint32_t random;
	uint32_t word; /* the frame's own */
	uint32_t sum;  /* of its IPv4 header without the destination, if that varies */
	uint64_t sent, got;
	struct rte_mbuf *waiting[BURST];
	uint16_t first, count; /* of those that wait */
};

static uint32_t get32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return rte_be_to_cpu_32(v);
}

static void put32(uint8_t *at, uint32_t v)
{
	v = rte_cpu_to_be_32(v);
	memcpy(at, &v, sizeof(v));
}

static uint16_t fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)(sum + (sum >> 16));
}

/* Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003. */
static uint32_t draw(struct load *l, uint32_t below)
{
	l->random ^= l->random << 13;
	l->random ^= l->random >> 17;
	l->random ^= l->random << 5;
	return (uint32_t)((uint64_t)l->random * below >> 32);
}

static void write_frame(struct load *l, struct rte_mbuf *m)
{
	const struct order *o = &l->order;
	uint8_t *b = rte_pktmbuf_mtod(m, uint8_t *);
	uint32_t word = (l->word & ~o->mask) | (draw(l, o->count) * o->step & o->mask);
	uint16_t sum;

	m->data_len = (uint16_t)o->length;
	m->pkt_len = o->length;
	if (m->hash.usr != l->session) { /* no driver uses that field for sending */
		m->hash.usr = l->session;
		memcpy(b, o->frame, o->length);
	}
	put32(b + o->at, word);
	if (o->at != IPV4_TARGET)
		return;
	sum = rte_cpu_to_be_16((uint16_t)~fold(l->sum + (word >> 16) + (word & 0xffff)));
	memcpy(b + IPV4_SUM, &sum, sizeof(sum));
}

static void send_some(struct load *l)
{
	uint16_t taken;

	if (l->first == l->count) {
		if (rte_pktmbuf_alloc_bulk(l->sends, l->waiting, BURST))
			return; /* all are in the port's ring */
		for (int i = 0; i < BURST; i++)
			write_frame(l, l->waiting[i]);
		l->first = 0;
		l->count = BURST;
	}
	taken = rte_eth_tx_burst(l->order.in, 0, l->waiting + l->first, l->count - l->first);
	l->first += taken;
	l->sent += taken;
}

static uint16_t take(uint16_t port)
{
	struct rte_mbuf *mbufs[BURST];
	uint16_t count = rte_eth_rx_burst(port, 0, mbufs, BURST);

	if (count)
		rte_pktmbuf_free_bulk(mbufs, count);
	return count;
}

static uint64_t cycles(uint32_t ms)
{
	return rte_get_tsc_hz() / 1000 * ms;
}

static void run_for(struct load *l, uint64_t length)
{
	uint64_t begin = rte_rdtsc(), now = begin;

	for (l->sent = l->got = 0; now - begin < length; now = rte_rdtsc()) {
		send_some(l);
		l->got += take(l->order.out);
	}
}

static void run(struct load *l)
{
	const struct order *o = &l->order;
	uint64_t begin;

	l->word = get32(o->frame + o->at);
	l->sum = 0;
	for (int i = 14; i < IPV4_TARGET; i += 2)
		if (i != IPV4_SUM)
			l->sum += (uint32_t)o->frame[i] << 8 | o->frame[i + 1];
	l->session++;
	run_for(l, cycles(o->warm_up));
	begin = rte_rdtsc();
	run_for(l, cycles(o->window));
	printf("ok %" PRIu64 " %" PRIu64 " %.0f\n", l->sent, l->got,
	       (double)(rte_rdtsc() - begin) * 1e9 / (double)rte_get_tsc_hz());
	if (l->count > l->first)
		rte_pktmbuf_free_bulk(l->waiting + l->first, l->count - l->first);
	l->first = l->count = 0;
}

static int read_frame(struct order *o, const char *hex)
{
	unsigned int byte;

	for (o->length = 0; o->length < FRAME_MOST && sscanf(hex, "%2x", &byte) == 1; hex += 2)
		o->frame[o->length++] = (uint8_t)byte;
	return *hex || o->length < o->at + 4 || o->at < IPV4_TARGET ? -1 : 0;
}

/* Whether the line is understood, and done. */
static int obey(struct load *l, char *line)
{
	struct order *o = &l->order;
	int hex = 0;
	uint16_t ports = rte_eth_dev_count_avail();

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "run %" SCNu16 " %" SCNu16 " %u %u %u %u %u %u %n", &o->in, &o->out,
		   &o->warm_up, &o->window, &o->at, &o->count, &o->step, &o->mask, &hex) != 8 ||
	    !hex || o->in >= ports || o->out >= ports || !o->count || read_frame(o, line + hex))
		return 0;
	run(l);
	return 1;
}

static int start(uint16_t port, struct rte_mempool *pool)
{
	struct rte_eth_conf conf = {0};

	return rte_eth_dev_configure(port, 1, 1, &conf) ||
	       rte_eth_rx_queue_setup(port, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL, pool) ||
	       rte_eth_tx_queue_setup(port, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL) ||
	       rte_eth_dev_start(port);
}

int main(int argc, char **argv)
{
	static struct load l = {.random = 2463534242};
	static char line[LINE_MOST];
	struct rte_mempool *pool;
	uint16_t port;

	if (rte_eal_init(argc, argv) < 0)
		return 1;
	l.sends = rte_pktmbuf_pool_create("sends", BUFFERS, BUFFER_CACHE, 0,
					  RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	pool = rte_pktmbuf_pool_create("receives", 4 * BUFFERS, BUFFER_CACHE, 0,
				       RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (!l.sends || !pool) {
		fprintf(stderr, "frame-load: no memory for frames; EAL's -m is too small\n");
		return 1;
	}
	RTE_ETH_FOREACH_DEV(port)
	if (start(port, pool)) {
		fprintf(stderr, "frame-load: port %u cannot be started\n", port);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!obey(&l, line))
			puts("error: it is not understood");
		fflush(stdout);
	}
	RTE_ETH_FOREACH_DEV(port)
	{
		rte_eth_dev_stop(port);
		rte_eth_dev_close(port);
	}
	return rte_eal_cleanup();
}
