//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vrouter-poll: the vRouter's poll mode on DPDK. vrouter starts it, and hands it the tables and a
 * socket to be asked by:
 *
 *	vrouter-poll IMAGE-FD CONTROL-FD PAUSE PATIENCE HANDS EAL-ARGUMENTS...
 *	vrouter-poll --layout
 *
 * It ends when the socket's other end is closed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>

#include "control.h"
#include "guest_memory.h"
#include "image.h"
#include "lcore.h"
#include "ports.h"
#include "rules.h"

static int usage(void)
{
	fprintf(stderr, "vrouter-poll is started by `vrouter run --mode poll`; by hand, "
			"`vrouter-poll --layout` shows the sizes of its tables\n");
	return 2;
}

static int number(const char *text)
{
	char *end;
	long value = strtol(text, &end, 10);

	return *text && !*end && value >= 0 && value <= 1000000 ? (int)value : -1;
}

static int forward(const struct poll_work *work, int control)
{
	if (poll_ports_begin(work->image->cores)) {
		fprintf(stderr, "vrouter-poll: no memory for packets; EAL's -m is too small\n");
		return 1;
	}
	if (poll_lcores_begin(work))
		return 1;
	poll_control_serve(control);
	poll_lcores_end();
	poll_rules_withdraw();
	poll_ports_end();
	return 0;
}

int main(int argc, char **argv)
{
	static struct poll_image image;
	static struct poll_work work = {.image = &image};
	int fd, control, pause, patience, hands, status;

	if (argc == 2 && !strcmp(argv[1], "--layout")) {
		poll_image_describe();
		return 0;
	}
	if (argc < 6)
		return usage();
	fd = number(argv[1]);
	control = number(argv[2]);
	pause = number(argv[3]);
	patience = number(argv[4]);
	hands = number(argv[5]);
	if (fd < 0 || control < 0 || pause < 0 || patience < 0 || hands < 0)
		return usage();
	signal(SIGPIPE, SIG_IGN); /* a write says so */
	signal(SIGINT, SIG_IGN);  /* a terminal's is for the agent, which closes the socket */
	if (poll_image_open(fd, &image))
		return 1;
	work.pause = (unsigned int)pause;
	work.patience = (unsigned int)patience;
	work.hands = hands;
	argv[5] = argv[0];
	if (rte_eal_init(argc - 5, argv + 5) < 0) {
		fprintf(stderr, "vrouter-poll: DPDK does not start; the lines above say why\n");
		return 1;
	}
	if (poll_guest_memory_guard()) {
		perror("vrouter-poll: guarding against VMs that cut their memory off");
		return 1;
	}
	status = forward(&work, control);
	rte_eal_cleanup();
	return status;
}
