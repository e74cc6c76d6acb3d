/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include "control.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "request.h"

struct client {
	int fd; /* 0: the place is free */
	uint32_t number;
	size_t length;
	char line[FRAME_LINE];
};

struct server {
	struct frame_core *core;
	struct frame_owners owners;
	struct client clients[FRAME_CLIENTS];
	uint32_t last; /* client's number */
};

int frame_control_listen(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(at.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(at.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof(at)) && !listen(fd, FRAME_CLIENTS))
		return fd;
	return -1;
}

static void hang_up(struct server *s, struct client *c)
{
	frame_request_end(s->core, &s->owners, c->number);
	close(c->fd);
	c->fd = 0;
}

static void welcome(struct server *s, int listening)
{
	int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	for (uint32_t i = 0; i < FRAME_CLIENTS; i++) {
		struct client *c = &s->clients[i];

		if (c->fd)
			continue;
		c->fd = fd;
		c->number = ++s->last;
		c->length = 0;
		return;
	}
	close(fd); /* one too many */
}

static int answer(struct server *s, struct client *c)
{
	char text[FRAME_LINE];
	int length = frame_request(s->core, &s->owners, c->number, c->line, text);

	for (int sent = 0; sent < length;) {
		ssize_t n = send(c->fd, text + sent, (size_t)(length - sent), MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		sent += (int)n;
	}
	return 0;
}

/* Reads what has come; who sends a line that is too long, or a zero byte, is hung up on. */
static int hear(struct server *s, struct client *c)
{
	ssize_t n = read(c->fd, c->line + c->length, sizeof(c->line) - 1 - c->length);
	char *end;

	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0 || memchr(c->line + c->length, 0, (size_t)n))
		return -1;
	c->length += (size_t)n;
	while ((end = memchr(c->line, '\n', c->length))) {
		size_t used = (size_t)(end - c->line) + 1;

		*end = 0;
		if (answer(s, c))
			return -1;
		c->length -= used;
		memmove(c->line, c->line + used, c->length);
	}
	return c->length == sizeof(c->line) - 1 ? -1 : 0;
}

static int input_ended(void)
{
	char text[256];
	ssize_t n = read(STDIN_FILENO, text, sizeof(text));

	return n == 0 || (n < 0 && errno != EINTR);
}

void frame_control_serve(struct frame_core *core, int listening)
{
	static struct server s;
	struct pollfd all[2 + FRAME_CLIENTS];
	struct client *who[2 + FRAME_CLIENTS];

	s.core = core;
	for (;;) {
		nfds_t count = 2;

		all[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
		all[1] = (struct pollfd){.fd = listening, .events = POLLIN};
		for (uint32_t i = 0; i < FRAME_CLIENTS; i++) {
			if (!s.clients[i].fd)
				continue;
			who[count] = &s.clients[i];
			all[count++] = (struct pollfd){.fd = s.clients[i].fd, .events = POLLIN};
		}
		if (poll(all, count, -1) < 0)
			continue;
		if (all[0].revents && input_ended())
			return;
		for (nfds_t i = 2; i < count; i++)
			if (all[i].revents && hear(&s, who[i]))
				hang_up(&s, who[i]);
		if (all[1].revents)
			welcome(&s, listening);
	}
}
