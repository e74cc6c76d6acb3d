/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The maximum segment size that a TCP connection begins with: RFC 9293, sections 3.2 and 3.7.1. */
#ifndef VR_MSS_H
#define VR_MSS_H

#include "vr_parse.h"

#define VR_TCP_MAX_LEN 60
#define VR_TCP_CSUM 16 /* where the checksum is in the header */

/* Options looked at. Every stack has the size among the first; what comes later is left alone. */
#define VR_MSS_OPTIONS 10

/* Where in the header at tcp the maximum segment size stands, 0 if it says none. It may stand at an
 * odd place. */
VR_INLINE uint32_t vr_mss_find(const uint8_t *tcp, const uint8_t *end)
{
	uint32_t at = VR_TCP_LEN, header;

	if (tcp + VR_TCP_LEN > end)
		return 0;
	header = (uint32_t)(tcp[12] >> 4) * 4;
	for (int i = 0; i < VR_MSS_OPTIONS && at + 4 <= header; i++) {
		const uint8_t *option = tcp + at;

		VR_OPAQUE(option);
		if (option + 4 > end || option[0] == 0)
			return 0;
		if (option[0] == 2)
			return option[1] == 4 ? at + 2 : 0;
		if (option[0] != 1 && option[1] < 2)
			return 0;
		at += option[0] == 1 ? 1 : option[1];
	}
	return 0;
}

/* A word's part in a checksum depends on whether it begins at an even place (RFC 1071, section 2).
 */
VR_INLINE uint16_t vr_mss_term(uint32_t at, uint16_t raw)
{
	return at & 1 ? __builtin_bswap16(raw) : raw;
}

#endif
