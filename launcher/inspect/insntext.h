/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions as text, in AT&T's syntax as objdump writes it: by libopcodes. */
#ifndef SONDE_LAUNCHER_INSPECT_INSNTEXT_H
#define SONDE_LAUNCHER_INSPECT_INSNTEXT_H

#include <stddef.h>
#include <stdint.h>

#define INSNTEXT_MAX 256

struct insntext;

/* @name writes what stands at an address into buf[size].  NULL: no memory, or built without libopcodes. */
struct insntext *insntext_new(void (*name)(void *arg, uint64_t addr, char *buf, size_t size), void *arg);
void insntext_free(struct insntext *t);

/*
 * The instruction at the start of code[avail], which runs at @addr.  Returns its length, at least 1 and at
 * most @avail; what is no instruction is "(bad)".  @avail is not 0.
 */
size_t insntext_decode(struct insntext *t, const uint8_t *code, size_t avail, uint64_t addr,
		       char text[INSNTEXT_MAX]);

#endif
