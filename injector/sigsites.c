// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * System calls that set signal handlers: a jump to the runtime takes the place of the `syscall` instruction
 * and of as many instructions in front of it as the jump needs; copies of those run first.
 *
 *	    mov $13, %eax     ──▶   stub: mov $13, %eax
 *	    syscall                       lea -13(%rax), %ecx
 *	back:                             jrcxz 1f
 *	                                  syscall; jmp back
 *	                              1:  lea back(%rip), %r11
 *	                                  jmp sonde_rt_sigaction ──▶ back
 *
 * The kernel destroys rcx and r11 in a system call, so nobody keeps anything there. Other system calls,
 * through the C library's syscall(), are made with nothing of ours on the stack: a child may share it.
 */
#include "config.h"

#include <string.h>

#include "injector/mirrors.h"
#include "injector/session.h"

#define SYSCALL_LEN 2
#define STUB_BYTES 64
#define NOBODY UINT32_MAX

/* The instructions that the jump takes the place of: flow->ops[first .. last], the last is the system call. */
struct site {
	uint64_t addr, end; /* in the program */
	uint32_t first, last;
};

static const struct tramp_block *block_of(const struct tramp_flow *flow, uint32_t off)
{
	for (uint32_t i = 0; i < flow->nblocks; i++)
		if (off >= flow->blocks[i].start && off < flow->blocks[i].end)
			return &flow->blocks[i];
	return NULL;
}

/* False: the system call is not known as an instruction, or too near to its block's start. */
static bool find_site(const struct tramp_flow *flow, uint32_t off, struct site *site)
{
	const struct tramp_block *b = block_of(flow, off);
	uint32_t i;

	if (!b)
		return false;
	for (i = b->op; i < b->op + b->nops && flow->ops[i].off != off;)
		i++;
	if (i == b->op + b->nops || flow->ops[i].len != SYSCALL_LEN)
		return false;
	site->last = i;
	while (i > b->op && off + SYSCALL_LEN - flow->ops[i].off < TRAMP_JUMP_SIZE)
		i--;
	site->first = i;
	return off + SYSCALL_LEN - flow->ops[i].off >= TRAMP_JUMP_SIZE;
}

/* lea -13(%rax), %ecx; jrcxz over; syscall; jmp back */
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

static bool emit_stub(const struct inj_session *s, const struct tramp_flow *flow,
		      const struct site *site, uint64_t base, uint64_t at, uint8_t *mem)
{
	size_t n = 0, len, left;

	for (uint32_t i = site->first; i < site->last; i++) {
		const struct tramp_op *op = &flow->ops[i];
		const uint8_t *code = tramp_code_at(flow->code,
						    tramp_code_base(flow->code) + op->off, &left);

		if (!code || left < op->len ||
		    !copy_op(op, code, base + op->off, at + n, mem + n))
			return false;
		n += op->len;
	}
	memcpy(mem + n, is_it, sizeof(is_it));
	n += sizeof(is_it);
	if (!put_rel(mem + n - 4, site->end, at + n))
		return false;
	memcpy(mem + n, lea_r11, sizeof(lea_r11));
	n += sizeof(lea_r11);
	if (!put_rel(mem + n - 4, site->end, at + n))
		return false;
	return tramp_emit_jump(at + n, s->rt_sigaction, mem + n, STUB_BYTES - n, &len) == TRAMP_OK;
}

static bool make_edit(const struct tramp_flow *flow, const struct site *site, uint64_t base,
		      uint64_t stub, struct inj_edit *e)
{
	const uint8_t *code;
	size_t left;

	*e = (struct inj_edit){ .addr = site->addr, .owner = NOBODY,
				.len = (uint8_t)(site->end - site->addr) };
	code = tramp_code_at(flow->code, site->addr - base + tramp_code_base(flow->code), &left);
	if (!code || left < e->len || e->len > INJ_EDIT_MAX)
		return false;
	memcpy(e->was, code, e->len);
	memset(e->bytes, 0x90, e->len);
	e->bytes[0] = 0xe9;
	return put_rel(e->bytes + 1, stub, site->addr + TRAMP_JUMP_SIZE);
}

static enum inj_status lead_to_runtime(struct inj_session *s, const struct tramp_flow *flow,
				       uint32_t off, uint64_t base, struct inj_edits *edits)
{
	struct site site;
	struct inj_edit e;
	enum inj_status status;
	uint64_t at;
	uint8_t *mem;

	if (!find_site(flow, off, &site))
		return INJ_OK;
	site.addr = base + flow->ops[site.first].off;
	site.end = base + off + SYSCALL_LEN;
	status = inj_code_alloc(&s->code, s->target, site.addr, site.end, STUB_BYTES, &at, &mem);
	if (status != INJ_OK)
		return status == INJ_NO_ROOM ? INJ_OK : status;
	if (!emit_stub(s, flow, &site, base, at, mem) || !make_edit(flow, &site, base, at, &e))
		return INJ_OK;
	return inj_edits_add(edits, &e);
}

/*
 * A place that cannot be led to the runtime costs little: what a handler that is set there interrupts in
 * the middle of a probe may be a damaged record.
 */
enum inj_status inj_mirror_sigactions(struct inj_session *s, size_t object,
				      const struct tramp_code *code, struct inj_edits *edits)
{
	const struct inj_codefacts *facts = s->objects[object].facts;
	uint64_t base = tramp_code_base(code) + s->objects[object].base;
	struct tramp_flow flow = { 0 };
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < facts->nsigaction && status == INJ_OK; i++) {
		uint32_t fn = tramp_code_function(code, facts->sigaction[i]);

		if (fn == TRAMP_NONE)
			continue;
		if (tramp_flow_build(&flow, code, fn) != TRAMP_CODE_OK)
			status = INJ_MEMORY;
		else
			status = lead_to_runtime(s, &flow,
						 (uint32_t)(facts->sigaction[i] -
							    tramp_code_base(code)),
						 base, edits);
	}
	tramp_flow_free(&flow);
	return status;
}
