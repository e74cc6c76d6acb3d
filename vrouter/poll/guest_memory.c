//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "guest_memory.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_memory.h>

#define LINE 512

enum whose {
	NOBODYS, /* ours, or nothing is there */
	GUESTS,
	REPLACED /* was a guest's: another thread has been here */
};

struct range {
	uintptr_t begin, end;
};

/* A guest's memory is a file that is mapped to be shared and written (vhost-user's SET_MEM_TABLE).
 * So are the packets' buffers, where a switch may have them, and the tables; neither gets shorter.
 */
static enum whose whose(const char *permissions, unsigned long inode, const void *at)
{
	if (!strcmp(permissions, "rw-s") && !rte_mem_virt2memseg_list(at))
		return GUESTS;
	return !strcmp(permissions, "rw-p") && inode == 0 ? REPLACED : NOBODYS;
}

/* What a mapping is, by proc_pid_maps(5). To open a file in a handler is allowed here: what touches
 * a guest's memory holds no lock of the C library's. */
static enum whose find(const void *at, struct range *found)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[LINE], permissions[5];
	unsigned long inode;
	enum whose result = NOBODYS;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %4s %*x %*x:%*x %lu", &found->begin, &found->end,
			   permissions, &inode) != 4 ||
		    (uintptr_t)at < found->begin || (uintptr_t)at >= found->end)
			continue;
		result = whose(permissions, inode, at);
		break;
	}
	if (maps)
		fclose(maps);
	return result;
}

/* The whole mapping is replaced, and not a page of it, so that a guest costs this once: a ring of
 * zeros offers nothing that could be taken. */
static int replace(const struct range *r)
{
	static const char says[] = "vrouter-poll: a VM has cut its memory off; it gets no packets "
				   "until it connects again\n";

	if (mmap((void *)r->begin, r->end - r->begin, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return -1;
	if (write(STDERR_FILENO, says, sizeof(says) - 1) < 0)
		return 0; /* nobody listens, and it goes on */
	return 0;
}

/* What lies behind the end of a file raises SIGBUS in the thread that touches it (mmap(2)). All
 * else ends the process, as it would without this. */
static void cut_off(int number, siginfo_t *info, void *context)
{
	struct range r;
	enum whose it = info->si_code == BUS_ADRERR ? find(info->si_addr, &r) : NOBODYS;

	(void)context;
	if (it == REPLACED || (it == GUESTS && !replace(&r)))
		return;
	signal(number, SIG_DFL);
	raise(number);
}

int poll_guest_memory_guard(void)
{
	struct sigaction action = {.sa_sigaction = cut_off, .sa_flags = SA_SIGINFO};

	return sigaction(SIGBUS, &action, NULL);
}
