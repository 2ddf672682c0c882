/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde sharing --pages': pages that threads on other NUMA nodes access than the one that they are on (analysis/sharing/pages.h).  pages.c
 * reads the trace and makes rows, pages-print.c prints them.
 */
#ifndef SONDE_LAUNCHER_SHARING_PAGES_H
#define SONDE_LAUNCHER_SHARING_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/sharing/nodes.h"
#include "analysis/sharing/pages.h"
#include "launcher/memory/memwhere.h"
#include "launcher/trace/pick.h"

struct pages_options {
	struct pick *pick;
	const char *nodes;    /* a file; NULL: this machine's */
	uint64_t page, limit; /* bytes; rows */
	bool no_stack, all, csv, json, mangled;
};

struct pages_place {
	char *function, *file; /* NULL: not known */
	int line;
	uint64_t address; /* in its file */
};

/* Pages that the same instruction touched first, of the same variable, and that the same instruction of another node accesses most. */
struct pages_row {
	int rank, pid;	  /* rank -1: none */
	uint64_t address; /* of the first of them */
	uint64_t pages, unsure, accesses, remote;
	char *variable;	  /* what was touched; NULL: not known */
	uint64_t at;	  /* there */
	uint64_t other_accesses;
	int first_tid, other_tid;  /* the latter 0: there is none of another node */
	uint32_t first_node, other_node;
	uint64_t insn, other_insn; /* in the program */
	struct pages_place first, other;
	uint32_t nodes;	  /* that access them */
	uint64_t first_accesses; /* by threads of the node that they are on */
};

struct pages_thread {
	int rank, pid, tid;
	uint32_t node;
	uint64_t pages, accesses, remote; /* pages that it touched first */
};

struct pages_rows {
	struct pages_row *v;
	size_t n, room;
	struct pages_thread *threads;
	size_t nthreads, room_threads;
	struct sh_nodes nodes;
	const char *nodes_of; /* in words */
	uint64_t page, pages, unsure, accesses, remote;
};

/* 0, or EXIT_USAGE after a message, or 1: some of the trace is damaged. */
int sharing_pages(const struct pages_options *o, const char *dir) __attribute__((warn_unused_result));

void pages_table(const struct pages_rows *rows, uint64_t limit, FILE *out);
void pages_csv(const struct pages_rows *rows, uint64_t limit, FILE *out);
bool pages_json(const struct pages_rows *rows, uint64_t limit, FILE *out) __attribute__((warn_unused_result));

#endif
