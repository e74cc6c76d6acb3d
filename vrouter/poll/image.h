/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The memory that the agent and the process share: a header, the tables as the core has them, the
 * table of flows, and one account for each core that forwards. The agent makes it (image.go),
 * writes the tables and reads the accounts; the process reads the tables and writes the accounts.
 * Flows are made by packets, and taken out by the agent. It outlives the process, so a new one goes
 * on with all of it.
 */
#ifndef POLL_IMAGE_H
#define POLL_IMAGE_H

#include <stddef.h>

#include "../core/vr_decide.h"
#include "../core/vr_flow.h"

#define POLL_MAGIC 0x67616d692d6c6c6fULL
#define POLL_CORES 64  /* at most */
#define POLL_VERSION 4 /* of this file's records; the tables' is VR_LAYOUT */

/* In the order of config.Table. */
enum poll_table_number {
	POLL_NODE,
	POLL_VIFS,
	POLL_VRFS,
	POLL_NEXTHOPS,
	POLL_GROUPS,
	POLL_LABELS,
	POLL_VNIS,
	POLL_POLICIES,
	POLL_MACS,
	POLL_FLOODS,
	POLL_BLOCKS,
	POLL_HOSTS,
	POLL_TABLES
};

/* What is not the agent's alone: the table of flows (vr_flow_table.h), and traces (trace.h). */
enum poll_shared_number {
	POLL_FLOW_HEAD,
	POLL_FLOW_PAGES,
	POLL_FLOW_COUNTS, /* how many flows each VRF has */
	POLL_TRACING,
	POLL_SHARED
};

/* Where a table is, and the size of its records: both sides must mean the same one. */
struct poll_table {
	uint64_t offset;
	uint64_t bytes;
	uint64_t record;
};

struct poll_header {
	uint64_t magic;
	uint32_t layout;  /* VR_LAYOUT */
	uint32_t version; /* POLL_VERSION */
	uint64_t bytes;	  /* of all */
	uint64_t accounts;
	uint64_t account; /* bytes of one */
	uint32_t account_count;
	uint32_t table_count;
	struct poll_table tables[POLL_TABLES];
	struct poll_table shared[POLL_SHARED];
};
_Static_assert(sizeof(struct poll_header) == 48 + (POLL_TABLES + POLL_SHARED) * 24,
	       "poll_header is shared with Go");

/* What a core does with a packet: where its cycles go. */
enum poll_stage_number {
	POLL_RECEIVE, /* asking the ports, also those that have none */
	POLL_DECIDE,
	POLL_MOVE,
	POLL_SEND,
	POLL_STAGES
};

/* What one core did. Only that core writes it, so it needs no lock and no atomic addition. The
 * agent adds the cores up. */
struct poll_account {
	uint64_t rounds; /* over all ports: every packet of a round is through at its end */
	uint64_t busy;	 /* cycles of rounds that found packets */
	uint64_t idle;	 /* of the others */
	uint64_t hertz;	 /* cycles a second */
	uint64_t bursts; /* that were not empty */
	uint64_t found;	 /* packets that were received */
	uint64_t timed;	 /* of those, the ones in rounds whose stages were timed */
	uint64_t missed; /* packets that came while a socket had no room for them */
	uint64_t stages[POLL_STAGES]; /* cycles of those rounds */
	uint64_t host_sent; /* packets of the host's own that left by the fabric, which is the
			       process's */
	uint64_t host_lost; /* and that did not */
	uint64_t handed;    /* of what was received, to other cores */
	uint64_t reserved_too;
	struct vr_totals totals;
	struct vr_vif_count vifs[VR_MAX_VIFS];
	struct vr_vif_drops losses[VR_MAX_VIFS];
};
_Static_assert(offsetof(struct poll_account, totals) == 128, "poll_account is shared with Go");

/* The flows, and what they are decided by. There is one in a process. */
struct poll_flows {
	struct vr_flow_head *head;
	struct vr_flow_page *pages;
	uint64_t *counts;
	uint32_t page_count;
	uint32_t alone; /* one core forwards, so that nobody else counts in a flow's record */
	const struct vr_policy *policies;
	const struct vr_tables *tables;
};
extern struct poll_flows poll_flows;

/* The time of a core's burst for its flows; 0: nobody has asked yet. */
extern _Thread_local uint64_t poll_flow_time;

struct poll_image {
	struct poll_header *header;
	struct vr_tables tables;
	uint32_t cores;
	uint8_t *accounts; /* one a core, POLL_ACCOUNT_STRIDE bytes apart */
};

/* So far apart that two cores never write to one page, whatever its size. */
#define POLL_PAGE 65536
#define POLL_ACCOUNT_STRIDE ((sizeof(struct poll_account) + POLL_PAGE - 1) / POLL_PAGE * POLL_PAGE)

VR_INLINE struct poll_account *poll_account_of(const struct poll_image *image, uint32_t core)
{
	return (struct poll_account *)(image->accounts + (size_t)core * POLL_ACCOUNT_STRIDE);
}

/* Maps the memory behind a file descriptor, and sets poll_flows and poll_tracing. What does not fit
 * is said on the standard error. The image must stay where it is. */
int poll_image_open(int fd, struct poll_image *image);

/* Prints the sizes that Go must agree with. */
void poll_image_describe(void);

#endif
