// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/record/ticker.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "launcher/common/message.h"
#include "launcher/common/progress.h"
#include "launcher/common/units.h"

#define SECOND INT64_C(1000000000)
#define MS INT64_C(1000000)

void ticker_begin(struct ticker *t, int rank)
{
	int64_t now = clock_now_ns();

	*t = (struct ticker){ .on = true, .fd = msg_fd, .rank = rank, .began = now, .next = now + SECOND };
}

bool ticker_is_due(const struct ticker *t)
{
	return t->on && clock_now_ns() >= t->next;
}

int ticker_patience(const struct ticker *t, int ms)
{
	int64_t left = t->next - clock_now_ns();
	int until;

	if (!t->on)
		return ms;
	until = left > 0 ? (int)(left / MS) + 1 : 0;
	return ms < 0 || until < ms ? until : ms;
}

static void write_at_once(const struct ticker *t, const char *text)
{
	struct pollfd p = { .fd = t->fd, .events = POLLOUT };

	if (poll(&p, 1, 0) == 1 && p.revents & POLLOUT)
		(void)!write(t->fd, text, strlen(text));
}

static void make_line(const struct ticker *t, const struct ticker_sums *sums, char *line, size_t size)
{
	char bytes[UNITS_MAX], rank[32] = "", lost[32] = "nothing";

	units_bytes(sums->bytes, bytes);
	if (t->rank >= 0)
		snprintf(rank, sizeof(rank), "rank %d: ", t->rank);
	if (sums->lost)
		snprintf(lost, sizeof(lost), "%" PRIu64, sums->lost);
	snprintf(line, size, "sonde: %srecording for %" PRId64 " s: %" PRIu64 " event%s, %s, %s lost", rank,
		 (clock_now_ns() - t->began) / SECOND, sums->events, sums->events == 1 ? "" : "s", bytes, lost);
}

void ticker_show(struct ticker *t, const struct ticker_sums *sums)
{
	char line[160], text[192];
	struct winsize size = { 0 };

	t->next = clock_now_ns() + SECOND;
	make_line(t, sums, line, sizeof(line));
	if (!isatty(t->fd)) {
		snprintf(text, sizeof(text), "%s\n", line);
		write_at_once(t, text);
		return;
	}
	/* what is wrapped could not be erased */
	if (ioctl(t->fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 && size.ws_col <= strlen(line))
		line[size.ws_col - 1] = '\0';
	snprintf(text, sizeof(text), PROGRESS_ERASE "%s", line);
	write_at_once(t, text);
	t->shown = true;
}

void ticker_hide(struct ticker *t)
{
	if (t->shown)
		write_at_once(t, PROGRESS_ERASE);
	t->shown = false;
}

void ticker_end(struct ticker *t)
{
	ticker_hide(t);
	t->on = false;
}
