/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The table of flows on the host, under the sanitizers: as many random flows as it is for find
 * room, and threads that make, find and end flows at once neither lose nor double any, and count
 * them exactly. The one who empties entries here waits for the others as the agent does.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLOWS 100000
#define HOST_FLOW_PAGES (2 * FLOWS / 32 + 1) /* as config.FlowPages has it, without page 0 */
#define HOST_FLOW_LIMIT FLOWS
#define HOST_FLOW_SOUGHT()                                                                         \
	do {                                                                                       \
		if (sought)                                                                        \
			sought();                                                                  \
	} while (0)
static void (*sought)(void);
#include "host_flow_table.h"

#define THREADS 4
#define OWN 8 /* flows that a thread has for itself: nobody ends them */
#define ROUNDS 1500
#define STEPS 20000
#define AGED 300 /* flows that are ended meanwhile */
#define SMALL_PAGES 4
#define SMALL_LIMIT 120 /* so full that flows often lie in their second and third page */

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "flow_table: line %d: %s does not hold\n", __LINE__, #x);  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static uint32_t any(uint32_t *state, uint32_t below)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state % below;
}

static struct vr_flow_key key_of(uint32_t n)
{
	return (struct vr_flow_key){.local.hi = 0x0a00000100000000ULL,
				    .remote.hi = (uint64_t)n * 2654435761u << 32,
				    .remote_port = (uint16_t)n,
				    .vif = 1,
				    .protocol = VR_PROTO_UDP,
				    .family = VR_FAMILY_IP4};
}

static enum vr_drop make(const struct vr_flow_key *key, uint64_t quota)
{
	struct vr_flow fresh = {.seen = 1, .vrf = 1, .packets = {1, 0}};

	return vr_flow_make_in_table(key, &fresh, 1, quota);
}

static void clear(uint32_t pages, uint32_t limit)
{
	memset(host_flow_pages, 0, sizeof(host_flow_pages));
	memset(host_flow_used, 0, sizeof(host_flow_used));
	host_flow_head.pages = pages;
	host_flow_head.limit = limit;
	host_flow_head.used = 0;
}

/* Every secret spreads other flows over other pages, and all find room. */
static void check_room(uint32_t *state)
{
	static struct vr_flow_key keys[FLOWS];
	struct vr_flow_key more = key_of(7);

	clear(HOST_FLOW_PAGES, FLOWS);
	for (int i = 0; i < 5; i++)
		host_flow_head.secret[i] = (uint64_t)any(state, ~0u) << 32 | any(state, ~0u);
	for (uint32_t i = 0; i < FLOWS; i++) {
		keys[i] = key_of(i);
		keys[i].local.lo = any(state, ~0u);
		keys[i].local_port = (uint16_t)any(state, 65536);
		CHECK(!vr_flow_seek(&keys[i], 0) && make(&keys[i], 0) == VR_DROP_NONE);
	}
	CHECK(make(&more, 0) == VR_DROP_flow_table_full && host_flow_head.used == FLOWS);
	CHECK(make(&more, FLOWS) == VR_DROP_flow_quota && host_flow_used[1] == FLOWS);
	for (uint32_t i = 0; i < FLOWS; i++) {
		uint32_t number = vr_flow_seek(&keys[i], 0);

		CHECK(number && vr_flow_same(&vr_flow_at_number(number)->key, &keys[i]));
		CHECK(!vr_flow_seek(&keys[i], number));
	}
}

/* Several CPUs make one flow: all have published their entries, and each settles while another one
 * has looked and not yet acted. One stays, with all packets. */
static uint32_t same[3], settled;

static void settle_next(void)
{
	struct vr_flow_key key = key_of(7);

	if (settled < 3)
		vr_flow_settle(&key, same[settled++], &host_flow_head);
}

static void check_pairs(int meanwhile, uint32_t first)
{
	struct vr_flow fresh = {.seen = 1, .vrf = 1, .packets = {1, 0}};
	struct vr_flow_key key = key_of(7);
	uint32_t left;

	clear(SMALL_PAGES, SMALL_LIMIT);
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t place = vr_flow_claim(&key);

		CHECK(!vr_flow_count_up(&host_flow_head, &host_flow_used[1], 0) && place);
		vr_flow_publish(&key, &fresh, place);
		same[(i * first + first) % 3] = (uint32_t)place;
	}
	settled = 0;
	sought = meanwhile ? settle_next : NULL;
	while (settled < 3)
		settle_next();
	sought = NULL;
	left = vr_flow_seek(&key, 0);
	CHECK(left && vr_flow_at_number(left)->flow.packets[0] >= (meanwhile ? 1 : 3));
	CHECK(!vr_flow_seek(&key, left) && host_flow_head.used == 1 && host_flow_used[1] == 1);
}

/* Which entries are valid, and that what is counted is so. Nobody else is at work. */
static uint32_t check_table(void)
{
	uint32_t valid = 0;

	for (uint32_t n = VR_FLOW_SLOTS; n < (host_flow_head.pages + 1) * VR_FLOW_SLOTS; n++) {
		const struct vr_flow_entry *e = vr_flow_at_number(n);
		uint32_t home = (n - e->flow.steps) % VR_FLOW_SLOTS;

		CHECK(VR_ENTRY_STATE(e->word) != VR_ENTRY_BUSY);
		if (VR_ENTRY_STATE(e->word) != VR_ENTRY_VALID)
			continue;
		valid++;
		CHECK(vr_flow_seek(&e->key, 0) == n && !vr_flow_seek(&e->key, n));
		CHECK(host_flow_pages[n / VR_FLOW_SLOTS].entries[home].reach >> e->flow.steps & 1);
	}
	CHECK(valid == host_flow_head.used && valid == host_flow_used[1]);
	return valid;
}

/* The threads, and whether each is with a packet: then its count is odd. */
static uint64_t with_packet[THREADS];
static int aged, waiting, turn, made;

static void begin(int thread)
{
	__atomic_fetch_add(&with_packet[thread], 1, __ATOMIC_SEQ_CST);
}

static void end(int thread)
{
	__atomic_fetch_add(&with_packet[thread], 1, __ATOMIC_SEQ_CST);
}

static void quiesce(void)
{
	for (int i = 0; i < THREADS; i++) {
		uint64_t was = __atomic_load_n(&with_packet[i], __ATOMIC_SEQ_CST);

		while (was & 1 && __atomic_load_n(&with_packet[i], __ATOMIC_SEQ_CST) == was)
			sched_yield();
	}
}

/* All threads meet. */
static void meet(void)
{
	int now = __atomic_load_n(&turn, __ATOMIC_SEQ_CST);

	if (__atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST) == THREADS) {
		__atomic_store_n(&waiting, 0, __ATOMIC_SEQ_CST);
		__atomic_add_fetch(&turn, 1, __ATOMIC_SEQ_CST);
	}
	while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) == now)
		sched_yield();
}

static int killed(struct vr_flow_entry *e)
{
	uint32_t word = VR_READ_ONCE(e->word);

	if (VR_ENTRY_STATE(word) != VR_ENTRY_VALID ||
	    __sync_val_compare_and_swap(&e->word, word, word | VR_ENTRY_DEAD) != word)
		return 0;
	__sync_fetch_and_add(&host_flow_used[1], -1);
	__sync_fetch_and_add(&host_flow_head.used, -1);
	return 1;
}

/* Gives what is dead back, as Flows.empty of config/flows.go. */
static void empty_dead(void)
{
	static uint32_t dead[(SMALL_PAGES + 1) * VR_FLOW_SLOTS];
	uint32_t count = 0;

	for (uint32_t n = VR_FLOW_SLOTS; n < (SMALL_PAGES + 1) * VR_FLOW_SLOTS; n++)
		if (VR_ENTRY_STATE(VR_READ_ONCE(vr_flow_at_number(n)->word)) == VR_ENTRY_DEAD)
			dead[count++] = n;
	quiesce();
	for (uint32_t i = 0; i < count; i++) {
		struct vr_flow_entry *e = vr_flow_at_number(dead[i]);
		uint32_t home = (dead[i] - e->flow.steps) % VR_FLOW_SLOTS;
		struct vr_flow_page *page = vr_flow_page(dead[i] / VR_FLOW_SLOTS);

		__sync_fetch_and_and(&page->entries[home].reach, ~(1u << e->flow.steps));
		memset(&e->key, 0, sizeof(e->key));
		memset(&e->flow, 0, sizeof(e->flow));
		__atomic_store_n(&e->word, VR_ENTRY_EMPTY, __ATOMIC_RELEASE);
	}
}

/* Every thread makes the same flows, in a table that becomes full; then one of them looks. */
static void *same_flows(void *number)
{
	int thread = (int)(intptr_t)number;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct vr_flow_key key = key_of(round);
		enum vr_drop lost;

		meet();
		begin(thread);
		lost = vr_flow_seek(&key, 0) ? VR_DROP_NONE : make(&key, 0);
		end(thread);
		CHECK(!lost || lost == VR_DROP_flow_table_full);
		if (!lost)
			__atomic_store_n(&made, 1, __ATOMIC_SEQ_CST);
		meet();
		if (thread)
			continue;
		CHECK(!__atomic_exchange_n(&made, 0, __ATOMIC_SEQ_CST) || vr_flow_seek(&key, 0));
		if (check_table() > SMALL_LIMIT / 2 + round % (SMALL_LIMIT / 2))
			for (uint32_t n = VR_FLOW_SLOTS; n < (SMALL_PAGES + 1) * VR_FLOW_SLOTS; n++)
				killed(vr_flow_at_number(n));
		empty_dead();
	}
	return NULL;
}

/* Each thread meets flows of all, and its own, which it must always find, and the packets in them.
 */
static void *any_flows(void *number)
{
	int thread = (int)(intptr_t)number;
	uint32_t state = 12345 + (uint32_t)thread;
	uint64_t sent[OWN] = {0};

	for (int i = 0; i < STEPS || !__atomic_load_n(&aged, __ATOMIC_SEQ_CST); i++) {
		int mine = i < OWN || any(&state, 4) == 0;
		uint32_t own = i < OWN ? (uint32_t)i : any(&state, OWN), found;
		struct vr_flow_key key =
		    key_of(mine ? 1000 + (uint32_t)thread * OWN + own : any(&state, 250));

		begin(thread);
		found = vr_flow_seek(&key, 0);
		CHECK(!mine || !found == (i < OWN));
		if (found)
			__sync_fetch_and_add(&vr_flow_at_number(found)->flow.packets[0], 1);
		else if (make(&key, 0) != VR_DROP_NONE)
			CHECK(!mine);
		if (mine)
			sent[own]++;
		end(thread);
		if (i + 1 == OWN)
			meet();
	}
	for (uint32_t i = 0; i < OWN; i++) {
		struct vr_flow_key key = key_of(1000 + (uint32_t)thread * OWN + i);
		uint32_t found = vr_flow_seek(&key, 0);

		CHECK(found && vr_flow_at_number(found)->flow.packets[0] == sent[i]);
	}
	return NULL;
}

/* Ends so many flows that are nobody's own, while the threads go on. */
static void age(void)
{
	uint32_t state = 99;

	for (int left = AGED; left > 0;) {
		for (int i = 0; i < 16; i++) {
			uint32_t n = VR_FLOW_SLOTS + any(&state, SMALL_PAGES * VR_FLOW_SLOTS);
			struct vr_flow_entry *e = vr_flow_at_number(n);

			if (VR_ENTRY_STATE(VR_READ_ONCE(e->word)) == VR_ENTRY_VALID &&
			    e->key.remote_port < 1000)
				left -= killed(e);
		}
		empty_dead();
		sched_yield();
	}
	__atomic_store_n(&aged, 1, __ATOMIC_SEQ_CST);
}

static void run(void *(*work)(void *))
{
	pthread_t threads[THREADS];

	clear(SMALL_PAGES, SMALL_LIMIT);
	aged = 0;
	for (intptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
	if (work == any_flows)
		age();
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	check_table();
}

int main(void)
{
	uint32_t state = 2463534242u;

	for (int i = 0; i < 3; i++)
		check_room(&state);
	for (int i = 0; i < 4; i++)
		check_pairs(i & 1, 1 + (i >> 1));
	run(same_flows);
	run(any_flows);
	return 0;
}
