/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A trace of up to six programs whose metadata contradict each other: it opens, and each of its programs, and of those left
 * alone, is in the tree of processes once.
 *
 * Input: instructions of 4 bytes: what (1), in which program (1), two pids or the like (1 each).  See put().
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/trace/processtree.h"
#include "tests/fuzz/require.h"

#define PARTS 6
#define FIRST "{\"type\":\"trace\",\"format\":3,\"program\":\"/p%d\",\"args\":[\"p\",\"a b\"],\"rank\":-1,\"tsc\":%d,\"mono\":%d,\"real\":1"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const folder[PARTS] = { "", "/process-1", "/process-2", "/process-1.2", "/process-3", "/process-2.2" };
static char top[256];

static void path_of(char *path, int part, const char *file)
{
	snprintf(path, 300, "%s%s%s", top, folder[part], file);
}

static void clean_up(void)
{
	char path[300];

	for (int i = PARTS; i-- > 0;) {
		path_of(path, i, "/metadata");
		unlink(path);
		path_of(path, i, "");
		rmdir(path);
	}
}

static void make_folder(void)
{
	const char *tmp = getenv("TMPDIR");

	if (*top)
		return;
	snprintf(top, sizeof(top), "%.200s/fuzz-processes-XXXXXX", tmp ? tmp : "/tmp");
	REQUIRE(mkdtemp(top));
	atexit(clean_up);
}

static void put(FILE *out, int part, unsigned int what, unsigned int a, unsigned int b)
{
	unsigned int pid = a % 5, other = b % 5, time = a * 8 + b;

	switch (what % 7) {
	case 0:
		fprintf(out, "{\"type\":\"process\",\"pid\":%u,\"parent\":%u,\"comm\":\"c\",\"tsc\":%u}\n", pid, other, time);
		break;
	case 1:
		fprintf(out, "{\"type\":\"process-end\",\"pid\":%u,\"exit\":%u,\"tsc\":%u}\n", pid, b, time);
		break;
	case 2:
		fprintf(out, "{\"type\":\"exec\",\"pid\":%u,\"tsc\":%u,\"path\":\"/p\",\"number\":%u}\n", pid, time, other);
		break;
	case 3:
		fprintf(out, "{\"type\":\"exec\",\"pid\":%u,\"tsc\":%u,\"args\":[\"x\\n\",\"y\"],\"left-alone\":\"z\"}\n", pid, time);
		break;
	case 4:
		fprintf(out, "{\"type\":\"functions\",\"list\":[[0,16,\"f\",1]]}\n"
			     "{\"type\":\"thread\",\"file\":\"%u.%u.sonde\",\"pid\":%u,\"tid\":%u}\n"
			     "{\"type\":\"calls\",\"file\":\"%u.%u.sonde\",\"list\":[[0,7]]}\n", pid, b, pid, b, pid, b);
		break;
	case 5:
		fprintf(out, "{\"type\":\"end\",\"tsc\":%u,\"mono\":%u,\"real\":9,\"ending\":\"executed\",\"complete\":true}\n",
			time + 900, time + 900);
		break;
	case 6:
		fprintf(out, "{\"type\":\"clock\",\"tsc\":%u,\"mono\":%u}\n", time + 500, time + 500);
		break;
	}
	(void)part;
}

/* Those that no instruction names are not there; the first byte of all says which know their process. */
static void write_parts(const uint8_t *data, size_t size)
{
	char path[300];

	for (int i = 0; i < PARTS; i++) {
		FILE *out = NULL;

		path_of(path, i, "");
		mkdir(path, 0700);
		path_of(path, i, "/metadata");
		unlink(path);
		for (size_t at = 1; at + 4 <= size; at += 4) {
			if (data[at + 1] % PARTS != i)
				continue;
			if (!out) {
				out = fopen(path, "w");
				REQUIRE(out);
				fprintf(out, FIRST, i, 10 * i, 10 * i);
				fprintf(out, data[0] & (1 << i) ? ",\"pid\":%d,\"parent\":%d}\n" : "}\n", data[at + 2] % 5,
					data[at + 3] % 5);
			}
			put(out, i, data[at], data[at + 2], data[at + 3]);
		}
		if (out)
			fclose(out);
		else if (i)
			rmdir(strcat(strcpy(path, top), folder[i]));
	}
}

static void check(const struct sonde_trace *trace, const struct process_tree *tree)
{
	size_t programs = 0, left_alone = 0, expected = 0;

	for (size_t i = 0; i < tree->n; i++) {
		const struct process_entry *e = &tree->v[i];

		programs += e->kind == PROCESS_PROGRAM;
		left_alone += e->kind == PROCESS_LEFT_ALONE;
		/* a child whose own entry is hidden may be deeper by one for each of these */
		REQUIRE(i || e->depth <= sonde_trace_processes(trace) + sonde_trace_threads(trace));
		for (size_t k = 0; k < i; k++)
			REQUIRE(e->kind == PROCESS_LEFT_ALONE || tree->v[k].kind == PROCESS_LEFT_ALONE ||
				e->part != tree->v[k].part || e->pid != tree->v[k].pid);
	}
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++)
		expected += sonde_trace_rank(trace, i)->pid && !sonde_trace_rank(trace, i)->left_out;
	REQUIRE(programs == expected && tree->programs == programs);
	expected = 0;
	for (size_t i = 0; i < sonde_trace_execs(trace); i++)
		expected += !sonde_trace_exec(trace, i)->program && *sonde_trace_exec(trace, i)->left_alone;
	REQUIRE(left_alone == expected);
	REQUIRE(tree->processes <= tree->n);
}

static void look(const struct sonde_trace *trace)
{
	struct process_tree tree;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	REQUIRE(out && process_tree_make(trace, PROCESS_ANY_RANK, &tree));
	check(trace, &tree);
	process_tree_print(&tree, out, 100, 80, false);
	fclose(out);
	free(text);
	process_tree_free(&tree);
}

static bool is_second(const struct sonde_trace_rank *program, int pid, void *arg)
{
	(void)arg;
	return program->number != 1 && pid != 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sonde_trace *trace, *some;

	make_folder();
	write_parts(data, size);
	if (sonde_trace_open(top, &trace, NULL) != SONDE_TRACE_OK)
		return 0;
	look(trace);
	if (sonde_trace_open_some(trace, is_second, NULL, &some, NULL) == SONDE_TRACE_OK) {
		look(some);
		sonde_trace_close(some);
	}
	sonde_trace_close(trace);
	return 0;
}
