/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * frame-poll: sends and counts raw frames for the load "frame" at ports of DPDK, on one core for
 * all ports.
 *
 *	frame-poll [--shares | --sleeps] [--no-huge] SOCKET CPU NAME=MAC,PLACE...
 *
 * Each port is a virtio-user device at the vhost-user socket PLACE, where a data plane listens, or
 * the NIC of which PLACE is the PCI address, and which vfio-pci has. What
 * is to be sent and counted is asked for at SOCKET (request.h). It says on its standard output that
 * it is ready, in JSON, and ends when its standard input does. Nothing of it is in files but that
 * socket: its memory is anonymous, huge pages too.
 */
#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "control.h"
#include "core.h"
#include "memory.h"

#define MAIN_LCORE 0
#define HOT_LCORE 1
#define CPUS_MOST 1024

/* A list of PCI devices that has none: DPDK would take what it can get, and ports name theirs. No
 * bus has this number. */
#define NO_PCI "ffff:ff:1f.7"

struct arguments {
	int shares;
	int sleeps;
	int plain_pages;
	const char *socket;
	unsigned int cpu;
	char **ports;
	unsigned int count;
};

static int usage(void)
{
	fprintf(stderr,
		"usage: frame-poll [--shares | --sleeps] [--no-huge] SOCKET CPU NAME=MAC,PLACE...\n"
		"windtunnel starts it, for the load frame at vhost-user sockets; a PLACE "
		"may be a PCI address, too\n");
	return 2;
}

static int parse(struct arguments *a, int argc, char **argv)
{
	int i = 1;
	char *end;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--shares"))
			a->shares = 1;
		else if (!strcmp(argv[i], "--sleeps"))
			a->sleeps = 1;
		else if (!strcmp(argv[i], "--no-huge"))
			a->plain_pages = 1;
		else
			return -1;
	}
	if (argc - i < 3 || argc - i - 2 > FRAME_PORTS || !isdigit((unsigned char)argv[i + 1][0]))
		return -1;
	a->socket = argv[i];
	a->cpu = (unsigned int)strtoul(argv[i + 1], &end, 10);
	a->ports = argv + i + 2;
	a->count = (unsigned int)(argc - i - 2);
	return *end || a->cpu >= CPUS_MOST ? -1 : 0;
}

/* Writes which CPUs this process may use: 0,1. */
static void own_cpus(char *text, size_t size)
{
	cpu_set_t set;
	size_t used = 0;

	text[0] = '0';
	text[1] = 0;
	if (sched_getaffinity(0, sizeof(set), &set))
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE && used < size; cpu++)
		if (CPU_ISSET(cpu, &set))
			used += (size_t)snprintf(text + used, size - used, "%s%d", used ? "," : "",
						 cpu);
}

/* EAL keeps nothing in files: of huge pages it makes one anonymous file, as virtio-user has to
 * share them (--in-memory, --single-file-segments), and of others as well
 * (eal_legacy_hugepage_init). The main thread sleeps most of the time, where it may. */
static int begin(const struct arguments *a)
{
	char memory[16], mine[4096], cores[sizeof(mine) + 64];
	char *args[] = {"frame-poll",
			"-a",
			NO_PCI,
			"--no-telemetry",
			"--log-level=5",
			"--iova-mode=va",
			"-m",
			memory,
			"--lcores",
			cores,
			a->plain_pages ? "--no-huge" : "--in-memory",
			a->plain_pages ? "--no-shconf" : "--single-file-segments",
			NULL};

	setenv("RUNTIME_DIRECTORY", "/dev/null",
	       1); /* else EAL makes a folder that it does not use */
	snprintf(memory, sizeof(memory), "%u", frame_ports_memory(a->count));
	own_cpus(mine, sizeof(mine));
	snprintf(cores, sizeof(cores), "%d@(%s),%d@%u", MAIN_LCORE, mine, HOT_LCORE, a->cpu);
	return rte_eal_init((int)(sizeof(args) / sizeof(args[0])) - 1, args);
}

/* EAL starts once in a process only, so where huge pages were promised and not given, another
 * begins. */
static int again(int argc, char **argv)
{
	char **all = calloc((size_t)argc + 2, sizeof(*all));

	if (!all)
		return 1;
	all[0] = argv[0];
	all[1] = "--no-huge";
	memcpy(all + 2, argv + 1, sizeof(*all) * (size_t)(argc - 1));
	execv("/proc/self/exe", all);
	perror("frame-poll: starting without huge pages");
	return 1;
}

static int open_ports(struct frame_core *core, const struct arguments *a)
{
	for (unsigned int i = 0; i < a->count; i++) {
		const char *bad = frame_port_open(&core->ports[i], i, a->ports[i]);

		if (bad) {
			fprintf(stderr, "frame-poll: port %s: %s\n", a->ports[i], bad);
			return -1;
		}
		core->count++;
	}
	return 0;
}

static int serve(struct frame_core *core, const struct arguments *a)
{
	int listening = frame_control_listen(a->socket);

	if (listening < 0) {
		fprintf(stderr, "frame-poll: the socket %s: %s\n", a->socket, strerror(errno));
		return 1;
	}
	if (rte_eal_remote_launch(frame_core_run, core, HOT_LCORE)) {
		fprintf(stderr, "frame-poll: CPU %u cannot be used\n", a->cpu);
		return 1;
	}
	printf("{\"ready\":true,\"huge_pages\":%s}\n", a->plain_pages ? "false" : "true");
	fflush(stdout);
	frame_control_serve(core, listening);
	__atomic_store_n(&core->stop, 1, __ATOMIC_RELEASE);
	rte_eal_wait_lcore(HOT_LCORE);
	unlink(a->socket);
	return 0;
}

int main(int argc, char **argv)
{
	static struct frame_core core;
	struct arguments a = {0};
	int status = 1;

	if (parse(&a, argc, argv))
		return usage();
	core.shares = a.shares;
	core.sleeps = a.sleeps;
	if (frame_huge_memory() < frame_ports_memory(a.count))
		a.plain_pages = 1;
	if (begin(&a) < 0) {
		if (!a.plain_pages)
			return again(argc, argv);
		fprintf(stderr, "frame-poll: DPDK does not start; the lines above say why\n");
		return 1;
	}
	if (!open_ports(&core, &a))
		status = serve(&core, &a);
	for (uint32_t i = 0; i < core.count; i++)
		frame_port_close(&core.ports[i]);
	rte_eal_cleanup();
	return status;
}
