/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "stand.h"

#include <string.h>

#define BUFFERS 8191

struct stand stand;

static void add_port(uint32_t vif)
{
	struct poll_port *p = &stand.of[vif];

	p->vif = vif;
	p->lanes = &stand.lanes[vif];
	stand.ports.of[vif] = p;
	stand.ports.all[stand.ports.count++] = p;
}

void stand_begin(const struct vr_tables *tables, struct poll_account *account)
{
	stand.buffers = rte_pktmbuf_pool_create("packets", BUFFERS, 0, 0,
						RTE_PKTMBUF_HEADROOM + POLL_FRAME, SOCKET_ID_ANY);
	STAND_CHECK(stand.buffers);
	stand.core.tables = tables;
	stand.core.account = account;
	stand.core.ports = &stand.ports;
	stand.room = UINT32_MAX;
	add_port(POLL_FABRIC);
	for (uint32_t vif = 1; vif < VR_MAX_VIFS; vif++)
		if (vr_mac_bits(tables->vifs[vif].mac))
			add_port(vif);
}

/* All of a packet that leaves lies in its buffers. */
static void keep(uint32_t vif, struct rte_mbuf *m)
{
	const char *why;

	STAND_CHECK(rte_mbuf_check(m, 1, &why) == 0);
	for (const struct rte_mbuf *part = m; part; part = part->next)
		STAND_CHECK(part->data_off + part->data_len <= part->buf_len);
	stand.sent[stand.kept++] = (struct stand_sent){.vif = vif, .m = m};
}

int poll_port_send(const struct poll_port *p, uint32_t core, struct rte_mbuf **mbufs,
		   uint16_t count)
{
	uint16_t n = 0;

	STAND_CHECK(core == 0);
	for (; n < count && stand.room > 0 && stand.kept < STAND_KEPT; n++, stand.room--)
		keep(p->vif, mbufs[n]);
	return n;
}

void stand_forward(uint32_t vif, struct rte_mbuf **mbufs, uint16_t count)
{
	poll_forward(&stand.core, vif, mbufs, count);
	poll_flush_all(&stand.core);
	STAND_CHECK(stand.core.waits == 0);
}

void stand_forget(void)
{
	for (uint32_t i = 0; i < stand.kept; i++)
		rte_pktmbuf_free(stand.sent[i].m);
	stand.kept = 0;
	STAND_CHECK(rte_mempool_avail_count(stand.buffers) == BUFFERS);
}
