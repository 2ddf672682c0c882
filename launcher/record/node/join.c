// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/record/node/join.h"

#include <stdlib.h>
#include <string.h>

bool join_check_request(const void *message, size_t bytes, size_t fds, struct join_request *to)
{
	if (bytes != sizeof(*to) || fds != JOIN_FDS)
		return false;
	memcpy(to, message, sizeof(*to));
	return to->magic == JOIN_MAGIC && to->version == JOIN_VERSION && to->rank >= 0 && to->rank < JOIN_MOST_RANKS &&
	       to->ranks >= 0 && to->ranks <= JOIN_MOST_RANKS && to->nargs >= 2 && to->nargs <= JOIN_MOST_ARGS &&
	       to->bytes >= to->nargs && to->bytes <= JOIN_MOST_BYTES;
}

char **join_args(const struct join_request *r, char *text)
{
	char **argv = text[r->bytes - 1] == '\0' ? calloc((size_t)r->nargs + 1, sizeof(*argv)) : NULL;
	const char *end = text + r->bytes;
	uint32_t n = 0;

	if (!argv)
		return NULL;
	for (char *p = text; p < end && n < r->nargs; p += strlen(p) + 1) {
		argv[n++] = p;
		if (n == r->nargs && p + strlen(p) + 1 == end)
			return argv;
	}
	free(argv);
	return NULL;
}

uint32_t join_args_bytes(int argc, char *const *argv)
{
	size_t bytes = 0;

	if (argc < 2 || (unsigned int)argc > JOIN_MOST_ARGS)
		return 0;
	for (int i = 0; i < argc; i++) {
		bytes += strlen(argv[i]) + 1;
		if (bytes > JOIN_MOST_BYTES)
			return 0;
	}
	return (uint32_t)bytes;
}
