// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/options.h"

#include <string.h>

#define DAY_NS (UINT64_C(86400) * 1000000000)

static bool parse_part(const char **at, const char *name, uint64_t *ns)
{
	size_t len = strlen(name), n;
	char time[32];

	if (strncmp(*at, name, len) != 0)
		return false;
	*at += len;
	n = strcspn(*at, ",");
	if (n == 0 || n >= sizeof(time))
		return false;
	memcpy(time, *at, n);
	time[n] = '\0';
	*at += n;
	return opt_parse_time(time, ns);
}

bool sample_times_parse(const char *text, struct sample_times *t)
{
	return parse_part(&text, "burst:", &t->burst) && parse_part(&text, ",every:", &t->every) &&
	       *text == '\0' && t->burst > 0 && t->burst < t->every && t->every <= DAY_NS;
}
