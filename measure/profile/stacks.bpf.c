//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a CPU was doing whenever its clock asked: how often each stack of each program was seen. The
 * stacks are counted here, so that a window of any length needs the same room and nobody has to
 * read along while it lasts.
 */
#include <stddef.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define STACKS_DEPTH 127 /* kernel.perf_event_max_stack, as the kernel has it by itself */
#define STACKS_SEEN 12288

enum stacks_kind {
	STACKS_KERNEL = 0,
	STACKS_USER = 1, /* of a program that was not in the kernel */
	STACKS_RING = 2, /* the kernel's, and inside of it that of the interrupt which asked */
	STACKS_LATE = 3, /* not known: the task left the CPU before the clock rang that was due */
};

/* Of what there is a count: who was seen, and where. */
struct stacks_key {
	__u32 process;
	__u16 depth; /* of the stack, in frames; 0: it was lost */
	__u16 kind;  /* of the stack: one of stacks_kind */
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

#define STACKS_CLOCKS 4 /* of each CPU: as many as programs for perf events below */

/* What is known of a clock. */
struct stacks_clock {
	__u64 period; /* ns; written when the program is loaded, and then read only */
	__u64 timer;  /* the kernel's timer behind it */
	__u64 due;    /* when that is to expire next; 0: not known */
	__u64 early;  /* 1: of its next ring the sample was taken already */
};

/*
 * What is known of a CPU. Its idle task and its clocks' timers are learned by their addresses
 * alone, which needs neither the kernel's types nor its symbols.
 */
struct stacks_cpu {
	__u64 window;  /* in which it was seen last: that one's beginning */
	__s64 idled;   /* since then by the idle task, ns; while that has the CPU, less its end */
	__u64 busy;    /* when it was last known that a task, not the idle one, has or got it, ns */
	__u64 missed;  /* the window in which a switch from the idle task was not told */
	__u64 idler;   /* the idle task */
	__u64 expired; /* the timer that expired last */
	struct stacks_clock clocks[STACKS_CLOCKS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stacks_cpu);
} stacks_cpus SEC(".maps");

/* When the window began, in CLOCK_MONOTONIC's ns; 0: there is none. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} stacks_window SEC(".maps");

static __always_inline struct stacks_cpu *stacks_this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&stacks_cpus, &zero);
}

static __always_inline __u64 stacks_began(void)
{
	__u32 zero = 0;
	__u64 *window = bpf_map_lookup_elem(&stacks_window, &zero);

	return window ? *(volatile __u64 *)window : 0;
}

/* struct hrtimer begins with a node of three words, and the time when it expires */
#define STACKS_EXPIRES 24

/* When a clock's timer expires, or did; 0: not known. */
static __always_inline __u64 stacks_expires(const struct stacks_clock *clock)
{
	__u64 expires = 0;

	if (!clock->timer || bpf_probe_read_kernel(&expires, sizeof(expires),
						   (void *)(clock->timer + STACKS_EXPIRES)))
		return 0;
	return expires;
}

/* Begins a window on this CPU: its clocks run already. */
static __always_inline void stacks_begin(struct stacks_cpu *cpu, __u64 now)
{
	for (int i = 0; i < STACKS_CLOCKS; i++) {
		struct stacks_clock *clock = &cpu->clocks[i];
		__u64 expires = stacks_expires(clock);

		clock->due = expires > now && expires - now <= clock->period ? expires : 0;
		clock->early = 0;
	}
}

/*
 * Notes that the idle task has the CPU, or that another has. A kernel may run no programs in some
 * tasks (a vendor's Linux 6.18 in those of process 1), so that their switch to the idle task is not
 * told: then that counts as having the CPU since it last lost it, or since the last ring found
 * another task there, a few ms at most.
 */
static __always_inline void stacks_saw(struct stacks_cpu *cpu, __u64 began, __u64 now, int idle)
{
	if (cpu->window != began) {
		cpu->idled = idle ? -(__s64)began : 0;
		cpu->window = began;
		stacks_begin(cpu, now);
	} else if (idle && cpu->idled >= 0) {
		cpu->idled -= cpu->busy;
	} else if (!idle && cpu->idled < 0) {
		cpu->missed = began;
	}
	if (!idle)
		cpu->busy = now;
}

static __always_inline void stacks_count(const struct stacks_stack *now,
					 const struct stacks_key *key)
{
	struct stacks_stack *seen = bpf_map_lookup_elem(&stacks_seen, key);
	__u32 zero = 0;
	__u64 *lost;

	if (!seen) {
		if (!bpf_map_update_elem(&stacks_seen, key, now, BPF_NOEXIST))
			return;
		/* another CPU was quicker, or there is no room */
		seen = bpf_map_lookup_elem(&stacks_seen, key);
	}
	if (seen) {
		__sync_fetch_and_add(&seen->count, now->count);
		return;
	}
	lost = bpf_map_lookup_elem(&stacks_lost, &zero);
	if (lost)
		__sync_fetch_and_add(lost, now->count);
}

/* Reckons when a clock, which rings just now, is to do so again. */
static __always_inline void stacks_next(struct stacks_clock *clock, __u64 now)
{
	__u64 expired = stacks_expires(clock), period = clock->period;

	clock->due = 0;
	if (period && expired && expired <= now &&
	    now - expired < 1000 * period) /* else the kernel's timers are others */
		clock->due = expired + ((now - expired) / period + 1) * period;
}

/*
 * Takes the samples of clocks that are due and have not rung yet, from the task that is leaving the
 * CPU. Hypervisors' timers are late by 10 us and more, but for CPUs that rest: without this, short
 * runs of programs are found idle.
 */
static __always_inline void stacks_leaves(struct stacks_cpu *cpu, __u64 now)
{
	struct stacks_key key = {.kind = STACKS_LATE};
	struct stacks_stack *none;
	__u32 zero = 0;
	__u64 late = 0;

	for (int i = 0; i < STACKS_CLOCKS; i++) {
		struct stacks_clock *clock = &cpu->clocks[i];

		if (clock->due && now >= clock->due && !clock->early) {
			clock->early = 1;
			late++;
		}
	}
	if (!late)
		return;
	none = bpf_map_lookup_elem(&stacks_now, &zero);
	if (!none)
		return;
	none->count = late;
	key.process = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(key.name, sizeof(key.name));
	stacks_count(none, &key);
}

/*
 * A clock rang: the kernel's timer expired on this CPU right before. Of the idle task
 * stacks_expired has taken the sample then, where it is there and knows the clock. Outside of
 * windows clocks only make themselves known.
 */
static __noinline int stacks_rang(void *ctx, __u32 number)
{
	int idle = !(__u32)bpf_get_current_pid_tgid(), known;
	struct stacks_cpu *cpu = stacks_this_cpu();
	struct stacks_key key = {};
	struct stacks_clock *clock;
	struct stacks_stack *now;
	__u64 began, at;
	__u32 zero = 0;
	long bytes;

	now = bpf_map_lookup_elem(&stacks_now, &zero);
	if (!now || !cpu)
		return 0;
	clock = &cpu->clocks[number];
	known = clock->timer && clock->timer == cpu->expired;
	clock->timer = cpu->expired;
	began = stacks_began();
	if (!began || (idle && known))
		return 0;
	at = bpf_ktime_get_ns();
	stacks_saw(cpu, began, at, idle);
	stacks_next(clock, at);
	if (clock->early) {
		clock->early = 0;
		return 0;
	}
	now->count = 1;
	bytes = bpf_get_stack(ctx, now->frames, sizeof(now->frames), 0);
	if (bytes <= 0) { /* it was not in the kernel */
		bytes = bpf_get_stack(ctx, now->frames, sizeof(now->frames), BPF_F_USER_STACK);
		key.kind = STACKS_USER;
	}
	key.depth = bytes > 0 ? bytes / sizeof(now->frames[0]) : 0;
	key.stack = stacks_hash(now, key.depth);
	key.process = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(key.name, sizeof(key.name));
	stacks_count(now, &key);
	return 0;
}

/* A clock is told by the program that it runs: contexts' forms are the processors' own. */
SEC("perf_event")
int stacks_rang0(void *ctx)
{
	return stacks_rang(ctx, 0);
}

SEC("perf_event")
int stacks_rang1(void *ctx)
{
	return stacks_rang(ctx, 1);
}

SEC("perf_event")
int stacks_rang2(void *ctx)
{
	return stacks_rang(ctx, 2);
}

SEC("perf_event")
int stacks_rang3(void *ctx)
{
	return stacks_rang(ctx, 3);
}

/*
 * Samples of the idle task are taken where a clock's timer expires (its address is the first
 * argument), because a kernel may have perf events leave them out.
 */
SEC("raw_tp/hrtimer_expire_entry")
int stacks_expired(struct bpf_raw_tracepoint_args *ctx)
{
	struct stacks_cpu *cpu = stacks_this_cpu();
	struct stacks_key key = {.kind = STACKS_RING};
	struct stacks_clock *clock = NULL;
	struct stacks_stack *now;
	__u64 began, at;
	__u32 zero = 0;
	long bytes;

	if (!cpu)
		return 0;
	cpu->expired = ctx->args[0];
	began = stacks_began();
	if (!began || (__u32)bpf_get_current_pid_tgid())
		return 0; /* of other tasks stacks_rang is next */
	for (int i = 0; i < STACKS_CLOCKS; i++) {
		if (cpu->clocks[i].timer == cpu->expired)
			clock = &cpu->clocks[i];
	}
	if (!clock)
		return 0;
	now = bpf_map_lookup_elem(&stacks_now, &zero);
	if (!now)
		return 0;
	at = bpf_ktime_get_ns();
	cpu->idler = bpf_get_current_task();
	stacks_saw(cpu, began, at, 1);
	stacks_next(clock, at);
	if (clock->early) {
		clock->early = 0;
		return 0;
	}
	now->count = 1;
	bytes = bpf_get_stack(ctx, now->frames, sizeof(now->frames), 0);
	key.depth = bytes > 0 ? bytes / sizeof(now->frames[0]) : 0;
	key.stack = stacks_hash(now, key.depth);
	bpf_get_current_comm(key.name, sizeof(key.name));
	stacks_count(now, &key);
	return 0;
}

/*
 * How long the idle task has the CPU, interrupts' work included: from one switch (its arguments
 * are whether the former was preempted, the former, and the next task) to the other. The current
 * task is the former still. Switches between other tasks are passed by: with a look at the clock
 * in each, traffic that wakes its receiver for every packet came to 1 % less.
 */
SEC("raw_tp/sched_switch")
int stacks_switched(struct bpf_raw_tracepoint_args *ctx)
{
	struct stacks_cpu *cpu = stacks_this_cpu();
	__u64 before = ctx->args[1], next = ctx->args[2], began, now;

	if (!cpu)
		return 0;
	began = stacks_began();
	if (!began)
		return 0;
	if (!cpu->idler && !(__u32)bpf_get_current_pid_tgid())
		cpu->idler = before;
	if (cpu->idler && before != cpu->idler && next != cpu->idler)
		return 0;
	now = bpf_ktime_get_ns();
	stacks_saw(cpu, began, now, before == cpu->idler);
	if (!cpu->idler)
		return 0;
	stacks_leaves(cpu, now);
	if (before == cpu->idler) {
		cpu->idled += now;
		cpu->busy = now;
	} else {
		cpu->idled -= now;
	}
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
