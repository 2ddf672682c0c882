/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sonde tags`: rows, and the forms that they are printed in. */
#ifndef SONDE_LAUNCHER_TAGS_TAGS_H
#define SONDE_LAUNCHER_TAGS_TAGS_H

#include "tags/read.h"
#include "tracefmt/buffer.h"

/* An access of an instruction. */
struct tags_row {
	uint64_t addr;		/* of the instruction, in the file */
	const char *function;	/* that the instruction is in: not that of tag->function, where that is part of another */
	const struct tag *tag;	/* NULL: it has none */
	const char *access;	/* "read", "write", "modify" */
	uint64_t size;		/* bytes; 0: not known, or varies */
};

/* Instructions that access memory by an operand, and what they access; those that do by the stack's pointer alone. */
struct tags_sums {
	uint64_t insns, tagged, bytes, tagged_bytes, stack;
};

struct tags_form {
	void (*begin)(const char *path);
	void (*row)(const struct tags_row *row, struct tf_buf *line);
	void (*end)(const struct tags_sums *sums);
};

extern const struct tags_form tags_text, tags_csv, tags_json;

#endif
