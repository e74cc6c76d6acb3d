/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What must hold of the bytes that a mover made, whatever the packet was. */
#ifndef FUZZ_BYTES_H
#define FUZZ_BYTES_H

#include "fuzz_decide.h"

/* The Internet checksum's sum (RFC 1071), computed apart from the core's: a byte at a time, and 0
 * for both of its zeros. */
static uint32_t sum_of(const uint8_t *p, size_t bytes)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < bytes; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	return (uint32_t)(sum % 0xffff);
}

/* A header's checksum is right when the sum over it is a zero. */
static void check_ip4(const uint8_t *ip)
{
	CHECK(ip[0] >> 4 == 4);
	CHECK(sum_of(ip, (size_t)(ip[0] & 0xf) * 4) == 0);
}

/* A frame of so many bytes that was in a tunnel: if it was short, zeros follow. */
static void check_padded(const struct packet *p, size_t bytes)
{
	CHECK(p->length == (bytes < VR_FRAME_LEAST ? VR_FRAME_LEAST : bytes));
	for (size_t i = bytes; i < p->length; i++)
		CHECK(p->data[i] == 0);
}

/* An ICMPv6 message's, with the pseudo-header: RFC 8200, section 8.1. */
static uint32_t sum_of_icmp6(const uint8_t *ip, size_t bytes)
{
	return (sum_of(ip + 8, 32) + sum_of(ip + VR_IP6_LEN, bytes) + (uint32_t)bytes +
		VR_PROTO_ICMP6) %
	       0xffff;
}

/* An answer that the vRouter wrote is for the port, as long as it says, and its checksums are
 * right. */
static void check_answer(const struct packet *p, const struct vr_vif *vif,
			 const struct vr_verdict *v)
{
	const uint8_t *ip = p->data + VR_ETH_LEN;

	CHECK(vr_get_mac(p->data) == vr_mac_bits(vif->mac));
	CHECK(vr_get_mac(p->data + 6) == vr_mac_bits(v->vrf->gateway_mac));
	if (v->op != VR_OP_TOO_BIG && v->op != VR_OP_ND)
		return;
	if (v->op == VR_OP_TOO_BIG) /* whom the quoted packet is from is told */
		CHECK(v->version == 6 ? !memcmp(ip + 24, ip + VR_IP6_LEN + VR_ICMP_LEN + 8, 16)
				      : !memcmp(ip + 16, ip + VR_IP4_LEN + VR_ICMP_LEN + 12, 4));
	if (v->version == 6) {
		CHECK(vr_get16(ip + 4) == p->length - VR_ETH_LEN - VR_IP6_LEN);
		CHECK(sum_of_icmp6(ip, p->length - VR_ETH_LEN - VR_IP6_LEN) == 0);
		return;
	}
	CHECK(vr_get16(ip + 2) == p->length - VR_ETH_LEN);
	check_ip4(ip);
	CHECK(sum_of(ip + VR_IP4_LEN, p->length - VR_ETH_LEN - VR_IP4_LEN) == 0);
}

#endif
