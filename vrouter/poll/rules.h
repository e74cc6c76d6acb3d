/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Rules by which devices forward, or drop, in the cores' place (rte_flow). The agent makes them
 * (vrouter/offload), writes them into memory that it shares (rules.go), and reads there what became
 * of each, and what its device has counted. They are right for the tables as they are, so the agent
 * has them withdrawn before it changes those.
 *
 * A rule that leads to another port is one of the embedded switch that both ports are of
 * ("transfer"). A port without one may only drop.
 */
#ifndef POLL_RULES_H
#define POLL_RULES_H

#include <stddef.h>
#include <stdint.h>

#define POLL_RULES_MAGIC 0x73656c75722d6c6fULL
#define POLL_RULES_MOST 100000
#define POLL_RULE_ITEMS 12
#define POLL_RULE_FIELD 40   /* the longest header of an item: IPv6's */
#define POLL_RULE_HEADER 128 /* the longest that is pushed, or taken off */
#define POLL_RULE_DROPS UINT32_MAX
#define POLL_RULE_WHY 128

/* In the order of rules.go. */
enum poll_rule_kind {
	POLL_ITEM_INTEGRITY,
	POLL_ITEM_ETH,
	POLL_ITEM_IPV4,
	POLL_ITEM_IPV6,
	POLL_ITEM_TCP,
	POLL_ITEM_UDP,
	POLL_ITEM_ICMP,
	POLL_ITEM_GRE,
	POLL_ITEM_MPLS,
	POLL_ITEM_VXLAN,
	POLL_ITEM_KINDS
};

/* One header: where the mask has ones, it must be spec's. */
struct poll_rule_item {
	uint32_t kind;
	/* Of an integrity, the level, and spec begins with what must have been found right; of
	 * IPv6, 1 if it must not be a fragment. */
	uint32_t extra;
	uint8_t spec[POLL_RULE_FIELD];
	uint8_t mask[POLL_RULE_FIELD];
};

enum poll_rule_state {
	POLL_RULE_NEW,
	POLL_RULE_GIVEN,
	POLL_RULE_REFUSED,
};

struct poll_rule {
	uint32_t from;	  /* the vif that packets come by */
	uint32_t to;	  /* and leave by, or POLL_RULE_DROPS */
	uint32_t items;	  /* that there are */
	uint32_t dec_ttl; /* 1: of the first IP header, before any is pushed or taken off */
	uint32_t decap;	  /* bytes that are taken off, of a header like this */
	uint32_t encap;	  /* bytes that are pushed then */
	struct poll_rule_item item[POLL_RULE_ITEMS];
	uint8_t off[POLL_RULE_HEADER];
	uint8_t on[POLL_RULE_HEADER];
	/* The process writes what follows. */
	uint64_t packets; /* since the rule was given, as the device has counted them */
	uint64_t bytes;	  /* of frames as they came */
	uint32_t state;	  /* enum poll_rule_state */
	uint32_t reserved;
	char why[POLL_RULE_WHY]; /* it was refused */
};
_Static_assert(sizeof(struct poll_rule) == 24 + POLL_RULE_ITEMS * 88 + 2 * 128 + 24 + 128,
	       "poll_rule is shared with Go");

struct poll_rules {
	uint64_t magic;
	uint32_t record; /* bytes of one */
	uint32_t count;
	struct poll_rule all[];
};

/* Each gives 0, or what went wrong. */

/* What a port's device offers: "ok switch", "ok alone" if it has no embedded switch, or an error
 * if it takes no rules at all. */
const char *poll_rules_offers(uint32_t vif, const char **says);

/* Gives the devices all rules of a file, which must be there for as long. A rule that is refused
 * is no error. */
const char *poll_rules_give(int fd);

/* Reads the devices' counters. */
const char *poll_rules_count(void);

/* Reads the counters, and takes the rules from the devices: all, or a vif's. None is an error of
 * the first only if a device keeps one. */
const char *poll_rules_withdraw(void);
void poll_rules_forget(uint32_t vif);

#endif
