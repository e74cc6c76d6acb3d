//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a CPU was doing whenever its clock asked: how often each stack of each program was seen. The
 * stacks are counted here, so that a window of any length needs the same room and nobody has to
 * read along while it lasts.
 */
#include <linux/bpf.h>
#include <linux/errno.h>
#include <bpf/bpf_helpers.h>

#define STACKS_DEPTH 127 /* kernel.perf_event_max_stack, as the kernel has it by itself */
#define STACKS_SEEN 16384
#define STACKS_FIRST 8192
#define STACKS_SECOND 4096

/* Set in the number of a stack that stands in the second table. */
#define STACKS_COLLIDED (1 << 20)

/* Of what there is a count: who was seen, and where. Numbers below 0 are errors of bpf_get_stackid.
 */
struct stacks_key {
	__u32 process;
	__s32 kernel; /* -EFAULT: it was not in the kernel */
	__s32 user;   /* of one that was not in the kernel, else -EFAULT */
	char name[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STACKS_SEEN);
	__type(key, struct stacks_key);
	__type(value, __u64);
} stacks_seen SEC(".maps");

/* Of how many samples nothing is known, for want of room. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} stacks_lost SEC(".maps");

/*
 * A table of stacks has one place for each hash and keeps who came first (stack_map in
 * kernel/bpf/stackmap.c). With a thousand stacks some collide, and those stand in a second table.
 */
#define STACKS_TABLE(table, places)                                                                \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_STACK_TRACE);                                            \
		__uint(max_entries, places);                                                       \
		__uint(key_size, sizeof(__u32));                                                   \
		__uint(value_size, STACKS_DEPTH * sizeof(__u64));                                  \
	} table SEC(".maps")

STACKS_TABLE(stacks_first, STACKS_FIRST);
STACKS_TABLE(stacks_second, STACKS_SECOND);

static __always_inline __s32 stack_of(void *ctx, __u64 flags)
{
	long number = bpf_get_stackid(ctx, &stacks_first, flags);

	if (number != -EEXIST)
		return number;
	number = bpf_get_stackid(ctx, &stacks_second, flags);
	return number < 0 ? number : number | STACKS_COLLIDED;
}

SEC("perf_event")
int stacks_sample(void *ctx)
{
	struct stacks_key key = {.user = -EFAULT};
	__u64 one = 1, *count;
	__u32 zero = 0;

	key.process = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(key.name, sizeof(key.name));
	key.kernel = stack_of(ctx, 0);
	if (key.kernel == -EFAULT)
		key.user = stack_of(ctx, BPF_F_USER_STACK);
	count = bpf_map_lookup_elem(&stacks_seen, &key);
	if (!count && !bpf_map_update_elem(&stacks_seen, &key, &one, BPF_NOEXIST))
		return 0;
	if (!count) /* another CPU was quicker, or there is no room */
		count = bpf_map_lookup_elem(&stacks_seen, &key);
	if (!count)
		count = bpf_map_lookup_elem(&stacks_lost, &zero);
	if (count)
		__sync_fetch_and_add(count, 1);
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
