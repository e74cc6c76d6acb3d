/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What is agreed with a VM at a vhost-user socket about checksums and aggregates. */
#ifndef POLL_VHOST_H
#define POLL_VHOST_H

#include "ports.h"

/* Keeps what the port takes as whoever is there has agreed to. The device runs, and somebody may be
 * there already. */
void poll_vhost_begin(struct poll_port *p, const char *path);

/* Ends that, if it was begun. */
void poll_vhost_end(struct poll_port *p);

#endif
