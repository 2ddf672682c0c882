/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compiled descriptions as another process has them: the compiler has descriptions of its own, and writes the code at another
 * address than it is run at; what runs it only asks (memtrace/shared.h).
 */
#ifndef SONDE_TESTS_UNIT_MEMTRACE_MEMCOMPILE_SERVED_H
#define SONDE_TESTS_UNIT_MEMTRACE_MEMCOMPILE_SERVED_H

#include "memtrace/compile.h"
#include "memtrace/shared.h"

struct served {
	struct mt_runner runner;
	struct mt_code *code;		/* the compiler's */
	struct mt_server *server;
	uint8_t *written;		/* all of it, as the compiler sees it */
	const struct mt_head *head;	/* as those who run it do */
	void *run;
	struct mt_asks *asks;
	bool counts;
};

/*
 * @reader's machines run what is compiled from @code, which has the same objects, for one of two ways.  Nodes are asked for
 * when they have been interpreted once.
 */
struct served *served_begin(struct mt_code *reader, struct mt_code *code, bool counts);
/* @code has more objects. */
void served_objects(struct served *s);
/* Frees what belongs to it, and @code; the reader's code is freed before. */
void served_end(struct served *s);

#endif
