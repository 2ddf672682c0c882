/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The addresses of code that are in the events of a program: values of fields of type "ptr" that are called "code", or "code2" and
 * so on right after it.  When the program has ended, the metadata says what is there: function, source line, file.
 */
#ifndef SONDE_TRACEFMT_WRITE_CODES_H
#define SONDE_TRACEFMT_WRITE_CODES_H

#include <stdint.h>

#define TF_CODES_MAX 8192u /* further ones stay addresses; a power of two */

/* All zero: none. */
struct tf_codes {
	uint64_t slot[2 * TF_CODES_MAX]; /* hashed; 0: free */
	uint32_t n;
	uint64_t last;
};

static inline void tf_codes_note(struct tf_codes *c, uint64_t address)
{
	uint64_t i = address * UINT64_C(0x9e3779b97f4a7c15) >> 50;

	if (address == c->last || address <= 1)
		return;
	c->last = address;
	while (c->slot[i] && c->slot[i] != address)
		i = (i + 1) % (2 * TF_CODES_MAX);
	if (!c->slot[i] && c->n < TF_CODES_MAX) {
		c->slot[i] = address;
		c->n++;
	}
}

#endif /* SONDE_TRACEFMT_WRITE_CODES_H */
