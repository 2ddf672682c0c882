// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/trace/reading.h"

void reading_begin(struct reading *r, bool prints)
{
	*r = (struct reading){ 0 };
	progress_begin(&r->shown, "reading events");
	if (prints && !progress_prints_to_file())
		r->shown.on = false;
}

void reading_expect(struct reading *r, const struct sonde_trace_thread *thread)
{
	r->all += thread->events;
}

void reading_show(struct reading *r)
{
	progress_at(&r->shown, r->all ? (double)r->done / (double)r->all : 0);
}

void reading_end(struct reading *r)
{
	progress_end(&r->shown);
}
