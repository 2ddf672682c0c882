/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is known of an ELF file's code, as it lies in a file of the user's cache folder: its facts (facts.h), what one pass over
 * all code has found (trampolines/flow/flow.h), and which functions can wait for their first call.  The file is mapped, and what
 * a run does not need of it is never read.  What is in it may be damaged, or of somebody else's making.
 *
 * It is for one ELF file, by inode, size and times, and with it for the separate debug file and the files of signatures of which
 * names were taken; for one version of what made it, too.  Whatever is not of these is as good as none.
 */
#ifndef SONDE_INJECTOR_FACTS_KEPT_H
#define SONDE_INJECTOR_FACTS_KEPT_H

#include "injector/facts/facts.h"
#include "injector/image/identity.h"

struct inj_kept {
	struct inj_codefacts facts;
	struct inj_identity identity;
	struct tramp_code *code; /* see inj_kept_check() */
	const uint8_t *waits;	 /* by function: control comes to it by its entry only, and that can be patched */
	/* private */
	uint8_t *map;
	size_t len;
	uint8_t *elf;
	size_t elf_len;
	char *name;		/* of the file in the folder; NULL: it is in memory only */
	int checked;
};

struct inj_kept_source {
	const char *path;
	bool debug_file;	/* names are taken from a separate debug file, too */
	const char *cache_dir;	/* NULL: nothing is kept */
	unsigned int threads;	/* that looking at it may take */
};

/*
 * From the folder, or else the file's code is looked at, and what is found put into the folder.  Of several processes that want
 * the same, one does it.  NULL: the file cannot be read, it has no code, or there is no memory.
 */
struct inj_kept *inj_kept_look(const struct inj_kept_source *source);

/* From the folder.  NULL: it is not there, damaged, or of another file. */
struct inj_kept *inj_kept_open(const struct inj_kept_source *source);

/* Is @fd the ELF file, and as it was? */
bool inj_kept_is_of(const struct inj_kept *k, int fd);

/* Stands for the ELF file as it is and for what is known of it. */
uint64_t inj_kept_key(const struct inj_kept *k);

void inj_kept_free(struct inj_kept *k); /* NULL: nothing */

/*
 * May k->code be asked for more than tramp_code_owner() and tramp_code_at()?  False: the file is damaged, and has been taken out
 * of the folder.
 */
bool inj_kept_check(struct inj_kept *k) INJ_CHECK;

/* Nothing is wanted of it for now: what is in memory of both files may go. */
void inj_kept_rest(const struct inj_kept *k);

/* ---- between kept.c and keptmake.c ---- */

/* A part of the file: an array. */
enum inj_kept_part {
	INJ_KEPT_PIECES,
	INJ_KEPT_FNS,
	INJ_KEPT_NAMES,
	INJ_KEPT_WAITS,
	INJ_KEPT_SIGACTION,
	INJ_KEPT_OWNER,
	INJ_KEPT_FIRST, /* those before are looked at when the file is opened, the others when they are needed */
	INJ_KEPT_TEXT = INJ_KEPT_FIRST,
	INJ_KEPT_NORETURN,
	INJ_KEPT_OWN,
	INJ_KEPT_SYNC,
	INJ_KEPT_TAKEN,
	INJ_KEPT_FLOW,	/* and on: enum tramp_code_part, but for OWNER */
	INJ_KEPT_PARTS = INJ_KEPT_FLOW + TRAMP_CODE_PARTS - 1,
};

struct inj_kept_piece {
	uint64_t addr, off, len; /* in memory; in the file */
	uint64_t code;
};

struct inj_kept_name {
	uint32_t at;		/* in TEXT */
	uint32_t flags;		/* enum inj_fn_flags */
};

/* A file as it is now: whatever is written into it, or put in its place, is another one. */
struct inj_kept_stamp {
	uint64_t dev, ino, size, mtime, ctime;
};

struct inj_kept_head {
	uint64_t magic;
	char version[24];	/* of Sonde */
	uint32_t analysis, head_bytes;
	uint64_t signatures;	/* inj_signatures_key() */
	struct inj_kept_stamp maker, file, debug[4]; /* debug: see inj_kept_debug() */
	char link[256];		/* name of the debug file, as the file says */
	struct inj_identity identity;
	uint64_t len;		/* of all */
	uint64_t text_lo, text_hi;
	uint64_t code, uncovered, guessed;
	uint8_t go, no_relocations, large_model, debug_file, pad[4];
	uint64_t off[INJ_KEPT_PARTS], bytes[INJ_KEPT_PARTS];
	uint64_t rest;		/* checksum from off[INJ_KEPT_FIRST] on */
	uint64_t first;		/* of what is before that, this word left out */
};

/* All of it but what depends on the code. */
bool inj_kept_describe(const struct inj_kept_source *source, int fd, struct inj_kept_head *h);

/* Where a debug file is, or could be, by build-id and by h->link. */
void inj_kept_debug(const char *path, struct inj_kept_head *h);

/* Name of the file in the folder; false: there is none. */
bool inj_kept_name(const struct inj_kept_source *source, char *name, size_t size);

uint64_t inj_kept_sum_first(const struct inj_kept_head *h, const uint8_t *map);
uint64_t inj_kept_sum_rest(const struct inj_kept_head *h, const uint8_t *map);

/* Takes @map, of @len bytes, also if it returns NULL. */
struct inj_kept *inj_kept_adopt(const struct inj_kept_source *source, uint8_t *map, size_t len);

#endif
