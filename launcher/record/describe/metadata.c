// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/common/message.h"
#include "launcher/record/describe/metadata.h"
#include "launcher/record/describe/objects.h"
#include "launcher/record/recorded.h"
#include "launcher/select/near.h"

static void check(struct tf_writer *w, enum sonde_trace_status status)
{
	if (status != SONDE_TRACE_OK)
		msg_error("cannot describe the trace: %s", tf_writer_message(w));
}

static void publish_function(struct inj_session *s, struct tf_writer *w, size_t i)
{
	const struct inj_wrap *wrap = &s->wraps[i];
	char *demangled = inj_demangle(wrap->symbol);
	struct tf_function f = {
		.id = function_id(FUNCTION_WRAPPED, i),
		.name = wrap->symbol,
		.demangled = demangled,
		.path = s->objects[wrap->object].file,
		.address = wrap->file_addr,
	};

	objects_publish(s, w, wrap->object);
	check(w, tf_writer_function(w, &f));
	free(demangled);
}

/* What begins at one place of a module and ends at another is one function. */
static uint32_t own_function(const struct inj_session *s, size_t event)
{
	const struct inj_event *e = &s->events[event];
	size_t first = 0;

	while (s->events[first].wrap >= 0 || s->events[first].module != e->module ||
	       strcmp(s->events[first].function, e->function) != 0)
		first++;
	return function_id(FUNCTION_OWN, first);
}

static void publish_own_function(struct inj_session *s, struct tf_writer *w, size_t event)
{
	const struct inj_event *e = &s->events[event];
	struct tf_function f = {
		.id = own_function(s, event),
		.name = e->function,
		.path = s->modules[e->module].path,
	};

	check(w, tf_writer_function(w, &f));
}

static void publish_event(struct inj_session *s, struct tf_writer *w, size_t i)
{
	const struct inj_event *e = &s->events[i];
	uint32_t function = e->wrap >= 0 ? function_id(FUNCTION_WRAPPED, (size_t)e->wrap) :
					   own_function(s, i);
	struct tf_field fields[TF_MAX_FIELDS];

	for (size_t k = 0; k < e->nfields && k < TF_MAX_FIELDS; k++)
		fields[k] = (struct tf_field){ .name = e->fields[k].name, .type = e->fields[k].type };
	if (e->kind == SONDE_COUNTER) {
		struct tf_counter counter = { .id = e->id,
					      .name = e->name,
					      .function = function,
					      .module = s->modules[e->module].name };

		check(w, tf_writer_counter(w, &counter));
	} else {
		struct tf_event event = { .id = e->id,
					  .kind = (enum sonde_trace_kind)e->kind,
					  .function = function,
					  .module = s->modules[e->module].name,
					  .name = e->name,
					  .fields = fields,
					  .nfields = e->nfields };

		if (e->kind == SONDE_ENTER && e->wrap >= 0) {
			event.depth = s->wraps[e->wrap].keeper_depth;
			event.entry = s->wraps[e->wrap].addr;
		}
		check(w, tf_writer_event(w, &event));
	}
}

static void warn_refused(struct inj_session *s, struct inj_wrap *w)
{
	const char *module = s->modules[w->module].name;

	if (w->flags & SONDE_WRAP_OPTIONAL)
		msg_debug("module %s: %s is not wrapped: %s", module, w->symbol, w->reason);
	else
		msg_warn("module %s: %s is not wrapped: %s", module, w->symbol, w->reason);
}

static void publish_wrap(struct inj_session *s, struct tf_writer *w, size_t i)
{
	struct inj_wrap *wrap = &s->wraps[i];

	if (wrap->reported)
		return;
	if (wrap->state == INJ_WRAP_REFUSED)
		warn_refused(s, wrap);
	if (wrap->state == INJ_WRAP_ACTIVE) {
		publish_function(s, w, i);
		if (wrap->others)
			msg_warn("module %s: the program has %zu functions called %s; only the "
				 "first is wrapped",
				 s->modules[wrap->module].name, wrap->others + 1, wrap->symbol);
	}
	wrap->reported = wrap->state == INJ_WRAP_REFUSED || wrap->state == INJ_WRAP_ACTIVE;
}

static bool can_occur(const struct inj_session *s, const struct inj_event *e)
{
	return e->wrap < 0 || s->wraps[e->wrap].state == INJ_WRAP_ACTIVE;
}

void metadata_publish(struct inj_session *s, struct tf_writer *w, const struct record_options *o)
{
	for (size_t i = 0; i < s->nmodules; i++) {
		struct inj_module *m = &s->modules[i];

		if (!m->active || m->reported)
			continue;
		check(w, tf_writer_module(w, m->name, m->description, m->path));
		m->reported = true;
	}
	for (size_t i = 0; i < s->nwraps; i++)
		publish_wrap(s, w, i);
	for (size_t i = 0; i < s->nevents; i++) {
		if (s->events[i].reported || !can_occur(s, &s->events[i]))
			continue;
		if (s->events[i].wrap < 0)
			publish_own_function(s, w, i);
		publish_event(s, w, i);
		s->events[i].reported = true;
	}
	recorded_publish(s, w, o);
	/* nothing else is written before the first chunk of events, which need not come */
	check(w, tf_writer_flush(w));
}

/* ---- missing ---- */

static void note_near(struct near_names *near, const struct inj_symtab *tab, const char *symbol)
{
	size_t n = 0;
	const struct inj_symbol *v = tab ? inj_symtab_all(tab, &n) : NULL;

	for (size_t i = 0; i < n; i++) {
		struct function_name name = { .symbol = v[i].name };

		near_note(near, symbol, NEAR_WRAP, &name);
		function_name_free(&name);
	}
}

static void warn_missing(struct inj_session *s, const struct inj_wrap *w)
{
	struct near_names near = { 0 };
	char hint[NEAR_MAX_TEXT];

	for (size_t i = 0; i < s->nobjects; i++) {
		struct inj_object *o = &s->objects[i];

		if (!o->is_module)
			note_near(&near, inj_object_symbols(o), w->symbol);
	}
	near_text(&near, hint, sizeof(hint));
	msg_warn("module %s: there is no function %s in the program%s%s",
		 s->modules[w->module].name, w->symbol,
		 s->opt.is_static ? "" : " or its libraries so far", hint);
}

static bool has_symbols(struct inj_session *s)
{
	struct inj_symtab *tab = s->nobjects ? inj_object_symbols(&s->objects[0]) : NULL;
	size_t n = 0;

	if (tab)
		inj_symtab_all(tab, &n);
	return n > 0;
}

/* A module of which nothing is in use: its user would wait for events in vain. */
static void warn_idle(struct inj_session *s, size_t module)
{
	size_t wraps = 0, used = 0, named = 0;

	for (size_t i = 0; i < s->nwraps; i++) {
		if (s->wraps[i].module != module)
			continue;
		wraps++;
		used += s->wraps[i].state == INJ_WRAP_ACTIVE;
		named += !(s->wraps[i].flags & SONDE_WRAP_OPTIONAL);
	}
	/* those that are not optional are reported one by one */
	if (!wraps || used || named)
		return;
	msg_warn("module %s: nothing is recorded: nothing that it wraps (%zu functions) is in the "
		 "program%s%s",
		 s->modules[module].name, wraps, s->opt.is_static ? "" : " or its libraries",
		 s->opt.is_static && !has_symbols(s) ? " (its symbols have been stripped; `sonde signature' "
							   "names what is of static libraries)" : "");
}

static bool named_elsewhere(const struct inj_session *s, const struct inj_module *m)
{
	for (size_t i = 0; i < s->nmodules; i++)
		if (s->modules[i].active && s->modules[i].name && m->name &&
		    strcmp(s->modules[i].name, m->name) == 0)
			return true;
	return false;
}

void metadata_warn_missing(struct inj_session *s)
{
	for (size_t i = 0; i < s->nmodules; i++) {
		struct inj_module *m = &s->modules[i];

		if (m->active)
			warn_idle(s, i);
		if (m->active || named_elsewhere(s, m))
			continue;
		if (m->needs)
			msg_warn("module %s waits for one of these libraries, which the program has "
				 "not loaded: %s",
				 m->name ? m->name : m->path, m->needs);
		else
			msg_warn("module %s could not be loaded into the program", m->path);
	}
	for (size_t i = 0; i < s->nwraps; i++)
		if (s->wraps[i].state == INJ_WRAP_PENDING &&
		    !(s->wraps[i].flags & SONDE_WRAP_OPTIONAL))
			warn_missing(s, &s->wraps[i]);
}
