/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Loads and stores of packet bytes, and the Internet checksum (RFC 1071). */
#ifndef VR_BYTES_H
#define VR_BYTES_H

#include "vr_types.h"

/* Keeps clang from moving an addition to the other side of a bounds check: the verifier allows no
 * arithmetic on a packet's end. */
#define VR_OPAQUE(p) __asm__ volatile("" : "+r"(p))

/* One load, never two, of a word that the agent may be switching; what it leads to is read after
 * it. The kernel's machines order a load after the load of its address (Documentation/
 * memory-barriers.txt, "address dependency"); compilers for the host are told so. */
#ifdef __bpf__
#define VR_READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#else
#define VR_READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_CONSUME)
#endif

#ifdef __bpf__
/* The verifier knows how packets are aligned; memcpy of an unaligned pointer would become bytes. */
#define VR_ACCESS(bits)                                                                            \
	VR_INLINE uint##bits##_t vr_raw##bits(const uint8_t *p)                                    \
	{                                                                                          \
		return *(const uint##bits##_t *)p;                                                 \
	}                                                                                          \
	VR_INLINE void vr_put_raw##bits(uint8_t *p, uint##bits##_t v)                              \
	{                                                                                          \
		*(uint##bits##_t *)p = v;                                                          \
	}
#else
#define VR_ACCESS(bits)                                                                            \
	VR_INLINE uint##bits##_t vr_raw##bits(const uint8_t *p)                                    \
	{                                                                                          \
		uint##bits##_t v;                                                                  \
		__builtin_memcpy(&v, p, sizeof(v));                                                \
		return v;                                                                          \
	}                                                                                          \
	VR_INLINE void vr_put_raw##bits(uint8_t *p, uint##bits##_t v)                              \
	{                                                                                          \
		__builtin_memcpy(p, &v, sizeof(v));                                                \
	}
#endif
VR_ACCESS(16)
VR_ACCESS(32)
VR_ACCESS(64)
#undef VR_ACCESS

VR_INLINE uint16_t vr_get16(const uint8_t *p)
{
	return __builtin_bswap16(vr_raw16(p));
}

VR_INLINE uint32_t vr_get32(const uint8_t *p)
{
	return __builtin_bswap32(vr_raw32(p));
}

VR_INLINE void vr_put16(uint8_t *p, uint16_t v)
{
	vr_put_raw16(p, __builtin_bswap16(v));
}

VR_INLINE void vr_put32(uint8_t *p, uint32_t v)
{
	vr_put_raw32(p, __builtin_bswap32(v));
}

/* A MAC address as the word of vr_types.h, without VR_MAC_KNOWN. Frames start 2 before a multiple
 * of 4, so the two MACs of a header are aligned differently: 16 bits at a time suits both. */
VR_INLINE uint64_t vr_get_mac(const uint8_t *p)
{
	return (uint64_t)vr_raw16(p) | (uint64_t)vr_raw16(p + 2) << 16 |
	       (uint64_t)vr_raw16(p + 4) << 32;
}

/* The same of a frame's own header, whose alignment is known. */
VR_INLINE uint64_t vr_get_dmac(const uint8_t *frame)
{
	return (uint64_t)vr_raw16(frame) | (uint64_t)vr_raw32(frame + 2) << 16;
}

VR_INLINE uint64_t vr_get_smac(const uint8_t *frame)
{
	return (uint64_t)vr_raw32(frame + 6) | (uint64_t)vr_raw16(frame + 10) << 32;
}

VR_INLINE void vr_put_mac(uint8_t *p, uint64_t mac)
{
	vr_put_raw16(p, (uint16_t)mac);
	vr_put_raw16(p + 2, (uint16_t)(mac >> 16));
	vr_put_raw16(p + 4, (uint16_t)(mac >> 32));
}

VR_INLINE uint64_t vr_mac_bits(uint64_t mac)
{
	return mac & (VR_MAC_KNOWN - 1);
}

/* A sum of 32-bit words, of up to 65,536 of them. Below 2^48, it is at most 0x10000fffe after the
 * first step, 0x1fffe after the second, and 0xffff after the third. */
VR_INLINE uint16_t vr_csum_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* The header checksum when one 16-bit word of it changes: RFC 1624, equation 3. */
VR_INLINE uint16_t vr_csum_replace(uint16_t csum, uint16_t from, uint16_t to)
{
	return (uint16_t)~vr_csum_fold((uint64_t)(uint16_t)~csum + (uint16_t)~from + to);
}

#endif
