/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The table of flows, in memory that the movers and the agent share. Packets find and make flows on
 * every CPU at once, and only the agent takes them out; nobody waits for a lock.
 *
 * What costs is memory that no cache has: of a million flows each packet meets another one, and a
 * miss comes with one of the table of pages. So a flow is looked for within one page of 4 KiB, and
 * mostly in one pair of lines: a hash gives the page, and its home in it. Each entry has besides
 * its flow a word of bits, which say in which entries from here on lie the flows that are at home
 * here (Herlihy, Shavit and Tzafrir, "Hopscotch Hashing", 2008; here nothing is ever moved). So a
 * flow that is not there costs one line, too. A page that is full sends on to another one, and that
 * to a third. Half of all entries are spare, so of a thousand million flows hardly one finds no
 * room.
 *
 * An entry is EMPTY; BUSY while it is filled; VALID, when its key never changes; and DEAD, until
 * the agent knows that no packet can still be looking at it, and empties it. So nobody ever reads a
 * key that is being written.
 *
 * Two CPUs may make the same flow at once. Each first fills its entry, then sets its bits, the last
 * in the flow's first home, and only then looks for others: those atomic operations on one word
 * have an order, so at least the one that came later sees the other. Whoever sees a pair ends the
 * one with the higher number; only one can turn it from VALID to DEAD, and counts it off.
 */
#ifndef VR_FLOW_TABLE_H
#define VR_FLOW_TABLE_H

#include "vr_bytes.h"
#include "vr_flow.h"

#define VR_FLOW_SLOTS 32  /* entries in a page */
#define VR_FLOW_REACH 31  /* how many of them a home reaches: it is the first */
#define VR_FLOW_CHOICES 3 /* pages in which a flow may lie */
#define VR_FLOW_PAIRS 8	  /* others that one who makes a flow ends: more CPUs at once are not met */
#define VR_DEFAULT_FLOW_PAGES 4098 /* where nobody says how many flows there will be */

enum vr_flow_entry_state {
	VR_ENTRY_EMPTY = 0,
	VR_ENTRY_BUSY = 1,
	VR_ENTRY_VALID = 2,
	VR_ENTRY_DEAD = 3,
};
#define VR_ENTRY_STATE(word) ((word) & 3u)

/* An entry: two cache lines, of which the second is only counted in. word and reach are apart,
 * because reach is of all the flows that are at home here. */
struct vr_flow_entry {
	uint32_t word; /* bits 0-1 the state, the others of the hash */
	uint32_t
	    reach; /* bit i: the entry i further has a flow of this home; bit 31: see elsewhere */
	struct vr_flow_key key;
	struct vr_flow flow;
	uint64_t reserved[4];
};
_Static_assert(sizeof(struct vr_flow_entry) == 128, "vr_flow_entry is shared with Go");
#define VR_FLOW_ELSEWHERE (1u << VR_FLOW_REACH)

/* Page 0 has no flows, so that an entry's number, which counts through all pages, is never 0. */
struct vr_flow_page {
	struct vr_flow_entry entries[VR_FLOW_SLOTS];
};
_Static_assert(sizeof(struct vr_flow_page) == 4096, "an entry lies in one page of memory");

/* What the agent says of the table before any packet comes, and how many flows are in it. The count
 * has a cache line of its own. */
struct vr_flow_head {
	uint64_t secret[5]; /* random, so that nobody can choose flows that meet in one page */
	uint32_t pages;	    /* of flows, without page 0; 0: there is no table yet */
	uint32_t limit;	    /* how many flows there may be */
	uint64_t reserved[2];
	uint64_t used;
	uint64_t reserved_too[7];
};
_Static_assert(sizeof(struct vr_flow_head) == 128, "vr_flow_head is shared with Go");

/* The mover's: the head; a page, or none; and the count of a network's flows. */
VR_INLINE struct vr_flow_head *vr_flow_head(void);
VR_INLINE struct vr_flow_page *vr_flow_page(uint32_t page);
VR_INLINE uint64_t *vr_flow_used(uint32_t vrf);

/* The mover's, because it may have them as functions of their own: the three below whose names end
 * in _in_table. */
VR_INLINE uint32_t vr_flow_seek_choice(const struct vr_flow_key *key, uint32_t choice,
				       uint32_t except);
VR_INLINE uint64_t vr_flow_claim(const struct vr_flow_key *key);
VR_INLINE void vr_flow_publish(const struct vr_flow_key *key, const struct vr_flow *fresh,
			       uint64_t place);

/* The sum of NH (RFC 4418, section 5.2.2): whoever does not know the secret finds two keys that
 * have one with a chance of 2^-32. Then a mixing that loses nothing spreads it over all bits
 * (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014). */
VR_INLINE uint64_t vr_flow_mix(const struct vr_flow_head *head, const struct vr_flow_key *key)
{
	uint64_t words[5], hash = 0;

	__builtin_memcpy(words, key, sizeof(words));
#pragma unroll
	for (int i = 0; i < 5; i++) {
		uint64_t secret = head->secret[i];

		hash += (uint64_t)((uint32_t)words[i] + (uint32_t)secret) *
			(uint32_t)((uint32_t)(words[i] >> 32) + (uint32_t)(secret >> 32));
	}
	hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9ULL;
	hash = (hash ^ hash >> 27) * 0x94d049bb133111ebULL;
	return hash ^ hash >> 31;
}

/* The hash by which one of the pages, and the home in it, is chosen. */
VR_INLINE uint64_t vr_flow_chosen(uint64_t hash, uint32_t choice)
{
	if (choice == 0)
		return hash;
	return hash * (choice == 1 ? 0x9e3779b97f4a7c15ULL : 0xd1342543de82ef95ULL);
}

VR_INLINE uint32_t vr_flow_number(uint64_t chosen, uint32_t pages)
{
	return 1 + (uint32_t)((chosen >> 32) * pages >> 32);
}

VR_INLINE uint32_t vr_flow_word(uint64_t hash)
{
	return ((uint32_t)hash & ~3u) | VR_ENTRY_VALID;
}

VR_INLINE int vr_flow_same(const struct vr_flow_key *a, const struct vr_flow_key *b)
{
	uint64_t x[5], y[5];

	__builtin_memcpy(x, a, sizeof(x));
	__builtin_memcpy(y, b, sizeof(y));
	return !((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3]) | (x[4] ^ y[4]));
}

VR_INLINE struct vr_flow_entry *vr_flow_at_number(uint32_t number)
{
	struct vr_flow_page *page = vr_flow_page(number / VR_FLOW_SLOTS);

	return page ? &page->entries[number % VR_FLOW_SLOTS] : 0;
}

/* Which of the entries that bits say from a home on has a flow: its slot, or VR_FLOW_SLOTS. */
VR_INLINE uint32_t vr_flow_slot(struct vr_flow_page *page, uint64_t from, uint32_t bits,
				uint32_t word, const struct vr_flow_key *key, uint32_t except)
{
	uint32_t slot = (uint32_t)from % VR_FLOW_SLOTS;

#pragma nounroll
	for (uint32_t i = 0; i < VR_FLOW_REACH && bits; i++, bits >>= 1) {
		const struct vr_flow_entry *e = &page->entries[slot];

		VR_OPAQUE(key); /* or clang keeps its words on the stack, which is full */
		if (bits & 1 && slot != except && VR_READ_ONCE(e->word) == word &&
		    vr_flow_same(&e->key, key))
			return slot;
		slot = (slot + 1) % VR_FLOW_SLOTS;
	}
	return VR_FLOW_SLOTS;
}

/* The number of a flow's entry by one of the choices, another one than except; or 0, with
 * VR_FLOW_ELSEWHERE if another choice may know. */
VR_INLINE uint32_t vr_flow_seek_in_table(const struct vr_flow_key *key, uint32_t choice,
					 uint32_t except)
{
	const struct vr_flow_head *head = vr_flow_head();
	struct vr_flow_page *page;
	uint32_t number, bits, slot;
	uint64_t hash, chosen;

	if (!head || !head->pages)
		return 0;
	hash = vr_flow_mix(head, key);
	chosen = vr_flow_chosen(hash, choice);
	number = vr_flow_number(chosen, head->pages);
	page = vr_flow_page(number);
	if (!page)
		return 0;
	bits = VR_READ_ONCE(page->entries[chosen % VR_FLOW_SLOTS].reach);
	slot = vr_flow_slot(page, chosen, bits & ~VR_FLOW_ELSEWHERE, vr_flow_word(hash), key,
			    except - number * VR_FLOW_SLOTS);
	if (slot < VR_FLOW_SLOTS)
		return number * VR_FLOW_SLOTS + slot;
	return bits & VR_FLOW_ELSEWHERE;
}

/* The number of a flow's entry, another one than except, or 0. */
VR_INLINE uint32_t vr_flow_seek(const struct vr_flow_key *key, uint32_t except)
{
	uint32_t number = VR_FLOW_ELSEWHERE;

#pragma nounroll
	for (uint32_t i = 0; i < VR_FLOW_CHOICES && number == VR_FLOW_ELSEWHERE; i++)
		number = vr_flow_seek_choice(key, i, except);
	return number == VR_FLOW_ELSEWHERE ? 0 : number;
}

/* The record of a flow, or none. */
VR_INLINE struct vr_flow *vr_flow_find_in_table(const struct vr_flow_key *key)
{
	uint32_t number = vr_flow_seek(key, 0);
	struct vr_flow_entry *e = number ? vr_flow_at_number(number) : 0;

	return e ? &e->flow : 0;
}

/* A place: an entry's number, how far from its home it is, and by which choice. */
#define VR_FLOW_PLACE(number, steps, choice)                                                       \
	((uint64_t)(choice) << 40 | (uint64_t)(steps) << 32 | (number))
#define VR_FLOW_PLACE_STEPS(place) ((uint32_t)((place) >> 32) & (VR_FLOW_SLOTS - 1))
#define VR_FLOW_PLACE_CHOICE(place) ((uint32_t)((place) >> 40))

/* Makes an empty entry of those where a flow may lie busy: its place, or 0. */
VR_INLINE uint64_t vr_flow_claim_in_table(const struct vr_flow_key *key)
{
	const struct vr_flow_head *head = vr_flow_head();
	uint64_t hash;

	if (!head || !head->pages)
		return 0;
	hash = vr_flow_mix(head, key);
#pragma nounroll
	for (uint32_t choice = 0; choice < VR_FLOW_CHOICES; choice++) {
		uint64_t chosen = vr_flow_chosen(hash, choice);
		uint32_t number = vr_flow_number(chosen, head->pages);
		struct vr_flow_page *page = vr_flow_page(number);
		uint32_t slot = chosen % VR_FLOW_SLOTS;

		if (!page)
			return 0;
#pragma nounroll
		for (uint32_t i = 0; i < VR_FLOW_REACH; i++) {
			uint32_t *word = &page->entries[slot].word;

			if (VR_READ_ONCE(*word) == VR_ENTRY_EMPTY &&
			    __sync_val_compare_and_swap(word, VR_ENTRY_EMPTY, VR_ENTRY_BUSY) ==
				VR_ENTRY_EMPTY)
				return VR_FLOW_PLACE(number * VR_FLOW_SLOTS + slot, i, choice);
			slot = (slot + 1) % VR_FLOW_SLOTS;
		}
	}
	return 0;
}

/* Fills a place, and lets the flow be found. */
VR_INLINE void vr_flow_publish_in_table(const struct vr_flow_key *key, const struct vr_flow *fresh,
					uint64_t place)
{
	struct vr_flow_entry *e = vr_flow_at_number((uint32_t)place);
	const struct vr_flow_head *head = vr_flow_head();
	uint32_t bit = 1u << VR_FLOW_PLACE_STEPS(place);
	uint64_t hash;

	if (!e || !head)
		return;
	hash = vr_flow_mix(head, key);
	e->key = *key;
	e->flow = *fresh;
	e->flow.steps = VR_FLOW_PLACE_STEPS(place);
	__sync_val_compare_and_swap(&e->word, VR_ENTRY_BUSY, vr_flow_word(hash));
#pragma nounroll
	for (uint32_t i = 0; i < VR_FLOW_CHOICES; i++) {
		uint32_t choice = VR_FLOW_CHOICES - 1 - i;
		uint64_t chosen = vr_flow_chosen(hash, choice);
		struct vr_flow_page *page;

		if (choice > VR_FLOW_PLACE_CHOICE(place))
			continue;
		page = vr_flow_page(vr_flow_number(chosen, head->pages));
		if (!page)
			return;
		__sync_fetch_and_or(&page->entries[chosen % VR_FLOW_SLOTS].reach, bit);
		bit = VR_FLOW_ELSEWHERE;
	}
}

/* One flow more, of the table and of a network, if both have room for it. */
VR_INLINE enum vr_drop vr_flow_count_up(struct vr_flow_head *head, uint64_t *used, uint64_t quota)
{
	enum vr_drop full = VR_DROP_flow_quota;

	if (__sync_fetch_and_add(used, 1) < quota || !quota) {
		if (__sync_fetch_and_add(&head->used, 1) < head->limit)
			return VR_DROP_NONE;
		__sync_fetch_and_add(&head->used, -1);
		full = VR_DROP_flow_table_full;
	}
	__sync_fetch_and_add(used, -1);
	return full;
}

/* Ends one of a pair, whose packets are the other's. Both are of one network. */
VR_INLINE void vr_flow_retire(uint32_t number, uint32_t other, struct vr_flow_head *head)
{
	struct vr_flow_entry *from = vr_flow_at_number(number), *to = vr_flow_at_number(other);
	uint64_t *used;
	uint32_t word;

	if (!from || !to)
		return;
	word = VR_READ_ONCE(from->word);
	if (VR_ENTRY_STATE(word) != VR_ENTRY_VALID ||
	    __sync_val_compare_and_swap(&from->word, word, word | VR_ENTRY_DEAD) != word)
		return;
	used = vr_flow_used(from->flow.vrf);
	if (used)
		__sync_fetch_and_add(used, -1);
	__sync_fetch_and_add(&head->used, -1);
#pragma unroll
	for (int i = 0; i < 2; i++) {
		__sync_fetch_and_add(&to->flow.packets[i], VR_READ_ONCE(from->flow.packets[i]));
		__sync_fetch_and_add(&to->flow.bytes[i], VR_READ_ONCE(from->flow.bytes[i]));
	}
}

/* Ends what other CPUs made of the same flow, or one's own entry. */
VR_INLINE void vr_flow_settle(const struct vr_flow_key *key, uint32_t mine,
			      struct vr_flow_head *head)
{
#pragma nounroll
	for (uint32_t i = 0; i < VR_FLOW_PAIRS; i++) {
		uint32_t other = vr_flow_seek(key, mine);

		if (!other)
			return;
		if (other < mine) {
			vr_flow_retire(mine, other, head);
			return;
		}
		vr_flow_retire(other, mine, head);
	}
}

/* A new flow of a network that may have so many, or why there is no room for it. The count is
 * exact: it goes up before the flow is made, and down again if that fails. */
VR_INLINE enum vr_drop vr_flow_make_in_table(const struct vr_flow_key *key,
					     const struct vr_flow *fresh, uint32_t vrf,
					     uint64_t quota)
{
	struct vr_flow_head *head = vr_flow_head();
	uint64_t *used = vr_flow_used(vrf);
	enum vr_drop full;
	uint64_t place;

	if (!head || !used)
		return VR_DROP_flow_table_full;
	full = vr_flow_count_up(head, used, quota);
	if (full)
		return full;
	place = vr_flow_claim(key);
	if (!place) {
		__sync_fetch_and_add(&head->used, -1);
		__sync_fetch_and_add(used, -1);
		return VR_DROP_flow_table_full;
	}
	vr_flow_publish(key, fresh, place);
	vr_flow_settle(key, (uint32_t)place, head);
	return VR_DROP_NONE;
}

/* A new entry within the quota of a network, which may be none; a trace, which changes nothing,
 * only asks whether there is room. */
VR_INLINE enum vr_drop vr_flow_make_within(const struct vr_flow_key *key,
					   const struct vr_flow *fresh, uint32_t vrf,
					   const struct vr_vrf *network, int live)
{
	const struct vr_flow_head *head = vr_flow_head();
	const uint64_t *used = vr_flow_used(vrf);
	uint64_t quota;

	if (!network || !used || !head)
		return VR_DROP_unknown_vif;
	quota = VR_READ_ONCE(network->flows);
	if (live)
		return vr_flow_make_in_table(key, fresh, vrf, quota);
	if (quota && VR_READ_ONCE(*used) >= quota)
		return VR_DROP_flow_quota;
	return VR_READ_ONCE(head->used) >= head->limit ? VR_DROP_flow_table_full : VR_DROP_NONE;
}

#endif
