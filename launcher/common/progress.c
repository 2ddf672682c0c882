/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/common/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "launcher/common/message.h"

#define SECOND INT64_C(1000000000)

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
	snprintf(line, sizeof(line), PROGRESS_ERASE "sonde: %s: %.0f %%", p->what, 100 * (share < 1 ? share : 1));
	(void)!write(STDERR_FILENO, line, strlen(line));
}

bool progress_prints_to_file(void)
{
	struct stat st;

	return fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		(void)!write(STDERR_FILENO, PROGRESS_ERASE, strlen(PROGRESS_ERASE));
	p->shown = false;
}
