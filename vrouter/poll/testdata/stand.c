/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vrouter-poll without devices, for a test that wants to see what becomes of each of a million
 * frames. The agent's code starts it as it starts the process, with the same arguments and tables;
 * frames come over a socket that lies beside the program, in its name with ".socket":
 *
 *	test:  how many; of each the vif, how many bytes, and these
 *	stand: of each what became of it (enum outcome), the drop's number, how many frames left;
 *	       of these the vif, how many bytes, and these
 *
 * Numbers have 32 bits and the machine's order. It ends with the test's connection.
 */
#include "stand.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_eal.h>

#include "../image.h"

enum outcome { FORWARDED, ANSWERED, PASSED, DROPPED };

static uint32_t read_number(FILE *f)
{
	uint32_t n;

	STAND_CHECK(fread(&n, sizeof(n), 1, f) == 1);
	return n;
}

static void write_number(FILE *f, uint32_t n)
{
	STAND_CHECK(fwrite(&n, sizeof(n), 1, f) == 1);
}

/* What became of the one packet between two accounts. Just one thing may have. */
static void write_outcome(FILE *f, const struct vr_totals *was, const struct vr_totals *is)
{
	const uint64_t forwarded = is->forwarded.packets - was->forwarded.packets;
	const uint64_t answered = is->answered.packets - was->answered.packets;
	const uint64_t passed = is->passed.packets - was->passed.packets;
	const uint64_t received = is->received_vif.packets + is->received_fabric.packets -
				  was->received_vif.packets - was->received_fabric.packets;
	uint32_t outcome = answered ? ANSWERED : passed ? PASSED : FORWARDED, reason = 0;
	uint64_t fates = forwarded + answered + passed;

	for (uint32_t i = 0; i < VR_DROP_COUNT; i++) {
		if (is->drops[i].packets == was->drops[i].packets)
			continue;
		fates += is->drops[i].packets - was->drops[i].packets;
		outcome = DROPPED;
		reason = i;
	}
	STAND_CHECK(received == 1 && fates == 1);
	write_number(f, outcome);
	write_number(f, reason);
}

static void write_sent(FILE *f)
{
	write_number(f, stand.kept);
	for (uint32_t i = 0; i < stand.kept; i++) {
		const struct rte_mbuf *m = stand.sent[i].m;

		write_number(f, stand.sent[i].vif);
		STAND_CHECK(m->nb_segs == 1); /* as what was received */
		write_number(f, m->data_len);
		STAND_CHECK(fwrite(rte_pktmbuf_mtod(m, void *), 1, m->data_len, f) == m->data_len);
	}
}

static void forward_one(FILE *in, FILE *out)
{
	struct vr_totals *totals = &stand.core.account->totals, was = *totals;
	uint32_t vif = read_number(in), bytes = read_number(in);
	struct rte_mbuf *m = rte_pktmbuf_alloc(stand.buffers);

	STAND_CHECK(m && bytes <= POLL_FRAME && vif < VR_MAX_VIFS && stand.ports.of[vif]);
	STAND_CHECK(fread(rte_pktmbuf_append(m, (uint16_t)bytes), 1, bytes, in) == bytes);
	stand_forward(vif, &m, 1);
	write_outcome(out, &was, totals);
	write_sent(out);
	stand_forget();
}

static void serve(int fd)
{
	FILE *in = fdopen(fd, "rb"), *out = fdopen(dup(fd), "wb");
	uint32_t count;

	STAND_CHECK(in && out);
	while (fread(&count, sizeof(count), 1, in) == 1) {
		while (count--)
			forward_one(in, out);
		STAND_CHECK(fflush(out) == 0);
	}
	fclose(in);
	fclose(out);
}

/* The test's connection, or none once the agent's socket is closed. */
static int await_test(const char *program, int control)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd wait[] = {{.fd = fd, .events = POLLIN}, {.fd = control, .events = POLLIN}};

	snprintf(at.sun_path, sizeof(at.sun_path), "%s.socket", program);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 1)) {
		perror(at.sun_path);
		return -1;
	}
	if (poll(wait, 2, -1) < 1 || !(wait[0].revents & POLLIN))
		return -1;
	return accept(fd, NULL, NULL);
}

int main(int argc, char **argv)
{
	static struct poll_image image;
	int fd;

	if (argc < 4 || poll_image_open(atoi(argv[1]), &image))
		return 1;
	argv[3] = argv[0];
	if (rte_eal_init(argc - 3, argv + 3) < 0)
		return 1;
	fd = await_test(argv[0], atoi(argv[2]));
	if (fd < 0)
		return 1;
	stand_begin(&image.tables, poll_account_of(&image, 0));
	serve(fd);
	rte_eal_cleanup();
	return 0;
}
