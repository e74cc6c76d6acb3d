/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Makes right what nearly every packet of a fuzzer would be lost for. */
#ifndef FUZZ_REPAIR_H
#define FUZZ_REPAIR_H

#include <stddef.h>

#include "../vr_parse.h"

/* The checksum of an IPv4 header without options, if one is there. */
static void repair(uint8_t *frame, size_t bytes, size_t at)
{
	uint8_t *ip = frame + at;
	uint64_t sum = 0;

	if (at + VR_IP4_LEN > bytes || ip[0] != 0x45)
		return;
	vr_put16(ip + 10, 0);
	for (int i = 0; i < VR_IP4_LEN; i += 4)
		sum += vr_raw32(ip + i);
	vr_put_raw16(ip + 10, (uint16_t)~vr_csum_fold(sum));
}

#endif
