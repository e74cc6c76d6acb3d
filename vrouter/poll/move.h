/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What is done to a packet in its buffer once it is decided: room is made or taken away in front of
 * it, and vr_build.h writes the bytes. Each gives 0, or -1 if there was no room. */
#ifndef POLL_MOVE_H
#define POLL_MOVE_H

#include <rte_mbuf.h>

#include "../core/vr_verdict.h"
#include "../core/vr_nexthop.h"

/* The headers of a packet that leaves, or of the answer that it becomes. */
int poll_move(struct rte_mbuf *m, const struct vr_vif *vif, const struct vr_verdict *v);

/* A copy of a frame that is for all, for one of them; its tunnel's headers are off. */
int poll_move_copy(struct rte_mbuf *m, const struct vr_nh *nh, const struct vr_push *push);

/* The tunnel's headers off a frame that keeps its own. */
int poll_pop_frame(struct rte_mbuf *m, const struct vr_verdict *v);

#endif
