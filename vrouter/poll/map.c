//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "map.h"

#include <stdint.h>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* include/uapi/asm-generic/mman-common.h */
#endif

#define HUGE_PAGE (2UL << 20)

/* Makes one huge page of what lies at an address. The kernel makes them of what is there already,
 * so there has to be something (collapse_file); where it cannot, the pages stay as they are. */
static void collapse(uint8_t *at)
{
	(void)*(volatile uint8_t *)at;
	(void)madvise(at, HUGE_PAGE, MADV_COLLAPSE);
}

/* A huge page lies at a multiple of its size, in memory and in the file. */
void *poll_map(int fd, size_t size)
{
	uint8_t *room = mmap(NULL, size + HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *at = (uint8_t *)(((uintptr_t)room + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));

	if (room == MAP_FAILED)
		return MAP_FAILED;
	at = mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	if (at == MAP_FAILED)
		return MAP_FAILED;
	for (size_t i = 0; i + HUGE_PAGE <= size; i += HUGE_PAGE)
		collapse(at + i);
	return at;
}
