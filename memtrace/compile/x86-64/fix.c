// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What is not known yet when an instruction is made: where its constant will be, where it jumps to.
 */
#include "memtrace/compile/x86-64/compile.h"

#include <string.h>

void mtc_constant(struct mtc_build *b, uint8_t *place, const uint32_t v[4])
{
	if (b->nconstants == MTC_CONSTANTS) {
		b->failed = true;
		return;
	}
	b->constants[b->nconstants].place = place;
	memcpy(b->constants[b->nconstants++].v, v, sizeof(b->constants->v));
}

void mtc_fix(struct mtc_build *b, uint8_t *place, const struct mt_node *node, bool leaves)
{
	if (b->nfixes == MTC_FIXES) {
		b->failed = true;
		return;
	}
	b->fixes[b->nfixes++] = (struct mtc_fix){ .place = place, .node = node, .leaves = leaves };
}

void mtc_put_constants(struct mtc_build *b)
{
	for (uint32_t i = 0; i < b->nconstants; i++) {
		uint8_t *at = b->a.at;

		for (int k = 0; k < 4; k++)
			mtc_u32(&b->a, b->constants[i].v[k]);
		if (!b->a.full)
			mtc_to(b->constants[i].place, at);
	}
}
