/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers of DWARF and of exception tables, read within bounds. */
#ifndef SONDE_INJECTOR_IMAGE_CURSOR_H
#define SONDE_INJECTOR_IMAGE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that are read one after another; after the end, zeros come and `bad` is set. */
struct inj_cursor {
	const uint8_t *at, *end;
	uint64_t addr;		/* link-time address of *at */
	bool bad;
};

uint64_t inj_cursor_uint(struct inj_cursor *c, size_t bytes);
uint64_t inj_cursor_uleb(struct inj_cursor *c);
int64_t inj_cursor_sleb(struct inj_cursor *c);
void inj_cursor_skip(struct inj_cursor *c, uint64_t bytes);

/* DW_EH_PE_*: Linux Standard Base, 10.5.1.  Absolute and pc-relative; others make it bad. */
#define INJ_PE_OMIT 0xff
uint64_t inj_cursor_encoded(struct inj_cursor *c, uint8_t encoding);

#endif
