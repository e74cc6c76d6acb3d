/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the agent asks for, over a socket that it hands to the process: one line a request, one line
 * an answer, "ok" or "error" and why.
 *
 *	add VIF KIND WHERE MTU    control.c has the kinds; MTU 0 leaves a device its own
 *	remove VIF
 *	link VIF                  "ok up" or "ok down": whether the port's other side is there
 *	try VIF                   what would become of the frame in the shared memory (trace.h)
 *	offers VIF                "ok switch" or "ok alone" if its device takes rules (rules.h)
 *	rules                     gives devices the rules of a file, which comes with the request
 *	count                     reads what devices have counted into that file
 *	withdraw                  does so, and takes the rules from the devices
 *
 * A vif is a number, of which 0 is the fabric, or "host", which is the host beside it. With the
 * requests for a tap and for rules comes an open file (SCM_RIGHTS).
 */
#ifndef POLL_CONTROL_H
#define POLL_CONTROL_H

/* Answers until the other end is closed, which ends the process: there is nothing to forward for.
 */
void poll_control_serve(int fd);

#endif
