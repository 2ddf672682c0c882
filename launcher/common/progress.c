/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/common/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "launcher/common/message.h"

#define SECOND INT64_C(1000000000)
#define ERASE "\r\033[K" /* to the line's end: ECMA-48, EL */

void progress_begin(struct progress *p, const char *what)
{
	*p = (struct progress){ .what = what, .next = clock_now_ns() + SECOND, .on = isatty(STDERR_FILENO) && !msg_quiet };
}

void progress_at(struct progress *p, double share)
{
	char line[128];

	if (!p->on || clock_now_ns() < p->next)
		return;
	p->next = clock_now_ns() + SECOND / 4;
	p->shown = true;
	snprintf(line, sizeof(line), ERASE "sonde: %s: %.0f %%", p->what, 100 * (share < 1 ? share : 1));
	(void)!write(STDERR_FILENO, line, strlen(line));
}

void progress_end(struct progress *p)
{
	if (p->shown)
		(void)!write(STDERR_FILENO, ERASE, strlen(ERASE));
	p->shown = false;
}
