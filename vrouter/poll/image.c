//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "flow_table.h"
#include "map.h"
#include "rules.h"
#include "trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct poll_flows poll_flows;
_Thread_local uint64_t poll_flow_time;

struct expected {
	const char *name;
	uint64_t record;
	uint64_t count; /* 0: as many as there are */
};

static const struct expected expected[POLL_TABLES] = {
    [POLL_NODE] = {"node", sizeof(struct vr_node), 1},
    [POLL_VIFS] = {"vifs", sizeof(struct vr_vif), VR_MAX_VIFS},
    [POLL_VRFS] = {"vrfs", sizeof(struct vr_vrf), VR_VRF_SLOTS},
    [POLL_NEXTHOPS] = {"nexthops", sizeof(struct vr_nh), VR_MAX_NHS},
    [POLL_GROUPS] = {"groups", sizeof(struct vr_group), VR_MAX_GROUPS},
    [POLL_LABELS] = {"labels", sizeof(uint64_t), VR_MAX_LABELS},
    [POLL_VNIS] = {"vnis", sizeof(uint64_t), VR_MAX_VNIS},
    [POLL_POLICIES] = {"policies", sizeof(struct vr_policy), VR_MAX_POLICIES},
    [POLL_MACS] = {"macs", sizeof(struct vr_mac), VR_MAX_MACS},
    [POLL_FLOODS] = {"floods", sizeof(struct vr_flood), VR_MAX_FLOODS},
    [POLL_BLOCKS] = {"blocks", sizeof(struct vr_block), 0},
    [POLL_HOSTS] = {"hosts", sizeof(struct vr_hosts), 0},
};

static const struct expected expected_shared[POLL_SHARED] = {
    [POLL_FLOW_HEAD] = {"flow_head", sizeof(struct vr_flow_head), 1},
    [POLL_FLOW_PAGES] = {"flow_pages", sizeof(struct vr_flow_page), 0},
    [POLL_FLOW_COUNTS] = {"flow_counts", sizeof(uint64_t), VR_VRF_SLOTS},
    [POLL_TRACING] = {"tracing", sizeof(struct poll_tracing), 1},
};

static void describe(const char *name, const struct expected *tables, int count)
{
	printf(",\"%s\":[", name);
	for (int i = 0; i < count; i++)
		printf("%s{\"name\":\"%s\",\"record\":%" PRIu64 ",\"count\":%" PRIu64 "}",
		       i ? "," : "", tables[i].name, tables[i].record, tables[i].count);
	printf("]");
}

void poll_image_describe(void)
{
	printf("{\"layout\":%d,\"version\":%d,\"header\":%zu,\"account\":%zu,\"totals\":%zu,"
	       "\"vifs\":%zu,\"losses\":%zu,\"cores\":%d,\"stride\":%zu",
	       VR_LAYOUT, POLL_VERSION, sizeof(struct poll_header), sizeof(struct poll_account),
	       offsetof(struct poll_account, totals), offsetof(struct poll_account, vifs),
	       offsetof(struct poll_account, losses), POLL_CORES, POLL_ACCOUNT_STRIDE);
	describe("tables", expected, POLL_TABLES);
	describe("shared", expected_shared, POLL_SHARED);
	printf(",\"rule\":%zu,\"counted\":%zu,\"why\":%zu", sizeof(struct poll_rule),
	       offsetof(struct poll_rule, packets), offsetof(struct poll_rule, why));
	printf("}\n");
}

static int refuse(const char *what, uint64_t got, uint64_t want)
{
	fprintf(stderr,
		"vrouter-poll: the tables' %s is %" PRIu64 ", not %" PRIu64
		"; vrouter and vrouter-poll must be of the same build\n",
		what, got, want);
	return -1;
}

static int within(const struct poll_header *h, uint64_t offset, uint64_t bytes)
{
	return offset % 64 == 0 && offset <= h->bytes && bytes <= h->bytes - offset;
}

static int check_table(const struct poll_header *h, const struct poll_table *t,
		       const struct expected *e)
{
	uint64_t most = UINT32_MAX / 2; /* what a route's word has room for */

	if (t->record != e->record)
		return refuse(e->name, t->record, e->record);
	if (!within(h, t->offset, t->bytes) || t->bytes / t->record > most)
		return refuse(e->name, t->offset, 0);
	if (t->bytes / t->record < e->count)
		return refuse(e->name, t->bytes / t->record, e->count);
	return 0;
}

static int check(const struct poll_header *h, uint64_t size)
{
	if (h->magic != POLL_MAGIC)
		return refuse("mark", h->magic, POLL_MAGIC);
	if (h->layout != VR_LAYOUT)
		return refuse("layout", h->layout, VR_LAYOUT);
	if (h->version != POLL_VERSION)
		return refuse("version", h->version, POLL_VERSION);
	if (h->bytes != size)
		return refuse("length", h->bytes, size);
	if (h->table_count != POLL_TABLES)
		return refuse("number", h->table_count, POLL_TABLES);
	if (h->account != sizeof(struct poll_account))
		return refuse("account size", h->account, sizeof(struct poll_account));
	if (h->account_count < 1 || h->account_count > POLL_CORES)
		return refuse("number of accounts", h->account_count, 1);
	if (!within(h, h->accounts, h->account_count * POLL_ACCOUNT_STRIDE))
		return refuse("account offset", h->accounts, 0);
	for (int i = 0; i < POLL_TABLES; i++)
		if (check_table(h, &h->tables[i], &expected[i]))
			return -1;
	for (int i = 0; i < POLL_SHARED; i++)
		if (check_table(h, &h->shared[i], &expected_shared[i]))
			return -1;
	return 0;
}

static void open_shared(const struct poll_image *image, uint8_t *at)
{
	const struct poll_table *shared = image->header->shared;

	poll_flows = (struct poll_flows){
	    .head = (void *)(at + shared[POLL_FLOW_HEAD].offset),
	    .pages = (void *)(at + shared[POLL_FLOW_PAGES].offset),
	    .counts = (void *)(at + shared[POLL_FLOW_COUNTS].offset),
	    .alone = image->cores == 1,
	    .page_count = (uint32_t)(shared[POLL_FLOW_PAGES].bytes / sizeof(struct vr_flow_page)),
	    .policies = (void *)(at + image->header->tables[POLL_POLICIES].offset),
	    .tables = &image->tables,
	};
	poll_tracing = (void *)(at + shared[POLL_TRACING].offset);
}

int poll_image_open(int fd, struct poll_image *image)
{
	struct stat st;
	uint8_t *at;

	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(struct poll_header)) {
		fprintf(stderr,
			"vrouter-poll: file descriptor %d holds no tables; vrouter starts "
			"this program itself\n",
			fd);
		return -1;
	}
	at = poll_map(fd, (size_t)st.st_size);
	if (at == MAP_FAILED) {
		perror("vrouter-poll: mapping the tables");
		return -1;
	}
	image->header = (struct poll_header *)at;
	if (check(image->header, (uint64_t)st.st_size))
		return -1;
#define AT(number) ((const void *)(at + image->header->tables[number].offset))
	image->tables = (struct vr_tables){
	    .node = AT(POLL_NODE),
	    .vifs = AT(POLL_VIFS),
	    .vrfs = AT(POLL_VRFS),
	    .nhs = AT(POLL_NEXTHOPS),
	    .groups = AT(POLL_GROUPS),
	    .labels = AT(POLL_LABELS),
	    .vnis = AT(POLL_VNIS),
	    .macs = AT(POLL_MACS),
	    .floods = AT(POLL_FLOODS),
	    .blocks = AT(POLL_BLOCKS),
	    .hosts = AT(POLL_HOSTS),
	    .host_count =
		(uint32_t)(image->header->tables[POLL_HOSTS].bytes / sizeof(struct vr_hosts)),
	    .block_count =
		(uint32_t)(image->header->tables[POLL_BLOCKS].bytes / sizeof(struct vr_block)),
	};
#undef AT
	image->cores = image->header->account_count;
	image->accounts = at + image->header->accounts;
	open_shared(image, at);
	return 0;
}
