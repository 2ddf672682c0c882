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
	const int64_t now = clock_now_ns();

	*p = (struct progress){ .what = what, .began = now, .next = now + SECOND, .on = isatty(STDERR_FILENO) && !msg_quiet };
}

#define LEFT_MAX 32

static void time_left(const struct progress *p, double share, int64_t now, char text[static LEFT_MAX])
{
	const double seconds = (double)(now - p->began) / (double)SECOND * (1 - share) / share;

	if (seconds < 120)
		snprintf(text, LEFT_MAX, ", %.0f s left", seconds);
	else
		snprintf(text, LEFT_MAX, ", %.0f min left", seconds < 1e9 ? seconds / 60 : 1e9 / 60);
}

void progress_at(struct progress *p, double share)
{
	const int64_t now = p->on ? clock_now_ns() : 0;
	char line[128], left[LEFT_MAX] = "";

	if (!p->on || now < p->next)
		return;
	p->next = now + SECOND / 4;
	p->shown = true;
	share = share < 1 ? share : 1;
	if (share > 0)
		time_left(p, share, now, left);
	snprintf(line, sizeof(line), PROGRESS_ERASE "sonde: %s: %.0f %%%s", p->what, 100 * share, left);
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
