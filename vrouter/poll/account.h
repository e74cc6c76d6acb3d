/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What is counted of a packet, in all and by vif, when it is known what became of it: received =
 * forwarded + passed + answered + dropped holds at any moment, also where a process is killed.
 * Those of a burst that came from one vif, and left by one, are counted together: a fate may be of
 * many. */
#ifndef POLL_ACCOUNT_H
#define POLL_ACCOUNT_H

#include "image.h"
#include "ports.h"

VR_INLINE void poll_add(struct vr_count *c, const struct poll_fate *f)
{
	c->packets += f->packets;
	c->segments += f->segments;
	c->bytes += f->bytes;
}

/* Counts another one in, of the same way. */
VR_INLINE void poll_add_fate(struct poll_fate *all, const struct poll_fate *one)
{
	all->packets += one->packets;
	all->segments += one->segments;
	all->bytes += one->bytes;
}

VR_INLINE int poll_same_way(const struct poll_fate *a, const struct poll_fate *b)
{
	return a->from == b->from && a->to == b->to && a->answered == b->answered;
}

VR_INLINE void poll_received(struct poll_account *a, const struct poll_fate *f)
{
	if (f->from == POLL_FABRIC) {
		poll_add(&a->totals.received_fabric, f);
		return;
	}
	poll_add(&a->totals.received_vif, f);
	poll_add(&a->vifs[f->from].rx, f);
}

VR_INLINE void poll_passed(struct poll_account *a, const struct poll_fate *f)
{
	poll_received(a, f);
	poll_add(&a->totals.passed, f);
}

/* A loss is the vif's that the packet came from, or else was for. What the host sends is none of
 * the vRouter's packets. */
VR_INLINE void poll_lost(struct poll_account *a, const struct poll_fate *f, uint32_t reason)
{
	if (f->from == POLL_HOST) {
		a->host_lost++;
		return;
	}
	poll_received(a, f);
	poll_add(&a->totals.drops[reason], f);
	if (f->from != POLL_FABRIC)
		poll_add(&a->losses[f->from].from[reason], f);
	else if (f->to != POLL_FABRIC && f->to != POLL_HOST)
		poll_add(&a->losses[f->to].to[reason], f);
}

VR_INLINE void poll_sent(struct poll_account *a, const struct poll_fate *f)
{
	if (f->from == POLL_HOST) {
		a->host_sent += f->packets;
		return;
	}
	if (f->to == POLL_HOST) {
		poll_passed(a, f);
		return;
	}
	poll_received(a, f);
	if (f->answered) {
		poll_add(&a->totals.answered, f);
		poll_add(&a->vifs[f->from].answered, f);
		return;
	}
	poll_add(&a->totals.forwarded, f);
	if (f->from != POLL_FABRIC)
		poll_add(&a->vifs[f->from].forwarded, f);
	if (f->to != POLL_FABRIC)
		poll_add(&a->vifs[f->to].tx, f);
}

#endif
