//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The programs of the fast path, apart from those of tc: they are loaded only where an interface
 * takes it.
 */
#define VR_FABRIC_XDP_FUNCTIONS /* not the program */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "vr_fast.h"

SEC("xdp")
int vr_fast_vif(struct xdp_md *ctx)
{
	return vr_fast_on_vif(ctx);
}

SEC("xdp")
int vr_fast_fabric(struct xdp_md *ctx)
{
	return vr_fast_on_fabric(ctx);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
