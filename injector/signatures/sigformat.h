/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Layout of a file of signatures; doc/signature-format.md describes it.  All numbers are little-endian.
 *
 *	head | units | functions | names | symbols | index | buckets | references | text
 */
#ifndef SONDE_INJECTOR_SIGNATURES_SIGFORMAT_H
#define SONDE_INJECTOR_SIGNATURES_SIGFORMAT_H

#include <stdint.h>

#define SIG_MAGIC "SONDESIG"
#define SIG_VERSION 1
#define SIG_SUFFIX ".sig"
#define SIG_NONE UINT32_MAX

enum sig_part { SIG_UNITS, SIG_FUNCS, SIG_NAMES, SIG_SYMBOLS, SIG_INDEX, SIG_BUCKETS, SIG_REFS, SIG_TEXT, SIG_PARTS };

#define SIG_BUCKET_BITS 12 /* of keys, the highest; there are 1 << SIG_BUCKET_BITS buckets and an end */
#define SIG_PER_KEY 1024u  /* units with the same key, at most */
#define SIG_MAX_LEN (UINT32_C(1) << 24) /* bytes of a unit */

struct sig_head {
	char magic[8];
	uint32_t version, head_bytes;
	uint64_t len;		 /* of the file */
	uint64_t sum;		 /* XXH3 of all that follows this word */
	uint64_t off[SIG_PARTS]; /* from the start of the file; multiples of 8 */
	uint64_t bytes[SIG_PARTS];
	uint32_t archives;	 /* in TEXT: names of the archives, with ", " between them */
	uint32_t pad;
};

enum sig_unit_flags {
	SIG_UNIT_SHARED = 1, /* of a section group: each object that needs it brings it, and so may other templates alike */
};

/* The functions of one section of one object, which a linker keeps together. */
struct sig_unit {
	uint64_t hash;	     /* XXH3 of its bytes, those that references cover as 0; the seed is len */
	uint32_t len;	     /* bytes, from the first function's start to the last one's end */
	uint32_t fixed;	     /* of them, those that references do not cover */
	uint32_t key;	     /* the higher half of XXH3 of its first `prefix` bytes; without any, of first_len */
	uint32_t first_len;  /* of the first function */
	uint32_t funcs, nfuncs; /* in FUNCS, ascending */
	uint32_t refs, nrefs;	/* byte in REFS where they start; how many */
	uint8_t prefix;	     /* bytes that the key is of: 32, 16, 8, 4; 0: only first_len */
	uint8_t flags;
	uint8_t pad[2];
	uint32_t lead;	     /* its first four bytes; 0 with a shorter prefix */
};

struct sig_func {
	uint32_t at, len;    /* in the unit; len is not 0 */
	uint32_t names, nnames; /* in NAMES: all of this address, the one to show first */
};

enum sig_name_flags { SIG_NAME_GLOBAL = 1, SIG_NAME_WEAK = 2, SIG_NAME_IFUNC = 4 };
struct sig_name {
	uint32_t text;	     /* byte in TEXT */
	uint32_t flags;
};

/* What references refer to: a name that is global, or a local function of the same object. */
struct sig_symbol {
	uint32_t text;	     /* SIG_NONE: a local one */
	uint32_t unit, func; /* where it is defined, func is an index in FUNCS; SIG_NONE: not in this file */
};

/* By key, ascending. */
struct sig_entry {
	uint32_t key, unit;
};

/*
 * A reference covers bytes that a linker may change.  In the file: how many bytes after the one before it ends (ULEB128),
 * how many it covers (1 byte), where in them the word with the value is (1 byte), its kind (1 byte), its symbol plus 1 (ULEB128;
 * 0: none), and, with a symbol, the addend (SLEB128).
 */
enum sig_ref_kind {
	SIG_REF_OPAQUE,	  /* nothing can be read from it */
	SIG_REF_RELATIVE, /* four bytes: symbol + addend - their address */
	SIG_REF_ABSOLUTE, /* four bytes: symbol + addend */
	SIG_REF_GOT,	  /* an instruction that took the address from the GOT, and may take it directly */
	SIG_REF_KINDS,
};

struct sig_ref {
	uint32_t start;	     /* bytes of the unit that it covers: start to start + len */
	uint32_t at;	     /* of the value, in the unit */
	uint32_t symbol;     /* SIG_NONE: none */
	uint8_t len;
	uint8_t kind;	     /* enum sig_ref_kind */
	int64_t addend;
};

#endif
