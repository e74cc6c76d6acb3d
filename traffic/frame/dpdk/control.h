/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The socket by which sessions are asked for: lines of text, answered in order (request.h). */
#ifndef FRAME_CONTROL_H
#define FRAME_CONTROL_H

#include "core.h"

/* Makes the Unix socket; its file descriptor, or -1 with errno. */
int frame_control_listen(const char *path);

/* Serves it until the standard input ends. */
void frame_control_serve(struct frame_core *core, int listening);

#endif
