/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde blocks`: a file's blocks, and the forms that they are printed in.
 *
 * A block's id is two numbers of 64 bits: a hash of the file's build-id (without one, of its executable segments), and the block's
 * address in the file.  It is the same on every machine and in every run, and also that of a loop whose head the block is.
 */
#ifndef SONDE_LAUNCHER_BLOCKS_BLOCKS_H
#define SONDE_LAUNCHER_BLOCKS_BLOCKS_H

#include "injector/image/identity.h"
#include "launcher/blocks/blockfacts.h"
#include "launcher/common/lines.h"
#include "launcher/inspect/anatomy.h"
#include "tracefmt/buffer.h"

struct blocks {
	struct anatomy a;
	struct inj_identity id;
	uint64_t hash;		/* of all ids */
	struct lines *lines;	/* NULL: there are none */
	uint32_t fn;		/* the function whose blocks are in a.flow */
	char *name;		/* its name */
	struct tf_buf line;	/* the JSON form's */
};

/* @function prints that of a.flow; false: no memory. */
struct blocks_form {
	void (*begin)(struct blocks *b);
	bool (*function)(struct blocks *b);
};

extern const struct blocks_form blocks_text, blocks_csv, blocks_json;

/* What is known of block @i of a.flow, for all forms. */
struct block_row {
	uint64_t addr;
	uint32_t bytes;
	const char *file;	/* NULL: not known */
	int line;
	uint32_t depth;		/* of loops that it is in */
	uint64_t loop, parent;	/* addresses of the heads of its innermost loop, and of the one around that; 0: there is none */
	bool head;		/* it is a loop's head */
	bool sure;		/* where control goes in its function is known */
	const char *ends;	/* how control leaves it: "call", "branch", ... */
	uint64_t called;	/* the function that is called or jumped to; 0: none, or not known */
	uint64_t to[2];		/* blocks that may follow: the jump's target, the next one; 0: none, or not known */
	struct block_facts facts;
};

/* What ids of a file begin with. */
uint64_t blocks_hash(const char *build_id, uint64_t code);

struct block_row block_row(const struct blocks *b, uint32_t i);

/* Beside TRAMP_CLASSES and BLOCK_KINDS. */
extern const char *const block_classes[], *const block_kinds[];

#endif
