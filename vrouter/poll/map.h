/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The shared tables' way into this process's memory. */
#ifndef POLL_MAP_H
#define POLL_MAP_H

#include <stddef.h>

/*
 * Maps a file to be read and written, in huge pages if the kernel can give them (Linux 6.1): a
 * packet that meets a route or a flow of its own waits for memory, and with pages of 4 KiB for
 * their table as well. MAP_FAILED, with errno.
 */
void *poll_map(int fd, size_t size);

#endif
