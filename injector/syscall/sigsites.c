// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * System calls that set signal handlers: a jump to the runtime takes the place of the `syscall` instruction
 * and of as many instructions before it as the jump needs; copies of those run first.
 *
 *	    mov $13, %eax     ──▶   stub: mov $13, %eax
 *	    syscall                       lea -13(%rax), %ecx
 *	back:                             jrcxz 1f
 *	                                  syscall; jmp back
 *	                              1:  lea back(%rip), %r11
 *	                                  jmp sonde_rt_sigaction ──▶ back
 *
 * Where programs that are executed are followed, it is also seen whether eax is 59 or 322; then sonde_rt_exec comes before
 * the stub's own system call.  The kernel destroys rcx and r11 in a system call, so nobody keeps anything there. Other system calls,
 * through the C library's syscall(), are made with nothing of ours on the stack: a child may share it.
 */
#include "config.h"

#include <string.h>

#include "injector/mirror/mirrors.h"
#include "injector/patch/session.h"
#include "injector/syscall/sigsites.h"

static const struct tramp_block *block_of(const struct tramp_flow *flow, uint32_t off)
{
	for (uint32_t i = 0; i < flow->nblocks; i++)
		if (off >= flow->blocks[i].start && off < flow->blocks[i].end)
			return &flow->blocks[i];
	return NULL;
}

/* False: the system call is not known as an instruction, or too near to its block's start. */
static bool find_site(const struct tramp_flow *flow, uint32_t off, struct inj_sigsite *site)
{
	const struct tramp_block *b = block_of(flow, off);
	uint32_t last, first;

	if (!b)
		return false;
	for (last = b->op; last < b->op + b->nops && flow->ops[last].off != off;)
		last++;
	if (last == b->op + b->nops || flow->ops[last].len != INJ_SYSCALL_LEN)
		return false;
	site->end = off + INJ_SYSCALL_LEN;
	for (first = last; first > b->op && site->end - flow->ops[first].off < TRAMP_JUMP_SIZE;)
		first--;
	site->off = flow->ops[first].off;
	site->nops = last + 1 - first;
	if (site->end - site->off < TRAMP_JUMP_SIZE || site->nops > INJ_SITE_OPS)
		return false;
	memcpy(site->ops, &flow->ops[first], site->nops * sizeof(*site->ops));
	return true;
}

/* lea -13(%rax), %ecx; jrcxz over; syscall; jmp back */
#define IS_IT_BRANCH 5
static const uint8_t is_it[] = { 0x8d, 0x48, 0xf3, 0xe3, 7, 0x0f, 0x05, 0xe9, 0, 0, 0, 0 };
/* lea back(%rip), %r11 */
static const uint8_t lea_r11[] = { 0x4c, 0x8d, 0x1d, 0, 0, 0, 0 };

static bool put_rel(uint8_t *field, uint64_t to, uint64_t end)
{
	int64_t disp = (int64_t)(to - end);
	int32_t rel = (int32_t)disp;

	memcpy(field, &rel, 4);
	return rel == disp;
}

/* A copy of one instruction for @to; false: it cannot be moved that far. */
static bool copy_op(const struct tramp_op *op, const uint8_t *code, uint64_t from, uint64_t to,
		    uint8_t *out)
{
	int32_t old;

	memcpy(out, code, op->len);
	if (op->kind == TRAMP_OP_PLAIN)
		return true;
	if (op->kind != TRAMP_OP_RIP || op->disp_len != 4)
		return false;
	memcpy(&old, code + op->disp_at, 4);
	return put_rel(out + op->disp_at, from + (uint64_t)(int64_t)old, to);
}

/* lea back(%rip), %r11; jmp to.  Where it ends; 0: it is too far. */
static size_t lead_on(uint8_t *mem, size_t n, uint64_t at, uint64_t back, uint64_t to)
{
	size_t len;

	memcpy(mem + n, lea_r11, sizeof(lea_r11));
	n += sizeof(lea_r11);
	if (!put_rel(mem + n - 4, back, at + n) ||
	    tramp_emit_jump(at + n, to, mem + n, INJ_SIGSITE_STUB - n, &len) != TRAMP_OK)
		return 0;
	return n + len;
}

static bool emit_stub(const struct inj_session *s, const struct tramp_code *code,
		      const struct inj_sigsite *site, uint64_t base, uint64_t at, uint8_t *mem)
{
	size_t n = 0, left, branch, call, tests = s->opt.follow ? INJ_IS_EXEC : 0;

	for (uint32_t i = 0; i + 1 < site->nops; i++) {
		const struct tramp_op *op = &site->ops[i];
		const uint8_t *bytes = tramp_code_at(code, tramp_code_base(code) + op->off, &left);

		if (!bytes || left < op->len ||
		    !copy_op(op, bytes, base + op->off, at + n, mem + n))
			return false;
		n += op->len;
	}
	branch = n;
	memcpy(mem + n, is_it, IS_IT_BRANCH);
	n += IS_IT_BRANCH + tests;
	call = n;
	memcpy(mem + n, is_it + IS_IT_BRANCH, sizeof(is_it) - IS_IT_BRANCH);
	n += sizeof(is_it) - IS_IT_BRANCH;
	if (!put_rel(mem + n - 4, base + site->end, at + n))
		return false;
	mem[branch + IS_IT_BRANCH - 1] = (uint8_t)(n - branch - IS_IT_BRANCH);
	n = lead_on(mem, n, at, base + site->end, s->rt_sigaction);
	if (n && tests) {
		inj_is_exec(mem + call - tests, (uint8_t)(n - call));
		n = lead_on(mem, n, at, at + call, s->rt_exec);
	}
	return n != 0;
}

/* e->object is given. */
static bool make_edit(const struct tramp_code *code, const struct inj_sigsite *site, uint64_t base,
		      uint64_t stub, struct inj_edit *e)
{
	const uint8_t *bytes;
	size_t left;

	e->addr = base + site->off;
	e->owner = INJ_EDIT_NONE;
	e->len = (uint8_t)(site->end - site->off);
	bytes = tramp_code_at(code, tramp_code_base(code) + site->off, &left);
	if (!bytes || left < e->len || e->len > INJ_EDIT_MAX)
		return false;
	memcpy(e->was, bytes, e->len);
	memset(e->bytes, 0x90, e->len);
	e->bytes[0] = 0xe9;
	return put_rel(e->bytes + 1, stub, e->addr + TRAMP_JUMP_SIZE);
}

/* NO_ROOM: it cannot be done there. */
static enum inj_status lead_to_runtime(struct inj_session *s, size_t object,
				       const struct tramp_code *code, const struct inj_sigsite *site,
				       uint64_t base, struct inj_edits *edits)
{
	struct inj_edit e = { .object = (uint32_t)object, .needed = INJ_EDIT_BY_HANDLERS };
	enum inj_status status;
	uint64_t at;
	uint8_t *mem;

	status = inj_code_alloc(&s->code, s->target, base + site->off, base + site->end, INJ_SIGSITE_STUB,
				&at, &mem);
	if (status != INJ_OK)
		return status;
	if (!emit_stub(s, code, site, base, at, mem) || !make_edit(code, site, base, at, &e))
		return INJ_NO_ROOM;
	return inj_edits_add(edits, &e);
}

/* NO_ROOM: there is no room for a jump. */
static enum inj_status site_at(struct tramp_flow *flow, const struct tramp_code *code, uint64_t addr,
			       struct inj_sigsite *site)
{
	uint32_t off = (uint32_t)(addr - tramp_code_base(code));
	uint32_t fn = tramp_code_function(code, addr);
	bool found;

	if (fn == TRAMP_NONE)
		found = inj_sigsite_in_run(code, off, site);
	else if (tramp_flow_build(flow, code, fn) == TRAMP_CODE_OK)
		found = find_site(flow, off, site);
	else
		return INJ_MEMORY;
	return found ? INJ_OK : INJ_NO_ROOM;
}

/*
 * What a handler that is set at a place which cannot be led to the runtime interrupts in the middle of a probe
 * may be a damaged record.
 */
enum inj_status inj_mirror_sigactions(struct inj_session *s, size_t object,
				      const struct tramp_code *code, struct inj_edits *edits)
{
	const struct inj_codefacts *facts = s->objects[object].facts;
	uint64_t base = tramp_code_base(code) + s->objects[object].base;
	struct tramp_flow flow = { 0 };
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < facts->nsigaction && status == INJ_OK; i++) {
		struct inj_sigsite site;

		status = site_at(&flow, code, facts->sigaction[i], &site);
		if (status == INJ_OK)
			status = lead_to_runtime(s, object, code, &site, base, edits);
		if (status == INJ_NO_ROOM) {
			s->mirrors.unled++;
			status = INJ_OK;
		}
	}
	tramp_flow_free(&flow);
	return status;
}
