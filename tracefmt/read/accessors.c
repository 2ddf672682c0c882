/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an opened trace tells without reading events. */
#include "base/search.h"
#include "tracefmt/read/trace-internal.h"

size_t sonde_trace_bad_ranks(const struct sonde_trace *trace, const char **text)
{
	if (text)
		*text = trace->bad_rank.text;
	return trace->bad_ranks;
}

size_t sonde_trace_ranks(const struct sonde_trace *trace)
{
	return trace->parts.n;
}

const struct sonde_trace_rank *sonde_trace_rank(const struct sonde_trace *trace, size_t index)
{
	const struct tf_part *part = tf_list_get(&trace->parts, index);

	return part ? &part->pub : NULL;
}

size_t sonde_trace_processes(const struct sonde_trace *trace)
{
	return trace->processes.n;
}

const struct sonde_trace_process *sonde_trace_process(const struct sonde_trace *trace,
						      size_t index)
{
	const struct tf_process_in *process = tf_list_get(&trace->processes, index);

	return process ? &process->pub : NULL;
}

size_t sonde_trace_execs(const struct sonde_trace *trace)
{
	return trace->execs.n;
}

const struct sonde_trace_exec *sonde_trace_exec(const struct sonde_trace *trace, size_t index)
{
	const struct tf_exec_in *exec = tf_list_get(&trace->execs, index);

	return exec ? &exec->pub : NULL;
}

size_t sonde_trace_threads(const struct sonde_trace *trace)
{
	return trace->threads.n;
}

const struct sonde_trace_thread *sonde_trace_thread(const struct sonde_trace *trace, size_t index)
{
	const struct tf_thread_in *thread = tf_list_get(&trace->threads, index);

	return thread ? &thread->pub : NULL;
}

size_t sonde_trace_modules(const struct sonde_trace *trace)
{
	return trace->modules.n;
}

const struct sonde_trace_module *sonde_trace_module(const struct sonde_trace *trace, size_t index)
{
	return tf_list_get(&trace->modules, index);
}

/* They are written in this order, object after object; a damaged trace may have them in another, and then some are not found. */
const struct sonde_trace_code *sonde_trace_code(const struct sonde_trace *trace, size_t rank_index, uint64_t address)
{
	const struct tf_part *part = tf_list_get(&trace->parts, rank_index);
	size_t n = part ? part->code.n : 0;
	size_t at = search_first(i, n, ((const struct sonde_trace_code *)part->code.v[i])->address >= address);
	const struct sonde_trace_code *code = at < n ? part->code.v[at] : NULL;

	return code && code->address == address ? code : NULL;
}

size_t sonde_trace_objects(const struct sonde_trace *trace)
{
	return trace->objects.n;
}

const struct sonde_trace_object *sonde_trace_object(const struct sonde_trace *trace, size_t index)
{
	return tf_list_get(&trace->objects, index);
}

size_t sonde_trace_functions(const struct sonde_trace *trace)
{
	return trace->functions.n;
}

const struct sonde_trace_function *sonde_trace_function(const struct sonde_trace *trace,
							size_t index)
{
	return tf_list_get(&trace->functions, index);
}

size_t sonde_trace_counters(const struct sonde_trace *trace)
{
	return trace->counters.n;
}

const struct sonde_trace_counter *sonde_trace_counter(const struct sonde_trace *trace,
						      size_t index)
{
	return tf_list_get(&trace->counters, index);
}

size_t sonde_trace_sites(const struct sonde_trace *trace)
{
	return trace->sites.n;
}

const struct sonde_trace_site *sonde_trace_site(const struct sonde_trace *trace, size_t index)
{
	return tf_list_get(&trace->sites, index);
}

uint64_t sonde_trace_time(const struct sonde_trace *trace, size_t rank_index, uint64_t ticks)
{
	const struct tf_part *part = tf_list_get(&trace->parts, rank_index);

	return part ? tf_part_time(part, ticks) : 0;
}

uint64_t sonde_trace_clock_error(const struct sonde_trace *trace, size_t rank_index, uint64_t ticks)
{
	const struct tf_part *part = tf_list_get(&trace->parts, rank_index);

	return part ? tf_nodes_error(trace, part, ticks) : UINT64_MAX;
}
