/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files that make signatures share. */
#ifndef SONDE_INJECTOR_SIGNATURES_SIGMAKE_INT_H
#define SONDE_INJECTOR_SIGNATURES_SIGMAKE_INT_H

#include "injector/signatures/sigmake.h"

struct inj_sig_maker {
	struct sig_unit *units;
	struct sig_func *funcs;
	struct sig_name *names;
	struct sig_symbol *symbols;
	uint8_t *refs;
	char *text;
	size_t nunits, nfuncs, nnames, nsymbols, nrefs, ntext;
	size_t units_room, funcs_room, names_room, symbols_room, refs_room, text_room;

	/* hash tables of indices plus one: strings in text, symbols, units by hash */
	uint32_t *strings, *globals, *bodies;
	size_t nstrings, strings_room, globals_room, bodies_room;

	/* of the section that is looked at */
	uint8_t *room;
	struct sig_ref *covers;
	size_t room_room, covers_room;
	size_t unknown;
	bool failed;		/* no memory */
};

/* Where @s is in the text; SIG_NONE: no memory. */
uint32_t inj_sig_text(struct inj_sig_maker *m, const char *s);

#endif
