/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that reads memory accesses of a trace with libsondetrace: all of them, or those of one thread. Try it:
 *
 *	sonde --mem -o t -- ls
 *	cc -o accesses accesses.c $(pkg-config --cflags --libs sonde-trace)
 *	./accesses t
 */
#include <sonde/trace.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const kinds[] = { "load", "store", "modify", "prefetch" };

static void print(const struct sonde_trace_thread *thread, const struct sonde_trace_accesses *accesses,
		  const struct sonde_trace_access *a)
{
	struct sonde_trace_place p;

	printf("%d.%d %-8s %4" PRIu32 " 0x%" PRIx64 "%s ", thread->pid, thread->tid, kinds[a->kind & 3], a->size, a->address,
	       a->kind & SONDE_TRACE_STACK ? " stack" : "");
	if (!sonde_trace_accesses_place(accesses, a->instruction, &p))
		printf("0x%" PRIx64, a->instruction);
	else if (!p.function)
		printf("%s+0x%" PRIx64, p.path, p.address);
	else
		printf("%s+0x%" PRIx64, p.function, p.address - p.entry);
	if (p.file)
		printf(" %s:%d", p.file, p.line);
	putchar('\n');
}

/* False: something is missing. */
static bool read_thread(const struct sonde_trace *trace, size_t index)
{
	const struct sonde_trace_thread *thread = sonde_trace_thread(trace, index);
	struct sonde_trace_accesses *accesses;
	struct sonde_trace_batch batch;
	enum sonde_trace_status status = sonde_trace_accesses(trace, index, &accesses);
	bool whole = true;

	if (status == SONDE_TRACE_E_NOTRACE)
		return true; /* it has none */
	if (status != SONDE_TRACE_OK) {
		fprintf(stderr, "%d.%d: %s\n", thread->pid, thread->tid, sonde_trace_strstatus(status));
		return false;
	}
	while ((status = sonde_trace_accesses_next(accesses, &batch)) != SONDE_TRACE_END) {
		if (status != SONDE_TRACE_OK) {
			fprintf(stderr, "%d.%d: %s here\n", thread->pid, thread->tid, sonde_trace_strstatus(status));
			whole = false;
		}
		for (size_t i = 0; i < batch.n; i++)
			print(thread, accesses, &batch.v[i]);
	}
	sonde_trace_accesses_free(accesses);
	return whole;
}

int main(int argc, char **argv)
{
	struct sonde_trace_message why;
	struct sonde_trace *trace;
	bool whole = true;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: accesses TRACE [TID]\n");
		return 2;
	}
	if (sonde_trace_open(argv[1], &trace, &why) != SONDE_TRACE_OK) {
		fprintf(stderr, "%s\n", why.text);
		return 2;
	}
	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		if (argc == 2 || sonde_trace_thread(trace, i)->tid == atoi(argv[2]))
			whole &= read_thread(trace, i);
	}
	sonde_trace_close(trace);
	return whole ? 0 : 1;
}
