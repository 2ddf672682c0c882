// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/control/protocol.h"

#include <string.h>

enum control_error control_check_request(const void *message, size_t bytes, struct control_request *to)
{
	if (bytes != sizeof(*to))
		return CONTROL_UNKNOWN;
	memcpy(to, message, sizeof(*to));
	if (to->magic != CONTROL_MAGIC || to->version != CONTROL_VERSION || to->reserved)
		return CONTROL_UNKNOWN;
	return to->verb >= CONTROL_STATUS && to->verb < CONTROL_VERBS ? CONTROL_OK : CONTROL_UNKNOWN;
}

size_t control_answer_bytes(const struct control_answer *answer)
{
	return offsetof(struct control_answer, processes) + answer->nprocesses * sizeof(answer->processes[0]);
}

bool control_check_answer(const void *message, size_t bytes, struct control_answer *to)
{
	if (bytes < offsetof(struct control_answer, processes) || bytes > sizeof(*to))
		return false;
	memset(to, 0, sizeof(*to));
	memcpy(to, message, bytes);
	if (to->magic != CONTROL_MAGIC || to->version != CONTROL_VERSION || to->error >= CONTROL_ERRORS || to->on > CONTROL_IS_ON_IN_SOME ||
	    to->nprocesses > CONTROL_PROCESSES || bytes != control_answer_bytes(to))
		return false;
	for (uint32_t i = 0; i < to->nprocesses; i++)
		if (to->processes[i].pid <= 0 || !memchr(to->processes[i].name, '\0', CONTROL_NAME))
			return false;
	return true;
}

bool control_check_path(const char *text, size_t bytes, char path[static CONTROL_PATH])
{
	if (bytes < 3 || bytes > CONTROL_PATH || text[0] != '/' || text[bytes - 1] != '\n')
		return false;
	for (size_t i = 0; i < bytes - 1; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	memcpy(path, text, bytes - 1);
	path[bytes - 1] = '\0';
	return true;
}
