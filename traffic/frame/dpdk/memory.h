/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef FRAME_MEMORY_H
#define FRAME_MEMORY_H

/* How many MiB of huge pages of 2 MiB can be had: those that are free, and those that the kernel
 * may make when they are asked for (Documentation/admin-guide/mm/hugetlbpage.rst). */
unsigned long frame_huge_memory(void);

#endif
