// SPDX-License-Identifier: GPL-3.0-or-later
#include "trampolines/wrap/x86-64/keeparity.h"

#include <stdlib.h>

enum {
	SITES_MAX = 24,		/* calls looked at */
	BACK_MAX = 64,		/* instructions before each */
	ARITIES_STEP = 64,
};

const uint8_t tramp_keep_call_order[KEEP_GPR_ARGS] = {
	KEEP_DI, KEEP_SI, KEEP_DX, KEEP_CX, KEEP_8, KEEP_9
};

keep_regs tramp_keep_arguments(keep_regs defined, const uint8_t *order, int xmms)
{
	keep_regs regs = 0;

	for (int i = 0; i < KEEP_GPR_ARGS && defined & KEEP_LOW(order[i]); i++)
		regs |= KEEP_GPR(order[i]);
	for (int i = 0; i < xmms && defined & KEEP_XMM(i); i++)
		regs |= KEEP_XMM(i);
	return regs;
}

static bool falls_through(const struct keep_op *op)
{
	return op->flow == KEEP_NEXT || op->flow == KEEP_JCC || op->flow == KEEP_CALL ||
	       op->flow == KEEP_SYSCALL;
}

/* A call that clobbers all registers. */
static bool is_open_call(struct keep_code *code, const struct keep_op *op)
{
	size_t callee;

	if (op->flow != KEEP_CALL)
		return op->flow == KEEP_CALL_OUT;
	callee = tramp_keep_target(code, op->target);
	if (callee == KEEP_NOWHERE)
		return true;
	tramp_keep_reach(code, &code->bodies[callee]);
	return code->bodies[callee].reaches_open;
}

/* What is written on the way from such a call straight to op i; KEEP_ALL where there is none. */
static keep_regs written_since_call(struct keep_code *code, const struct keep_body *body,
				    size_t i)
{
	keep_regs written = 0;

	for (size_t back = 0; back < BACK_MAX && i-- > 0; back++) {
		const struct keep_op *op = &body->ops[i];

		if (is_open_call(code, op))
			return written;
		if (!falls_through(op))
			break;
		written |= op->touched;
	}
	return KEEP_ALL;
}

static keep_regs arguments_at(struct keep_code *code, const struct tramp_branch *site)
{
	size_t index = tramp_keep_enclosing(code, site->from), i;
	struct keep_body *body;

	if (index == KEEP_NOWHERE)
		return KEEP_ALL;
	body = &code->bodies[index];
	if (!tramp_keep_decode(code, body))
		return KEEP_ALL;
	i = tramp_keep_op_at(body, site->from);
	if (i == KEEP_NOWHERE || body->ops[i].flow != KEEP_CALL || body->ops[i].target != site->to)
		return KEEP_ALL;
	return written_since_call(code, body, i);
}

static keep_regs find_arity(struct keep_code *code, uint64_t addr)
{
	const struct keep_sites *sites = &code->sites;
	keep_regs regs = KEEP_ALL, written;
	size_t i;

	if (!tramp_keep_have_sites(code))
		return KEEP_ALL;
	i = tramp_keep_sites_first(sites, addr);
	for (size_t seen = 0; seen < SITES_MAX; seen++, i++) {
		if (i >= sites->n || sites->sites[i].to != addr)
			break;
		written = arguments_at(code, &sites->sites[i]);
		if (written != KEEP_ALL)
			regs &= tramp_keep_arguments(written, tramp_keep_call_order,
						     KEEP_XMM_ARGS);
	}
	return regs;
}

static keep_regs recall(const struct keep_code *code, uint64_t addr, bool *known)
{
	for (size_t i = 0; i < code->narities; i++) {
		if (code->arities[i].addr == addr) {
			*known = true;
			return code->arities[i].regs;
		}
	}
	*known = false;
	return 0;
}

static void remember(struct keep_code *code, uint64_t addr, keep_regs regs)
{
	if (code->narities % ARITIES_STEP == 0) {
		size_t room = code->narities + ARITIES_STEP;
		void *arities = reallocarray(code->arities, room, sizeof(*code->arities));

		if (!arities) {
			code->no_memory = true;
			return;
		}
		code->arities = arities;
	}
	code->arities[code->narities++] = (struct keep_arity){ addr, regs };
}

keep_regs tramp_keep_arity(struct keep_code *code, uint64_t addr)
{
	size_t index = tramp_keep_target(code, addr);
	keep_regs regs;
	bool known;

	if (index == KEEP_NOWHERE) {
		regs = recall(code, addr, &known);
		if (!known) {
			regs = find_arity(code, addr);
			remember(code, addr, regs);
		}
		return regs;
	}
	if (code->bodies[index].addr != addr)
		return KEEP_ALL;
	if (!code->bodies[index].has_arity) {
		code->bodies[index].has_arity = true;
		code->bodies[index].arity = find_arity(code, addr);
	}
	return code->bodies[index].arity;
}
