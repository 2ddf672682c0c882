/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: tracefmt_lines DIR
 *
 * Prints a trace of one directory as tracefmt_reader.py does, by the library.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracefmt/include/sonde/trace.h"

static const struct sonde_trace *trace;

static const char *name_of(const struct sonde_trace_thread *thread)
{
	return strrchr(thread->file, '/') + 1;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(name_of(sonde_trace_thread(trace, *(const size_t *)a)),
		      name_of(sonde_trace_thread(trace, *(const size_t *)b)));
}

static void print_hex(const char *s, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		printf("%02x", (unsigned char)s[i]);
}

static void print_value(const struct sonde_trace_value *v)
{
	putchar(' ');
	switch (v->type) {
	case SONDE_TRACE_STR:
		print_hex(v->str, v->u);
		break;
	case SONDE_TRACE_I32:
	case SONDE_TRACE_I64:
		printf("%" PRId64, v->i);
		break;
	case SONDE_TRACE_F64:
	case SONDE_TRACE_PTR:
		printf("%" PRIx64, v->u);
		break;
	default:
		printf("%" PRIu64, v->u);
		break;
	}
}

static void print_event(const struct sonde_trace_event *ev)
{
	static const char *const kind[] = { "", "enter", "leave", "point", "lost" };
	const char *what = ev->flags & SONDE_TRACE_UNWOUND ? "unwound" :
			   ev->flags & SONDE_TRACE_ORPHAN  ? "orphan" :
			   ev->flags & SONDE_TRACE_TAIL	   ? "tail" :
							     kind[ev->kind];

	if (ev->flags & SONDE_TRACE_UNREADABLE) {
		printf("%s damage\n", name_of(ev->thread));
		return;
	}
	printf("%s %" PRIu64 " %" PRIu64 " %s %" PRIu32 " ", name_of(ev->thread), ev->ticks,
	       ev->time, what, ev->depth);
	if (ev->function)
		print_hex(ev->function->demangled, strlen(ev->function->demangled));
	else
		putchar('?');
	printf(" %" PRIu64, ev->entered);
	for (size_t i = 0; i < ev->nvalues; i++)
		print_value(&ev->values[i]);
	if (ev->kind == SONDE_TRACE_LOST)
		printf(" %" PRIu64, ev->lost);
	putchar('\n');
}

static void print_thread(size_t thread)
{
	struct sonde_trace_iter *it;
	const struct sonde_trace_event *ev;

	if (sonde_trace_iterate(trace, thread, &it))
		errx(99, "no memory");
	while (sonde_trace_next(it, &ev) == SONDE_TRACE_OK)
		print_event(ev);
	sonde_trace_iter_free(it);
}

int main(int argc, char **argv)
{
	struct sonde_trace_message why;
	struct sonde_trace *t;
	size_t n, *order;

	if (argc != 2)
		errx(99, "usage: tracefmt_lines DIR");
	if (sonde_trace_open(argv[1], &t, &why))
		errx(2, "%s", why.text);
	trace = t;
	n = sonde_trace_threads(t);
	order = calloc(n + 1, sizeof *order);
	if (!order)
		errx(99, "no memory");
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	qsort(order, n, sizeof *order, by_name);
	for (size_t i = 0; i < n; i++)
		print_thread(order[i]);
	free(order);
	sonde_trace_close(t);
	return 0;
}
