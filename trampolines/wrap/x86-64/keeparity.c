// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>

#include "trampolines/wrap/x86-64/keepcalls.h"

enum {
	SITES_MAX = 24,		/* calls looked at */
	BACK_MAX = 64,		/* instructions before each */
	ARITIES_STEP = 64,
};

/* System V ABI, AMD64 supplement, 3.2.3 and A.2.1. */
static const uint8_t call_order[KEEP_GPR_ARGS] = {
	TRAMP_RDI, TRAMP_RSI, TRAMP_RDX, TRAMP_RCX, TRAMP_R8, TRAMP_R9
};

static const uint8_t syscall_order[KEEP_GPR_ARGS] = {
	TRAMP_RDI, TRAMP_RSI, TRAMP_RDX, TRAMP_R10, TRAMP_R8, TRAMP_R9
};

tramp_regs tramp_keep_arguments(tramp_regs args, bool call)
{
	const uint8_t *order = call ? call_order : syscall_order;
	tramp_regs regs = 0;

	for (int i = 0; i < KEEP_GPR_ARGS && args & TRAMP_REG(order[i]); i++)
		regs |= TRAMP_REG(order[i]);
	for (int i = 0; call && i < KEEP_XMM_ARGS && args & TRAMP_REG(TRAMP_XMM + i); i++)
		regs |= TRAMP_REG(TRAMP_XMM + i);
	return regs;
}

/* A call that clobbers all registers. */
static bool is_open_call(struct keep_calls *k, const struct keep_op *op)
{
	struct keep_body *callee;

	if (op->kind != TRAMP_OP_CALL)
		return op->kind == TRAMP_OP_CALL_IND;
	callee = op->to == TRAMP_NONE ? NULL : tramp_keep_body(k, flow_address(k->code, op->to));
	if (!callee)
		return true;
	tramp_keep_reach(k, callee);
	return callee->reaches_open;
}

/* What is written on the way from such a call straight to op i; KEEP_ALL where there is none. */
static tramp_regs written_since_call(struct keep_calls *k, const struct keep_body *body, uint32_t i)
{
	tramp_regs written = 0;

	for (size_t back = 0; back < BACK_MAX && i > 0; back++) {
		const struct keep_op *op = &body->ops[--i];

		if (op->off + op->len != body->ops[i + 1].off)
			break;
		if (is_open_call(k, op))
			return written;
		if (!tramp_op_goes_on(op->kind))
			break;
		written |= op->def;
	}
	return KEEP_ALL;
}

static tramp_regs arguments_at(struct keep_calls *k, const struct tramp_site *site)
{
	struct keep_body *body = tramp_keep_body(k, k->code->base + site->from);
	uint32_t i;

	if (!body || !tramp_keep_build(k, body))
		return KEEP_ALL;
	i = tramp_keep_op_at(body, site->from);
	if (i == TRAMP_NONE || body->ops[i].kind != TRAMP_OP_CALL)
		return KEEP_ALL;
	return written_since_call(k, body, i);
}

static tramp_regs find_arity(struct keep_calls *k, uint64_t addr)
{
	const struct tramp_site *sites;
	size_t n = tramp_code_sites(k->code, addr, &sites);
	tramp_regs regs = KEEP_ALL, written;

	for (size_t i = 0; i < n && i < SITES_MAX; i++) {
		written = arguments_at(k, &sites[i]);
		if (written != KEEP_ALL)
			regs &= tramp_keep_arguments(written, true);
	}
	return regs;
}

static void remember(struct keep_calls *k, uint64_t addr, tramp_regs regs)
{
	if (k->narities % ARITIES_STEP == 0) {
		void *arities = reallocarray(k->arities, k->narities + ARITIES_STEP,
					     sizeof(*k->arities));

		if (!arities) {
			k->no_memory = true;
			return;
		}
		k->arities = arities;
	}
	k->arities[k->narities++] = (struct keep_arity){ addr, regs };
}

static tramp_regs outside_arity(struct keep_calls *k, uint64_t addr)
{
	tramp_regs regs;

	for (size_t i = 0; i < k->narities; i++) {
		if (k->arities[i].addr == addr)
			return k->arities[i].regs;
	}
	regs = find_arity(k, addr);
	remember(k, addr, regs);
	return regs;
}

tramp_regs tramp_keep_arity(struct keep_calls *k, uint64_t addr)
{
	struct keep_body *body = tramp_keep_body(k, addr);

	if (!body)
		return outside_arity(k, addr);
	if (k->code->facts->fns[body->fn].addr != addr)
		return KEEP_ALL;
	if (!body->has_arity) {
		body->has_arity = true;
		body->arity = KEEP_ALL;	/* meanwhile, in a cycle */
		body->arity = find_arity(k, addr);
	}
	return body->arity;
}
