/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/select/traced.h"
#include "launcher/common/message.h"

#include <stdlib.h>

int traced_select(const struct sonde_trace *trace, const struct select_options *o, struct select **out)
{
	static const char *everything[] = { "*" };
	struct select_options all = *o;
	char problem[256];

	*out = NULL;
	if (!o->functions.n && !o->excluded.n)
		return 0;
	all.trace = trace;
	if (!o->functions.n)
		all.functions = (struct opt_list){ everything, 1 };
	*out = select_new(&all, problem, sizeof(problem));
	if (*out)
		return 0;
	msg_error("%s", problem);
	return EXIT_USAGE;
}

bool traced_wants(struct select *sel, const struct sonde_trace_function *f, const char *name)
{
	const char *names[] = { f ? f->name : name, name };
	const struct select_function fn = {
		.addr = f ? f->address : 0, .names = names, .nnames = f && name ? 2 : 1,
	};

	return select_wants_in(sel, f ? f->path : "", &fn);
}

int traced_check(struct select *sel, const char *dir, bool any)
{
	if (!sel)
		return 0;
	if (any) {
		select_warn(sel, true);
		return 0;
	}
	select_say_none(sel, dir);
	return EXIT_USAGE;
}

int traced_functions(const struct sonde_trace *trace, const char *dir, const struct select_options *o,
		     bool **out)
{
	size_t n = sonde_trace_functions(trace);
	bool any = false;
	struct select *sel;
	int status = traced_select(trace, o, &sel);

	*out = NULL;
	if (status || !sel)
		return status;
	*out = calloc(n + 1, sizeof(**out));
	if (*out) {
		for (size_t i = 0; i < n; i++)
			any |= (*out)[i] = traced_wants(sel, sonde_trace_function(trace, i), NULL);
		status = traced_check(sel, dir, any);
	} else {
		msg_error("no memory");
		status = EXIT_USAGE;
	}
	select_free(sel);
	return status;
}
