// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Messages of the control socket, as either side may get them.  What is taken for one is what would have been sent for it, and
 * its strings have an end.
 *
 * Input: what it is (1 byte), the message, or the text of the file `control`.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/control/protocol.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void request(const uint8_t *data, size_t size)
{
	struct control_request r;

	if (control_check_request(data, size, &r) != CONTROL_OK)
		return;
	REQUIRE(size == sizeof(r) && memcmp(data, &r, size) == 0);
	REQUIRE(r.verb > 0 && r.verb < CONTROL_VERBS);
}

static void answer(const uint8_t *data, size_t size)
{
	struct control_answer a;

	if (!control_check_answer(data, size, &a))
		return;
	REQUIRE(size == control_answer_bytes(&a) && memcmp(data, &a, size) == 0);
	REQUIRE(a.nprocesses <= CONTROL_PROCESSES && a.error < CONTROL_ERRORS);
	for (uint32_t i = 0; i < a.nprocesses; i++)
		REQUIRE(a.processes[i].pid > 0 && strlen(a.processes[i].name) < CONTROL_NAME);
}

static void path(const uint8_t *data, size_t size)
{
	char p[CONTROL_PATH];

	if (!control_check_path((const char *)data, size, p))
		return;
	REQUIRE(*p == '/' && strlen(p) == size - 1 && memcmp(p, data, size - 1) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (*data % 3) {
	case 0:
		request(data + 1, size - 1);
		break;
	case 1:
		answer(data + 1, size - 1);
		break;
	default:
		path(data + 1, size - 1);
	}
	return 0;
}
