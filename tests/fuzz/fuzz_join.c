// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What a rank asks of the process that records others (launcher/record/node/join.h), as that may get it.  What is taken for a request is
 * within its bounds, and the arguments are strings one after the other, all of the text and no more.
 *
 * Input: how many descriptors come with it (1 byte), the message, the text of the command line.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/record/node/join.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void args(const struct join_request *r, const uint8_t *data)
{
	char *text = malloc(r->bytes), **argv;

	REQUIRE(text);
	memcpy(text, data, r->bytes);
	argv = join_args(r, text);
	if (argv) {
		char *at = text;

		for (uint32_t i = 0; i < r->nargs; i++) {
			REQUIRE(argv[i] == at);
			at += strlen(at) + 1;
		}
		REQUIRE(at == text + r->bytes && !argv[r->nargs]);
		REQUIRE(join_args_bytes((int)r->nargs, argv) == r->bytes);
	}
	free(argv);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct join_request r;
	size_t head = size - 1 < sizeof(r) ? size - 1 : sizeof(r);

	if (!size)
		return 0;
	if (!join_check_request(data + 1, head, *data, &r))
		return 0;
	REQUIRE(*data == JOIN_FDS && head == sizeof(r) && memcmp(&r, data + 1, sizeof(r)) == 0);
	REQUIRE(r.nargs >= 2 && r.nargs <= r.bytes && r.bytes <= JOIN_MOST_BYTES);
	/* a file that is shorter is not read */
	if (size - 1 - head >= r.bytes)
		args(&r, data + 1 + head);
	return 0;
}
