/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The decision: what becomes of a packet. Pure: it reads the packet and the tables, and writes the
 * verdict. What a packet is made of afterwards is vr_build.h, how it moves is the mover's.
 */
#ifndef VR_DECIDE_H
#define VR_DECIDE_H

#include "vr_bridge.h"
#include "vr_decide_fabric.h"
#include "vr_decide_vif.h"

#endif
