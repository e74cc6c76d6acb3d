//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a CPU was doing whenever its clock asked: how often each stack of each program was seen. The
 * stacks are counted here, so that a window of any length needs the same room and nobody has to
 * read along while it lasts.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define STACKS_DEPTH 127 /* kernel.perf_event_max_stack, as the kernel has it by itself */
#define STACKS_SEEN 12288

/* Of what there is a count: who was seen, and where. */
struct stacks_key {
	__u32 process;
	__u16 depth; /* of the stack, in frames; 0: it was lost */
	__u16 user;  /* 1: the stack is of a program that was not in the kernel */
	__u64 stack; /* its hash: of a million stacks two are taken for one by a chance of 3e-8 */
	char name[16];
};

struct stacks_stack {
	__u64 count;
	__u64 frames[STACKS_DEPTH]; /* innermost first */
};

/*
 * Stacks stand with their counts, so that one call reads many of both. A table of the kernel's
 * stacks (BPF_MAP_TYPE_STACK_TRACE) takes two calls for each, and of those with one hash it has
 * one.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STACKS_SEEN);
	__type(key, struct stacks_key);
	__type(value, struct stacks_stack);
} stacks_seen SEC(".maps");

/*
 * Where a CPU's stack is taken. One sample does not interrupt another (bpf_overflow_handler in
 * kernel/events/core.c).
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stacks_stack);
} stacks_now SEC(".maps");

/* Of how many samples nothing is known, for want of room. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} stacks_lost SEC(".maps");

/*
 * Multiplies by 2^64 over the golden ratio (Knuth, volume 3, section 6.4), which carries upwards
 * only: the shift brings it back.
 */
static __always_inline __u64 stacks_hash(const struct stacks_stack *stack, __u16 depth)
{
	__u64 hash = depth;

	for (int i = 0; i < STACKS_DEPTH && i < depth; i++) {
		hash = (hash ^ stack->frames[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	return hash;
}

SEC("perf_event")
int stacks_sample(void *ctx)
{
	struct stacks_stack *now, *seen;
	struct stacks_key key = {};
	__u32 zero = 0;
	__u64 *lost;
	long bytes;

	now = bpf_map_lookup_elem(&stacks_now, &zero);
	if (!now)
		return 0;
	bytes = bpf_get_stack(ctx, now->frames, sizeof(now->frames), 0);
	if (bytes <= 0) { /* it was not in the kernel */
		bytes = bpf_get_stack(ctx, now->frames, sizeof(now->frames), BPF_F_USER_STACK);
		key.user = 1;
	}
	key.depth = bytes > 0 ? bytes / sizeof(now->frames[0]) : 0;
	key.stack = stacks_hash(now, key.depth);
	key.process = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(key.name, sizeof(key.name));
	seen = bpf_map_lookup_elem(&stacks_seen, &key);
	if (!seen) {
		now->count = 1;
		if (!bpf_map_update_elem(&stacks_seen, &key, now, BPF_NOEXIST))
			return 0;
		/* another CPU was quicker, or there is no room */
		seen = bpf_map_lookup_elem(&stacks_seen, &key);
	}
	if (seen) {
		__sync_fetch_and_add(&seen->count, 1);
		return 0;
	}
	lost = bpf_map_lookup_elem(&stacks_lost, &zero);
	if (lost)
		__sync_fetch_and_add(lost, 1);
	return 0;
}

#define STACKS_NAME 128
#define STACKS_NAMES 256

/* Questions, which the answers are written over: the names of the functions at addresses. */
union stacks_name {
	__u64 address; /* 0: no more */
	char text[STACKS_NAME];
};

struct stacks_names {
	union stacks_name of[STACKS_NAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stacks_names);
} stacks_named SEC(".maps");

/*
 * The kernel's own answer (symbol_string in lib/vsprintf.c) takes a microsecond, where all of its
 * symbols are a hundred thousand lines of text, and knows the modules and BPF programs of now. An
 * address that is no function's it writes as a number.
 */
SEC("syscall")
int stacks_name(void *ctx __attribute__((unused)))
{
	__u32 zero = 0;
	struct stacks_names *names = bpf_map_lookup_elem(&stacks_named, &zero);

	for (int i = 0; names && i < STACKS_NAMES; i++) {
		__u64 address = names->of[i].address;

		if (!address)
			break;
		bpf_snprintf(names->of[i].text, STACKS_NAME, "%ps", &address, sizeof(address));
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
