/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points about the clocks of two nodes go into the metadata, where a reader finds it without reading events. */
#include <stdlib.h>
#include <string.h>

#include "tracefmt/json.h"
#include "tracefmt/write/writer-internal.h"

/* The fields of such a point, and the members of such a line. */
static const struct {
	const char *name;
	enum sonde_trace_type type;
} fields[TF_EXCHANGE_VALUES] = {
	{ "round", SONDE_TRACE_I32 },	{ "rank", SONDE_TRACE_I32 },	 { "sent", SONDE_TRACE_U64 },
	{ "arrived", SONDE_TRACE_U64 }, { "answered", SONDE_TRACE_U64 }, { "returned", SONDE_TRACE_U64 },
};

bool tf_exchange_event(struct tf_sites *s, const struct tf_event *event)
{
	if (event->kind != SONDE_TRACE_POINT || !event->name || strcmp(event->name, "exchange") != 0 ||
	    event->nfields != TF_EXCHANGE_VALUES)
		return false;
	for (size_t i = 0; i < TF_EXCHANGE_VALUES; i++)
		if (event->fields[i].type != fields[i].type || strcmp(event->fields[i].name, fields[i].name) != 0)
			return false;
	if (!s->exchanges)
		s->exchanges = calloc(1, sizeof *s->exchanges);
	return s->exchanges != NULL;
}

void tf_writer_exchanges(struct tf_writer *w)
{
	struct tf_exchanges *x = w->sites.exchanges;

	for (uint32_t i = 0; x && i < x->n; i++) {
		tf_json_begin(&w->line, "exchange");
		for (size_t k = 0; k < TF_EXCHANGE_VALUES; k++) {
			if (fields[k].type == SONDE_TRACE_I32)
				tf_json_int(&w->line, fields[k].name, (int32_t)x->value[i][k]);
			else
				tf_json_uint(&w->line, fields[k].name, x->value[i][k]);
		}
		tf_json_end(&w->line);
		tf_writer_line(w);
	}
	if (x)
		x->n = 0;
}
