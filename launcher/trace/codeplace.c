/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/trace/codeplace.h"
#include "base/path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void codeplace_text(const struct sonde_trace_code *code, char *text, size_t size)
{
	const char *suffix = strstr(code->function, "._omp_fn.");

	if (*code->file)
		snprintf(text, size, "%s:%d", path_basename(code->file), code->line);
	else if (*code->function)
		snprintf(text, size, "%.*s", suffix ? (int)(suffix - code->function) : 400, code->function);
	else
		snprintf(text, size, "%s+0x%" PRIx64, path_basename(code->path), code->offset);
}

bool codeplace_of(const struct sonde_trace *trace, const struct sonde_trace_event *ev, char *text, size_t size)
{
	for (size_t i = 0; i < ev->nvalues; i++) {
		const struct sonde_trace_value *v = &ev->values[i];
		const struct sonde_trace_code *code = NULL;

		if (v->type == SONDE_TRACE_PTR && strcmp(v->name, "code") == 0)
			code = sonde_trace_code(trace, ev->thread->rank_index, v->u);
		if (!code)
			continue;
		codeplace_text(code, text, size);
		return true;
	}
	return false;
}
