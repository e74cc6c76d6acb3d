/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The cores that forward: run to completion, round after round over the queues that are theirs. */
#ifndef POLL_LCORE_H
#define POLL_LCORE_H

#include "image.h"

/* How each of them works. */
struct poll_work {
	const struct poll_image *image;
	unsigned int pause; /* microseconds between rounds once there is nothing to do; 0: none */
	unsigned int patience; /* microseconds without a packet before the first of them */
	int hands;	       /* what a port's core reads is forwarded by all (hand.h) */
};

/* Starts one on each of EAL's worker cores, of which there must be as many as the image has
 * accounts: 0 or -1, and what is wrong is said on the standard error. */
int poll_lcores_begin(const struct poll_work *work);

/* Has them stop, and waits for them. */
void poll_lcores_end(void);

#endif
