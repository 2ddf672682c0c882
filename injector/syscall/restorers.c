// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What signal handlers return to, __restore_rt of the C library, is led to the runtime:
 *
 *	mov $15, %rax; syscall   ──▶   jmp stub          stub: jmp sonde_rt_restored
 *
 * Unwinders know the place by its entry in the unwind table, which says how to get at the interrupted frame. Where
 * there is none (musl) they know it by its bytes, and it is left alone.
 */
#include "config.h"

#include <string.h>

#include "injector/mirror/mirrors.h"
#include "injector/patch/session.h"

static const uint8_t code_of_it[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };

static bool is_restorer(const struct inj_codefacts *facts, size_t i, const struct tramp_code *code)
{
	const struct tramp_fn *fn = &facts->facts.fns[i];
	const uint8_t *bytes;
	size_t left;

	if (!(facts->fn[i].flags & INJ_FN_NEVER) || !(fn->flags & TRAMP_FN_FRAMED) ||
	    fn->size < sizeof(code_of_it))
		return false;
	bytes = tramp_code_at(code, fn->addr, &left);
	return bytes && left >= sizeof(code_of_it) &&
	       memcmp(bytes, code_of_it, sizeof(code_of_it)) == 0;
}

/* False: too many of them. */
static bool note_it(struct rt_codemaps *maps, uint64_t addr)
{
	for (size_t i = 0; i < RT_MAX_RESTORERS; i++)
		if (!maps->restorers[i]) {
			__atomic_store_n(&maps->restorers[i], addr, __ATOMIC_RELEASE);
			return true;
		}
	return false;
}

static enum inj_status lead(struct inj_session *s, size_t object, uint64_t addr, struct inj_edits *edits)
{
	struct inj_edit e = { .addr = addr, .object = (uint32_t)object, .owner = INJ_EDIT_NONE,
			      .len = sizeof(code_of_it), .needed = INJ_EDIT_BY_HANDLERS };
	enum inj_status status;
	uint64_t stub;
	uint8_t *mem;
	size_t len;

	status = inj_code_alloc(&s->code, s->target, addr, addr + sizeof(code_of_it),
				TRAMP_JUMP_STUB_MAX, &stub, &mem);
	if (status != INJ_OK)
		return status == INJ_NO_ROOM ? INJ_OK : status;
	memcpy(e.was, code_of_it, sizeof(code_of_it));
	memset(e.bytes, 0x90, sizeof(code_of_it));
	if (tramp_emit_jump(stub, s->rt_restored, mem, TRAMP_JUMP_STUB_MAX, &len) != TRAMP_OK ||
	    tramp_emit_jump(addr, stub, e.bytes, TRAMP_JUMP_SIZE, &len) != TRAMP_OK ||
	    !note_it(s->mirrors.maps, addr))
		return INJ_OK;
	return inj_edits_add(edits, &e);
}

enum inj_status inj_mirror_restorers(struct inj_session *s, size_t object,
				     const struct tramp_code *code, struct inj_edits *edits)
{
	const struct inj_codefacts *facts = s->objects[object].facts;
	uint64_t base = s->objects[object].base;
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < facts->facts.nfns && status == INJ_OK; i++)
		if (is_restorer(facts, i, code))
			status = lead(s, object, base + facts->facts.fns[i].addr, edits);
	return status;
}
