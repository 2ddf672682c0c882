// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What the reader knows where, and so, which values have to be stored in front of which instruction.
 */
#include <string.h>

#include "trampolines/x86-64/memplanpriv.h"

static void narrow(struct mp_state *s, mp_set regs, bool u32, bool s32)
{
	s->u32 = (uint16_t)(u32 ? s->u32 | regs : s->u32 & ~regs);
	s->s32 = (uint16_t)(s32 ? s->s32 | regs : s->s32 & ~regs);
}

/* Computations one behind the other, and the flags; what is known then, temporaries too. */
static mp_set step_computes(struct mp_insn *i, struct mp_state *s)
{
	mp_set known = s->known;
	mp_set in_front = known;

	for (unsigned int k = 0; k < i->ncomputes; k++) {
		const struct mp_compute *c = &i->computes[k];

		if ((c->reads & ~known) == 0) {
			i->can |= (uint8_t)(1u << k);
			known |= c->writes;
		} else {
			known &= ~c->writes;
		}
		narrow(s, c->writes & TRAMP_GPRS, c->u32, c->s32);
	}
	if (i->flags_valid && !(i->flags_reads & ~(i->flags_after ? known : in_front)))
		i->can |= MP_FLAGS;
	return known;
}

void mp_step(const struct mp *p, struct mp_insn *i, struct mp_state *s)
{
	i->can = 0;
	i->keep = 0;
	i->store = (uint16_t)(i->need & ~s->known);
	i->store_u32 = i->store & s->u32;
	i->store_s32 = (uint16_t)(i->store & s->s32 & ~s->u32);
	s->known |= i->need;
	s->known = (uint16_t)(step_computes(i, s) & ~(mp_set)i->kills);
	s->u32 = (uint16_t)((s->u32 & ~i->kills) | i->u32);
	s->s32 = (uint16_t)((s->s32 & ~i->kills) | i->s32);
	if (i->cuts)
		*s = (struct mp_state){ 0 };
	if (!mp_rung(p, TRAMP_MEM_CHAINS)) {
		s->known = 0;
		i->can = 0;
	}
}

static void know_block(struct mp *p, const struct tramp_block *b, struct mp_state s)
{
	for (uint32_t k = 0; k < b->nops; k++)
		mp_step(p, &p->insns.v[b->op + k], &s);
}

bool mp_know(struct mp *p)
{
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		know_block(p, &p->flow->blocks[i], (struct mp_state){ 0 });
	return true;
}
