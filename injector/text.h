/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code of one object as it was before we patched anything in it, for analyses that look at
 * more than the function in question.
 */
#ifndef SONDE_INJECTOR_TEXT_H
#define SONDE_INJECTOR_TEXT_H

#include "injector/session.h"
#include "trampolines/keep.h"

struct inj_text {
	struct tramp_object code; /* the executable mapping; len 0: there is none */
	uint8_t *bytes;		  /* code.code */
	struct tramp_extent *functions;
};

/* The executable mapping of @object around @addr.  Errors: GONE, SYSTEM, MEMORY. */
enum inj_status inj_text_read(struct inj_session *s, size_t object, uint64_t addr,
			      struct inj_text *text) INJ_CHECK;
void inj_text_free(struct inj_text *text);

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
