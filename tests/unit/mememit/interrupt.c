// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "tests/unit/mememit/interrupt.h"

#include <err.h>
#include <string.h>

#include "runtime/memory/again.h"
#include "tests/unit/mememit/stream.h"
#include "tests/unit/wrap/machine.h"
#include "memtrace/description.h"

enum { STATUS = 0xd5, OVERFLOW = 0x800, GARBAGE_BELOW = 512, RED_ZONE = 128 };

static const uint8_t places[NREGISTERS] = {
	[RAX] = REG_RAX, [RCX] = REG_RCX, [RDX] = REG_RDX, [RBX] = REG_RBX, [RSP] = REG_RSP,
	[RBP] = REG_RBP, [RSI] = REG_RSI, [RDI] = REG_RDI, [R8] = REG_R8, [R9] = REG_R9,
	[R10] = REG_R10, [R11] = REG_R11, [R12] = REG_R12, [R13] = REG_R13, [R14] = REG_R14,
	[R15] = REG_R15,
};

static const struct rt_mem_piece *find(const struct rt_mem_piece *pieces, size_t n, uint32_t at)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (pieces[middle].start <= at)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		errx(1, "%#x: no piece", at);
	return &pieces[low - 1];
}

/* As lahf and seto left them. */
static void set_flags(greg_t *regs, uint64_t ax)
{
	uint64_t flags = (uint64_t)regs[REG_EFL] & ~(uint64_t)(STATUS | OVERFLOW);

	regs[REG_EFL] = (greg_t)(flags | (ax >> 8 & STATUS) | (ax & 1 ? OVERFLOW : 0));
}

static void put_back(greg_t *regs, uint64_t arena, const struct rt_mem_piece *p)
{
	const uint64_t *saved = (p->flags & RT_MEM_LOWERED) ? (const uint64_t *)regs[REG_RSP] :
							      stream_pool()->slot;

	if (!(p->flags & RT_MEM_BACK))
		return;
	if (p->flags & RT_MEM_FLAGS)
		set_flags(regs, saved[1]);
	if (p->flags & RT_MEM_SLOT0)
		regs[places[p->flags & RT_MEM_PLAIN ? p->reg : RAX]] = (greg_t)saved[0];
	if (p->flags & RT_MEM_SLOT2)
		regs[places[RDX]] = (greg_t)saved[2];
	if (p->flags & RT_MEM_LOWERED)
		regs[REG_RSP] += RT_MEM_BELOW;
	regs[REG_RIP] = (greg_t)(arena + p->start - p->back);
}

static void spoil(const greg_t *regs, const struct rt_mem_piece *p)
{
	struct stream_pool *pool = stream_pool();

	memset((uint8_t *)regs[REG_RSP] - RED_ZONE - GARBAGE_BELOW, 0xa5, GARBAGE_BELOW);
	if (!stream_is_open())	/* another thread's, maybe */
		return;
	pool->slot[0] = pool->slot[1] = pool->slot[2] = 0x5a5a5a5a5a5a5a5a;
	if (!(p->flags & RT_MEM_PARKED))
		pool->park = 0x5b5b5b5b5b5b5b5b;
}

static void fill(struct md_interrupt *at, const greg_t *regs, const struct rt_mem_piece *p, uint32_t into)
{
	*at = (struct md_interrupt){
		.flags = (uint64_t)regs[REG_EFL], .node = p->node, .insn = p->insn,
		.written = p->written,
	};
	if ((p->flags & (RT_MEM_RUN | RT_MEM_BACK)) == RT_MEM_RUN)
		at->insn += into;
	for (int i = 0; i < NREGISTERS; i++)
		at->regs[i] = (uint64_t)regs[places[i]];
	if (p->flags & RT_MEM_PARKED)
		at->regs[p->reg] = stream_pool()->park;
}

/*
 * What has been stored for an instruction stays, and the stream goes on after it; where nothing has been, this goes on where the
 * runtime does.
 */
static void go_on(greg_t *regs, uint64_t arena, const struct rt_mem_piece *pieces, size_t n)
{
	uint32_t x = (uint32_t)((uint64_t)regs[REG_RIP] - arena);
	const struct rt_mem_piece *p = find(pieces, n, x), *first = rt_mem_first_of(pieces, p, x - p->start);

	if (first != p && first->written == p->written)
		regs[REG_RIP] = (greg_t)(arena + first->start);
}

void interrupt_there(ucontext_t *context, uint64_t arena, const struct rt_mem_piece *pieces, size_t n)
{
	greg_t *regs = context->uc_mcontext.gregs;
	uint32_t x = (uint32_t)((uint64_t)regs[REG_RIP] - arena);
	const struct rt_mem_piece *p;
	uint64_t in_front;
	struct md_interrupt at;
	uint64_t *ptr;

	if (x > RT_CALL_TAKEN && !memcmp((const uint8_t *)arena + x - RT_CALL_TAKEN, RT_CALL, RT_CALL_SIZE)) {
		x -= RT_CALL_TAKEN;
		regs[REG_RIP] -= RT_CALL_TAKEN;
		regs[REG_RSP] += 8;
	}
	p = find(pieces, n, x);
	put_back(regs, arena, p);
	if (p->flags & RT_MEM_PLAIN)
		return;
	in_front = p->flags & RT_MEM_MOVED ? 0 : p->written;
	fill(&at, regs, p, x - p->start);
	ptr = p->reg == RT_MEM_NO_REG ? &stream_pool()->ptr : (uint64_t *)&regs[places[p->reg]];
	if (stream_is_open() && *ptr)
		*ptr = stream_interrupt(*ptr + in_front, &at) - in_front;
	spoil(regs, p);
	go_on(regs, arena, pieces, n);
}
