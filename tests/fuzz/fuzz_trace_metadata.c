/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads arbitrary lines as metadata.
 *
 * Input: whether a good first line goes before it (1 byte), the text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracefmt/read/trace-internal.h"

#define FIRST                                                                                     \
	"{\"type\":\"trace\",\"format\":1,\"program\":\"p\",\"args\":[],\"rank\":-1,\"tsc\":1,\"mono\":1," \
	"\"real\":1}\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink;

/* Everything that was accepted can be looked at. */
static void look(struct sonde_trace *t, struct tf_part *part)
{
	sink += strlen(part->pub.program) + strlen(part->pub.host) + strlen(part->pub.version);
	for (size_t i = 0; i < part->pub.nargs; i++)
		sink += strlen(part->pub.args[i]);
	for (size_t i = 0; i < t->functions.n; i++) {
		const struct sonde_trace_function *f = sonde_trace_function(t, i);

		sink += strlen(f->name) + strlen(f->demangled) + strlen(f->path);
	}
	for (size_t i = 0; i < t->objects.n; i++) {
		const struct sonde_trace_object *o = sonde_trace_object(t, i);

		sink += strlen(o->path) + strlen(o->build_id) + o->code;
	}
	for (size_t i = 0; i < t->sites.n; i++) {
		const struct sonde_trace_site *s = sonde_trace_site(t, i);

		sink += strlen(s->function->name) + strlen(s->name);
		sink += s->waits || s->apart ? strlen(s->time_class) : 0;
		for (size_t k = 0; k < s->nfields; k++)
			sink += strlen(s->fields[k].name);
	}
	for (size_t i = 0; i < t->threads.n; i++) {
		const struct sonde_trace_thread *thread = sonde_trace_thread(t, i);

		sink += strlen(thread->comm);
		for (size_t k = 0; k < thread->ncounts; k++)
			sink += strlen(thread->counts[k].counter->name);
	}
	for (size_t i = 0; i < t->processes.n; i++)
		sink += strlen(sonde_trace_process(t, i)->comm);
	for (size_t i = 0; i < t->execs.n; i++) {
		const struct sonde_trace_exec *e = sonde_trace_exec(t, i);

		sink += strlen(e->path) + strlen(e->left_alone);
		for (size_t k = 0; k < e->nargs; k++)
			sink += strlen(e->args[k]);
	}
	tf_timeline_finish(&part->timeline);
	for (unsigned shift = 0; shift < 64; shift++)
		sink += tf_part_time(part, UINT64_C(1) << shift);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sonde_trace *t = calloc(1, sizeof *t);
	struct tf_part *part = tf_arena_alloc(&t->arena, sizeof *part);
	struct sonde_trace_message why;
	bool prefix = size && data[0] & 1;
	size_t n = (prefix ? strlen(FIRST) : 0) + (size ? size - 1 : 0);
	char *text = malloc(n + 1), *at = text;

	if (prefix)
		at = stpcpy(text, FIRST);
	if (size)
		memcpy(at, data + 1, size - 1);
	part->pub.dir = "d";
	part->boot = "";
	if (!tf_list_add(&t->parts, part))
		abort();
	if (!tf_metadata_parse(t, part, text, n, &why))
		look(t, part);
	free(text);
	sonde_trace_close(t);
	return 0;
}
