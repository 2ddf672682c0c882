/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code of one object as it was before we patched anything in it, for analyses that look at
 * more than the function in question.
 */
#ifndef SONDE_INJECTOR_IMAGE_TEXT_H
#define SONDE_INJECTOR_IMAGE_TEXT_H

#include "injector/patch/session.h"
#include "trampolines/wrap/keep.h"

struct inj_text {
	struct tramp_object code; /* the executable mapping, without functions; len 0: none */
	uint8_t *bytes;		  /* code.code */
	bool from_file;		  /* the file's own bytes */
};

/* The executable mapping around @addr.  Errors: GONE, SYSTEM, MEMORY. */
enum inj_status inj_text_read(struct inj_session *s, uint64_t addr, struct inj_text *text) INJ_CHECK;
void inj_text_free(struct inj_text *text);

/* All functions of an object, by symbols and unwind table; free() them.  NULL: no memory. */
struct tramp_extent *inj_text_functions(struct inj_session *s, size_t object, size_t *n);

/*
 * All functions that the unwind table knows, in *@out, which has room for @more beyond them (free()
 * it; NULL: no memory).  Addresses are the program's.  Returns how many.
 */
size_t inj_unwind_functions(struct inj_session *s, const struct inj_object *o, size_t more,
			    struct tramp_extent **out);

/*
 * Size of the function that starts at @addr (in the program), from the unwind table that the ELF file
 * finds by PT_GNU_EH_FRAME; 0: not known.  For functions without a symbol of their own.
 */
uint64_t inj_unwind_size(struct inj_session *s, const struct inj_object *o, uint64_t addr);

#endif
