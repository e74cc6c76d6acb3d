/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a connection may ask for, a line each, and what is answered: "ok" and numbers, or "error"
 * and why not. PORT is an endpoint's name.
 *
 * - sink PORT SESSION FLOWS WORDS IPV6 LENGTH...: counts a session's frames from now on
 *   FLOWS 0: of somebody else's frames, without numbers, which all count for the window
 * - strip PORT OUTER: frames wear this, of the sink
 * - tally PORT: 7 totals for each of the 4 phases, the frames of nobody, and the flows of frames
 *   without numbers, which differ in their source ports
 * - flights PORT: 256 numbers, the window's frames that tell when they left by their time on the
 * way
 * - spread PORT: how the window's frames with numbers are spread over the flows: how many of these
 *   came, the fewest frames of one, the most
 * - source PORT IPV6 ADDRESSES TELLS UDP-PORT FIRST END SIZE: readies a session
 *   TELLS 1: where a rate is kept, frames tell when they left, by this machine's clock
 * - turn PORT SIZE: frames have this size as well, in turn
 * - wear PORT OUTER: frames wear this, of the source, once it has all sizes
 * - rate PORT INTERVAL DEPTH: of a token bucket, in ps
 * - probe PORT COUNT: sends so many frames of the phase probe, if the port takes them in time
 * - release PORT: frames are due from now on
 * - phase PORT PHASE: those that are written from now on have that phase
 * - sent PORT: calls, and sent and refused for each of the 4 phases
 * - lag PORT: 256 numbers, the window's frames by how late they were
 * - halt PORT: no more frames are written
 *
 * SIZE is LENGTH UDP-SUM IP-SUM HEAD. LENGTH is without FCS; those of a sink are as many as its
 * frames have in turn. OUTER is IPV6 UDP IP-SUM BYTES MASK (frame_outer.h). HEAD, BYTES and MASK
 * are in hex.
 *
 * sink, tally, phase and sent answer with the clock first: ns of CLOCK_MONOTONIC on the core, its
 * cycles a second, and those spent on sending, on receiving, and idle. A source or a sink is its
 * connection's, and ends with it.
 */
#ifndef FRAME_REQUEST_H
#define FRAME_REQUEST_H

#include "core.h"

#define FRAME_LINE 4096
#define FRAME_CLIENTS 64

/* Which connection has which part of a port; 0 is nobody. */
struct frame_owners {
	uint32_t source[FRAME_PORTS];
	uint32_t sink[FRAME_PORTS];
};

/* Handles one line, which it cuts up, and writes the answer with its newline; its length. */
int frame_request(struct frame_core *core, struct frame_owners *owners, uint32_t client, char *line,
		  char answer[FRAME_LINE]);

/* Ends what a connection had. */
void frame_request_end(struct frame_core *core, struct frame_owners *owners, uint32_t client);

#endif
