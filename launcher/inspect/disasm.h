/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of `sonde disasm` share. */
#ifndef SONDE_LAUNCHER_INSPECT_DISASM_H
#define SONDE_LAUNCHER_INSPECT_DISASM_H

#include "launcher/inspect/anatomy.h"
#include "launcher/inspect/insntext.h"
#include "launcher/common/lines.h"
#include "launcher/inspect/plt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One function at a time. */
struct disasm {
	struct anatomy a;
	struct insntext *text;
	struct lines *lines; /* NULL: not asked for, or none */
	struct plt *plt;     /* NULL: none */
	uint32_t fn;
	/* The mirror; all zero: there is none. */
	struct tramp_mirror_plan plan;
	struct tramp_mirror_code code;
	uint8_t *mirror; /* its code, as emitted for `arena` */
	uint64_t arena;
	uint32_t *copies; /* by flow->ops: where in the mirror the instruction's copy is, or TRAMP_NONE */
};

/* What stands at an address, for insntext_new(); arg is the struct disasm. */
void disasm_name(void *arg, uint64_t addr, char *buf, size_t size);

void disasm_print_original(const struct disasm *d);
void disasm_print_mirror(const struct disasm *d);

#endif
