/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What becomes of the process when a VM makes the file shorter that its memory is. */
#ifndef POLL_GUEST_MEMORY_H
#define POLL_GUEST_MEMORY_H

/* From then on zeros take the place of memory that a VM has cut off, so that nobody but that VM is
 * hurt. Returns 0, or -1 with errno. */
int poll_guest_memory_guard(void);

#endif
