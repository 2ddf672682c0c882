/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The unwind table .eh_frame (Linux Standard Base, 10.6.1; DWARF 5, 6.4) and the header by which it is found
 * (10.6.2): which code each entry is for, where its exception table is, and whether it starts as a function that was
 * just called does.  Nothing in the table is trusted.
 */
#ifndef SONDE_INJECTOR_IMAGE_EHFRAME_H
#define SONDE_INJECTOR_IMAGE_EHFRAME_H

#include "injector/image/cursor.h"

/* An entry for some code. */
struct inj_fde {
	uint64_t addr, size;	/* size 0: damaged */
	uint64_t lsda;		/* link-time address, 0: none */
	uint32_t flags;		/* enum inj_fde_flags */
};
enum inj_fde_flags {
	INJ_FDE_SIGNAL = 1,	/* a signal's return address: __restore_rt */
	INJ_FDE_INSIDE = 2,	/* its first frame is not that of a function just called */
};

/* What entries have in common; private. */
struct inj_eh_cie {
	const uint8_t *start;	/* which one this is */
	bool usable;
	bool sized;		/* augmentation 'z' */
	bool signal;
	uint8_t encoding, lsda;
	struct inj_cursor rules;
};

/*
 * An iteration over a table: left and start are where it begins.  @whole: an empty entry does not end it, since its
 * size is known and linkers may have put tables after one another.
 */
struct inj_eh {
	struct inj_cursor left;
	const uint8_t *start;
	bool whole;
	struct inj_eh_cie cie;	/* the last one used */
};

/* The next entry whose CIE is understood; false: there is none, or the rest of the table is damaged. */
bool inj_eh_next(struct inj_eh *eh, struct inj_fde *fde);

/* Link-time address of .eh_frame, from .eh_frame_hdr; 0: the header does not say. */
uint64_t inj_eh_start(struct inj_cursor header);

/*
 * Does an empty entry end the table, and can libgcc go through it until there?  It knows no extended lengths
 * (0xffffffff, then eight bytes).
 */
bool inj_eh_ends(struct inj_cursor table);

#endif
