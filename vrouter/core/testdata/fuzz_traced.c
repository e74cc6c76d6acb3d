/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The core as the tracing programs have it: see fuzz_decide.h. */
#define VR_TRACING
#define FUZZ_HOST_MAIN host_main_traced
#include "fuzz_decide.h"

static unsigned int taken;

static void vr_step(enum vr_step step, uint64_t a, uint64_t b)
{
	(void)a;
	(void)b;
	CHECK(step > VR_STEP_NONE && step < VR_STEP_COUNT);
	taken++;
}

struct vr_verdict decide_traced(const struct vr_tables *t, const struct vr_vif *vif,
				const struct shown *s, unsigned int *steps)
{
	struct vr_verdict v;

	taken = 0;
	v = decide_shown(t, vif, s);
	*steps = taken;
	return v;
}
