/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The look-up of routes on the host.
 *
 *	routes look FILE < addresses	prints the route of each
 *	routes churn FILE THREADS	looks up while the tables change
 *
 * FILE holds what happens to the tables, as they happen. Its records begin with a word: the number
 * of blocks there is room for, once; then what is done (enum step), and its data.
 *
 * While the tables change, every address has a route, and every route's nexthop says which prefix
 * it belongs to: so a reader needs nothing but the address to tell that it was misled.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../vr_lookup.h"

enum step {
	STEP_END,
	STEP_BLOCK,  /* a number, and the block: written where no reader may be */
	STEP_SWITCH, /* both roots: from now on readers begin there */
	STEP_GRACE,  /* every reader is waited for, so that blocks may be used again */
};

#define MAX_THREADS 16

static struct {
	struct vr_tables tables;
	struct vr_block *blocks;
	uint64_t roots; /* as in struct vr_vrf: IPv4 in the lower half */
	uint64_t passed[MAX_THREADS]
		       [8]; /* look-ups that a reader has behind it, a cache line each */
	int readers;
	int done;
} shared;

static void need(void *into, size_t size, FILE *f)
{
	if (fread(into, 1, size, f) != size) {
		fprintf(stderr, "routes: the file is too short\n");
		exit(1);
	}
}

/* An RCU grace period: whoever was on its way when it began is through when it ends. */
static void grace(void)
{
	for (int i = 0; i < shared.readers; i++) {
		uint64_t before = __atomic_load_n(&shared.passed[i][0], __ATOMIC_ACQUIRE);

		while (__atomic_load_n(&shared.passed[i][0], __ATOMIC_ACQUIRE) == before)
			sched_yield();
	}
}

static int step(FILE *f)
{
	struct vr_block block;
	uint32_t what, number, roots[2];

	need(&what, sizeof(what), f);
	switch (what) {
	case STEP_BLOCK:
		need(&number, sizeof(number), f);
		need(&block, sizeof(block), f);
		if (number >= shared.tables.block_count)
			exit(1);
		shared.blocks[number] = block;
		return 1;
	case STEP_SWITCH:
		need(roots, sizeof(roots), f);
		__atomic_store_n(&shared.roots, roots[0] | (uint64_t)roots[1] << 32,
				 __ATOMIC_RELEASE);
		return 1;
	case STEP_GRACE:
		grace();
		return 1;
	}
	return 0;
}

static uint64_t look(struct vr_addr a, int v4)
{
	uint64_t roots = VR_READ_ONCE(shared.roots);

	return vr_route_lookup(&shared.tables, (uint32_t)(v4 ? roots : roots >> 32), a);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

/* Bytes of few values, so that addresses share their first bits with many prefixes. */
static uint64_t similar(uint64_t random)
{
	static const uint8_t bytes[8] = {0x00, 0x00, 0x01, 0x10, 0x7f, 0x80, 0xf0, 0xff};
	uint64_t word = 0;

	for (int i = 0; i < 8; i++)
		word = word << 8 | bytes[random >> (3 * i) & 7];
	return word;
}

/* What the writer gives the routes of a prefix as nexthop, but for its lowest bit: small enough for
 * an entry with a tail. */
static uint32_t owner(struct vr_addr a, uint32_t length)
{
	uint64_t hi = length >= 64 ? a.hi : length ? a.hi >> (64 - length) << (64 - length) : 0;
	uint64_t lo = length > 64 ? a.lo >> (128 - length) << (128 - length) : 0;
	uint64_t mixed = (hi ^ lo * 0x9e3779b97f4a7c15 ^ length) * 0xff51afd7ed558ccd;

	return (uint32_t)(mixed >> 49) << 1;
}

static void *reader(void *number)
{
	uint64_t *passed = shared.passed[(size_t)number],
		 state = 88172645463325252 + (size_t)number;

	while (!__atomic_load_n(&shared.done, __ATOMIC_RELAXED)) {
		int v4 = next_random(&state) & 1;
		struct vr_addr a = {similar(next_random(&state)), similar(next_random(&state))};
		uint64_t route;

		if (v4) {
			a.hi &= 0xffffffff00000000;
			a.lo = 0;
		}
		route = look(a, v4);
		if (!route || (VR_ROUTE_REF(route) & ~1u) != owner(a, VR_ROUTE_BITS(route))) {
			fprintf(stderr, "routes: %016llx %016llx has %016llx\n",
				(unsigned long long)a.hi, (unsigned long long)a.lo,
				(unsigned long long)route);
			exit(1);
		}
		__atomic_store_n(passed, *passed + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void churn(FILE *f, int threads)
{
	pthread_t ids[MAX_THREADS];
	uint64_t looked = 0;

	while (!shared.roots)
		step(f);
	for (size_t i = 0; i < (size_t)threads; i++)
		pthread_create(&ids[i], NULL, reader, (void *)i);
	shared.readers = threads;
	while (step(f))
		;
	__atomic_store_n(&shared.done, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		looked += shared.passed[i][0];
	}
	printf("%llu\n", (unsigned long long)looked);
}

static void answer(void)
{
	unsigned long long hi, lo;
	int v4;

	while (scanf("%d %llx %llx", &v4, &hi, &lo) == 3)
		printf("%016llx\n", (unsigned long long)look((struct vr_addr){hi, lo}, v4));
}

int main(int argc, char **argv)
{
	FILE *f = argc > 2 ? fopen(argv[2], "rb") : NULL;

	if (!f)
		return 2;
	need(&shared.tables.block_count, sizeof(shared.tables.block_count), f);
	shared.blocks = calloc(shared.tables.block_count, sizeof(struct vr_block));
	shared.tables.blocks = shared.blocks;
	if (strcmp(argv[1], "churn") == 0 && argc > 3 && atoi(argv[3]) <= MAX_THREADS) {
		churn(f, atoi(argv[3]));
	} else {
		while (step(f))
			;
		answer();
	}
	free(shared.blocks);
	fclose(f);
	return 0;
}
