/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the core makes of a flow: model POLICY < lines, where POLICY is a file that holds one
 * policy, and a line is
 *
 *	FAMILY PROTOCOL LOCAL.HI LOCAL.LO REMOTE.HI REMOTE.LO LOCALPORT REMOTEPORT SEED
 *
 * all in hexadecimal digits, seen from the container. The answer is the hash, the source port and
 * the bucket of its packets, and whether the policy lets it begin from within and from outside.
 */
#include <stdio.h>

#include "../vr_flow.h"
#include "../vr_nexthop.h"

int main(int argc, char **argv)
{
	static struct vr_policy policy;
	FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
	unsigned long long lh, ll, rh, rl;
	unsigned int family, protocol, lp, rp, seed;

	if (!f || fread(&policy, sizeof(policy), 1, f) != 1)
		return 2;
	fclose(f);
	while (scanf("%x %x %llx %llx %llx %llx %x %x %x", &family, &protocol, &lh, &ll, &rh, &rl,
		     &lp, &rp, &seed) == 9) {
		struct vr_ip h = {.saddr = {lh, ll},
				  .daddr = {rh, rl},
				  .proto = (uint8_t)protocol,
				  .sport = (uint16_t)lp,
				  .dport = (uint16_t)rp};
		struct vr_flow_key k = {.local = h.saddr,
					.remote = h.daddr,
					.local_port = h.sport,
					.remote_port = h.dport,
					.protocol = h.proto,
					.family = (uint8_t)family};
		uint32_t hash = vr_flow_hash(&h, seed);

		printf("%u %u %u %d %d\n", hash, vr_entropy_port(&h, seed), vr_bucket(hash),
		       vr_policy_allows(&policy, &k, VR_FLOW_OUT),
		       vr_policy_allows(&policy, &k, VR_FLOW_IN));
	}
	return 0;
}
