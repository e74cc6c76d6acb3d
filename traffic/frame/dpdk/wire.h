/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* frame_wire.h for a host's compiler. */
#ifndef FRAME_DPDK_WIRE_H
#define FRAME_DPDK_WIRE_H

#include <linux/types.h>
#include <stdint.h>
#include <string.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#include <rte_cycles.h>

#include "../frame_outer.h"
#include "../frame_wire.h"

/* ns of the clock by which frames tell when they left. */
static inline uint64_t frame_now(void)
{
	return (uint64_t)((double)rte_rdtsc() * 1e9 / (double)rte_get_tsc_hz());
}

static inline uint16_t frame_get16(const uint8_t *at)
{
	uint16_t v;

	memcpy(&v, at, sizeof(v));
	return __builtin_bswap16(v);
}

static inline uint32_t frame_get32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return __builtin_bswap32(v);
}

static inline uint64_t frame_get64(const uint8_t *at)
{
	return (uint64_t)frame_get32(at) << 32 | frame_get32(at + 4);
}

static inline void frame_put16(uint8_t *at, uint16_t v)
{
	v = __builtin_bswap16(v);
	memcpy(at, &v, sizeof(v));
}

static inline void frame_put32(uint8_t *at, uint32_t v)
{
	v = __builtin_bswap32(v);
	memcpy(at, &v, sizeof(v));
}

static inline void frame_put64(uint8_t *at, uint64_t v)
{
	frame_put32(at, (uint32_t)(v >> 32));
	frame_put32(at + 4, (uint32_t)v);
}

#endif
