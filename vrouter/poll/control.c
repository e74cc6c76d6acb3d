//go:build ignore

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ports.h"
#include "rules.h"
#include "trace.h"

#define LINE 512

static const struct {
	const char *word;
	enum poll_kind kind;
} kinds[] = {
    {"af_packet", POLL_PACKET},
    {"af_xdp", POLL_XDP},
    {"vhost-server", POLL_VHOST_SERVER},
    {"vhost-client", POLL_VHOST_CLIENT},
    {"virtio-client", POLL_VIRTIO_CLIENT},
    {"tap", POLL_TAP},
    {"pci", POLL_PCI},
};

static int received = -1; /* a file that came with a request */

static const char *number(const char *word, unsigned long most, uint32_t *out)
{
	char *end;
	unsigned long value;

	if (!word || word[0] < '0' || word[0] > '9')
		return "a number is missing";
	errno = 0;
	value = strtoul(word, &end, 10);
	if (*end || errno || value > most)
		return "a number that is none, or too large";
	*out = (uint32_t)value;
	return NULL;
}

static const char *vif_of(const char *word, uint32_t *vif)
{
	if (word && !strcmp(word, "host")) {
		*vif = POLL_HOST;
		return NULL;
	}
	return number(word, VR_MAX_VIFS - 1, vif);
}

static const char *add(char **rest)
{
	const char *vif = strtok_r(NULL, " ", rest), *kind = strtok_r(NULL, " ", rest),
		   *at = strtok_r(NULL, " ", rest), *mtu = strtok_r(NULL, " ", rest), *bad;
	struct poll_place place = {.at = at, .fd = received};

	bad = vif_of(vif, &place.vif);
	if (bad)
		return bad;
	if (!kind || !at || !mtu || strtok_r(NULL, " ", rest))
		return "add takes a vif, a kind, a place and an MTU";
	bad = number(mtu, UINT16_MAX, &place.mtu);
	if (bad)
		return bad;
	for (size_t i = 0; i < RTE_DIM(kinds); i++) {
		if (strcmp(kind, kinds[i].word))
			continue;
		place.kind = kinds[i].kind;
		return poll_port_add(&place);
	}
	return "a kind of port that there is not";
}

/* The vif that is all that a request is about. */
static const char *only_vif(char **rest, uint32_t *slot)
{
	const char *vif = strtok_r(NULL, " ", rest), *bad;

	bad = vif_of(vif, slot);
	if (!bad && strtok_r(NULL, " ", rest))
		return "remove, link, try and offers take a vif only";
	return bad;
}

static const char *take_away(char **rest)
{
	uint32_t slot;
	const char *bad = only_vif(rest, &slot);

	if (bad)
		return bad;
	poll_rules_forget(slot);
	return poll_port_remove(slot);
}

static const char *link_of(char **rest, const char **says)
{
	uint32_t slot;
	const char *bad = only_vif(rest, &slot);
	int up = 0;

	if (!bad)
		bad = poll_port_link(slot, &up);
	*says = up ? "ok up" : "ok down";
	return bad;
}

static const char *try_frame(char **rest)
{
	uint32_t slot;
	const char *bad = only_vif(rest, &slot);

	if (!bad && slot == POLL_HOST)
		bad = "what the host sends is not decided";
	return bad ? bad : poll_try(slot);
}

static const char *offers(char **rest, const char **says)
{
	uint32_t slot;
	const char *bad = only_vif(rest, &slot);

	return bad ? bad : poll_rules_offers(slot, says);
}

/* What is wrong with a request; if nothing is, the answer is what it says. */
static const char *handle(char *line, const char **says)
{
	char *rest, *word = strtok_r(line, " ", &rest);

	if (word && !strcmp(word, "add"))
		return add(&rest);
	if (word && !strcmp(word, "remove"))
		return take_away(&rest);
	if (word && !strcmp(word, "link"))
		return link_of(&rest, says);
	if (word && !strcmp(word, "try"))
		return try_frame(&rest);
	if (word && !strcmp(word, "offers"))
		return offers(&rest, says);
	if (word && !strcmp(word, "rules"))
		return poll_rules_give(received);
	if (word && !strcmp(word, "count"))
		return poll_rules_count();
	if (word && !strcmp(word, "withdraw"))
		return poll_rules_withdraw();
	return "no such request; there are add, remove, link, try, offers, rules, count and "
	       "withdraw";
}

static int answer(int fd, const char *bad, const char *says)
{
	char text[LINE];
	int length = bad ? snprintf(text, sizeof(text), "error %s\n", bad)
			 : snprintf(text, sizeof(text), "%s\n", says);

	for (int sent = 0; sent < length;) {
		ssize_t n = write(fd, text + sent, (size_t)(length - sent));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		sent += (int)n;
	}
	return 0;
}

static void forget(void)
{
	if (received >= 0)
		close(received);
	received = -1;
}

/* As read; a file that comes with the bytes is kept until the request that they are of is done. */
static ssize_t get(int fd, char *input, size_t room)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec to = {.iov_base = input, .iov_len = room};
	struct msghdr message = {.msg_iov = &to,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int))) {
		forget();
		memcpy(&received, CMSG_DATA(c), sizeof(received));
	}
	return n;
}

/* A line that is too long is answered once, at its end. */
void poll_control_serve(int fd)
{
	char line[LINE], input[LINE];
	const char *says, *bad;
	size_t length = 0;
	int too_long = 0;

	for (;;) {
		ssize_t n = get(fd, input, sizeof(input));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		for (ssize_t i = 0; i < n; i++) {
			if (input[i] != '\n') {
				if (length < LINE - 1)
					line[length++] = input[i];
				else
					too_long = 1;
				continue;
			}
			line[length] = 0;
			says = "ok";
			bad = too_long			? "a line that is too long"
			      : memchr(line, 0, length) ? "a line with a zero byte"
							: handle(line, &says);
			forget();
			if (answer(fd, bad, says))
				return;
			length = 0;
			too_long = 0;
		}
	}
}
