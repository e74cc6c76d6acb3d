//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "netdev.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define MOST 512 /* features; Linux 6.18 has fewer than 70 */

static int ask(int socket, const char *interface, void *what)
{
	struct ifreq r = {.ifr_data = what};

	strncpy(r.ifr_name, interface, sizeof(r.ifr_name) - 1);
	return ioctl(socket, SIOCETHTOOL, &r);
}

/* The number of a feature, or -1. */
static int number_of(int socket, const char *interface, const char *name)
{
	struct {
		struct ethtool_sset_info info;
		uint32_t count;
	} size = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_FEATURES}};
	struct ethtool_gstrings *names;
	int found = -1;

	if (ask(socket, interface, &size) || !size.info.sset_mask || size.count > MOST)
		return -1;
	names = calloc(1, sizeof(*names) + (size_t)size.count * ETH_GSTRING_LEN);
	if (!names)
		return -1;
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_FEATURES;
	names->len = size.count;
	if (!ask(socket, interface, names))
		for (uint32_t i = 0; i < size.count; i++)
			if (!strncmp((char *)names->data + (size_t)i * ETH_GSTRING_LEN, name,
				     ETH_GSTRING_LEN))
				found = (int)i;
	free(names);
	return found;
}

int poll_finishes_any(int socket, const char *interface)
{
	int at = number_of(socket, interface, "tx-checksum-ip-generic"), can = 0;
	struct ethtool_gfeatures *f;

	if (at < 0)
		return 0;
	f = calloc(1, sizeof(*f) + MOST / 32 * sizeof(f->features[0]));
	if (!f)
		return 0;
	f->cmd = ETHTOOL_GFEATURES;
	f->size = MOST / 32;
	if (!ask(socket, interface, f)) /* where it is off, the kernel finishes them */
		can = f->features[at / 32].available >> at % 32 & 1;
	free(f);
	return can;
}
