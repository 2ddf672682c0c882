// SPDX-License-Identifier: MIT
/*
 * Handlers may look at the interrupted PC: profilers, crash reporters, unwinders.  They see that of the
 * original instruction.  But most of what arenas have copies of is written over in the original, so execution
 * cannot go on there: the real PC stays in words of the frame that the kernel leaves alone.  The C library's
 * __restore_rt, to which handlers return, is led to sonde_rt_restored, which puts it back before the kernel sees it.
 *
 *	thunk        rip = original, note = { mark, original, real }
 *	handler      reads rip; may change it
 *	__restore_rt ──▶ sonde_rt_restored     rip is still the note's: rip = real
 *	                                       else, if it is in a window: rip = its copy
 *
 * What a handler returns to is looked at, not what it was to return to: a program may have restorers of its own.
 * From those one can only go on where the original is intact.
 */
#include "base/search.h"
#include "runtime/blocks.h"
#include "runtime/memory/memory.h"
#include "runtime/signals/origin.h"
#include "runtime/signals/signals.h"
#include "runtime/thread.h"
#include "runtime/x86-64/sys.h"

#define RESTORER (-RT_UC_REGS - 1) /* the return address, just below the ucontext */
#define RESERVED 24		   /* sigcontext's reserved1[], eight words */
#define MARK UINT64_C(0x53e7a10fb91c06d5)
#define JMP 0xe9
#define LONGEST 4096 /* a piece is not more bytes of the original */

struct note {
	uint64_t mark;	/* MARK ^ its address: it is no copy, and no rubbish */
	uint64_t shown;
	uint64_t real;
};

/* Called by the assembly. */
__attribute__((visibility("hidden"))) void rt_restored(uint64_t *uc);

/* ---- maps ---- */

static const struct rt_codemaps *all_maps(uint64_t *n)
{
	const struct rt_codemaps *maps = (const void *)sonde_rt_config.codemaps;

	*n = maps ? __atomic_load_n(&maps->count, __ATOMIC_ACQUIRE) : 0;
	*n = *n < RT_MAX_CODEMAPS ? *n : RT_MAX_CODEMAPS;
	return maps;
}

const struct rt_codemap *rt_find_map(uint64_t addr)
{
	uint64_t n;
	const struct rt_codemaps *maps = all_maps(&n);

	for (uint64_t i = 0; i < n; i++)
		if (addr >= maps->v[i].arena && addr < maps->v[i].arena_end)
			return &maps->v[i];
	return NULL;
}

const void *rt_find_from(uint64_t pieces, uint32_t n, size_t size, uint32_t offset)
{
	const uint8_t *first = (const uint8_t *)pieces;
	size_t after = search_first(i, n, *(const uint32_t *)(first + i * size) > offset);

	return after ? first + (after - 1) * size : NULL;
}

/* The last piece that does not start after @addr. */
const struct rt_piece *rt_find_piece(const struct rt_codemap *map, uint64_t addr)
{
	return rt_find_from(map->pieces, map->npieces, sizeof(struct rt_piece),
			    (uint32_t)(addr - map->arena));
}

/* ---- from the copy to the original ---- */

/* 0: in the middle of what stands for one instruction, or for none. */
static uint64_t origin(const struct rt_codemap *map, const struct rt_piece *piece, uint64_t addr)
{
	uint64_t into = addr - map->arena - piece->start;
	uint8_t kind = piece->kind & ~RT_PIECE_RESUMABLE;

	if (kind == RT_PIECE_SLOW || (kind != RT_PIECE_COPY && into))
		return 0;
	return map->object + piece->orig + into;
}

int rt_is_led(uint64_t restorer)
{
	const struct rt_codemaps *maps = (const void *)sonde_rt_config.codemaps;

	if (restorer == (uint64_t)rt_mem_restorer)
		return 1;
	for (int i = 0; maps && i < RT_MAX_RESTORERS; i++)
		if (restorer && maps->restorers[i] == restorer)
			return 1;
	return 0;
}

/* 0: there is nothing to show. */
static uint64_t shown_for(const struct rt_codemap *map, uint64_t real, int led)
{
	const struct rt_piece *piece = map ? rt_find_piece(map, real) : NULL;

	if (!piece || !(led || piece->kind & RT_PIECE_RESUMABLE))
		return 0;
	return origin(map, piece, real);
}

void rt_show_origin(uint64_t *regs)
{
	struct note *note = (struct note *)(regs + RESERVED);
	uint64_t real = regs[RT_UC_RIP];
	int led = rt_is_led(regs[RESTORER]);
	uint64_t shown = shown_for(rt_find_map(real), real, led);

	if (shown)
		regs[RT_UC_RIP] = shown;
	if (led)
		*note = (struct note){ MARK ^ (uint64_t)note, regs[RT_UC_RIP], real };
}

/* ---- and back ---- */

/* How many bytes the piece is copies of. */
static uint64_t span(const struct rt_codemap *map, uint32_t i)
{
	const struct rt_piece *piece = (const struct rt_piece *)map->pieces + i;
	uint64_t end = i + 1 < map->npieces ? piece[1].start : map->arena_end - map->arena;

	switch (piece->kind) {
	case RT_PIECE_COPY: return end - piece->start;
	case RT_PIECE_INSN:
	case RT_PIECE_PROBE: return 1;
	default: return 0; /* the original is intact */
	}
}

static int is_window(uint64_t addr)
{
	const uint8_t *code = (const uint8_t *)addr;
	int32_t rel;

	__builtin_memcpy(&rel, code + 1, sizeof(rel));
	return *code == JMP && rt_find_map(addr + 5 + (uint64_t)(int64_t)rel);
}

/* The copy of what is at @addr in the original, 0: none, or the original is intact. */
static uint64_t copy_in(const struct rt_codemap *map, uint64_t addr)
{
	const struct rt_piece *pieces = (const void *)map->pieces;
	uint64_t off = addr - map->object;

	if (off < map->orig_lo || off > (uint64_t)map->orig_hi + LONGEST)
		return 0;
	for (uint32_t i = 0; i < map->npieces; i++)
		if (off - pieces[i].orig < span(map, i))
			return map->arena + pieces[i].start + (off - pieces[i].orig);
	return 0;
}

/* A handler chose to go on at @addr: from a copy if that is within a window. */
uint64_t rt_way_on(uint64_t addr)
{
	uint64_t n, copy;
	const struct rt_codemaps *maps = all_maps(&n);

	/* copies are newer than what runs the original's entry */
	for (uint64_t i = n; i-- > 0;) {
		copy = copy_in(&maps->v[i], addr);
		if (copy)
			return is_window(addr) ? addr : copy;
	}
	return addr;
}

/* It may have been interrupted in the original while windows were out, which cannot go on there when they are in. */
static uint64_t real_of(const struct note *note)
{
	return rt_windows_are_in() && !rt_find_map(note->real) ? rt_way_on(note->real) : note->real;
}

void rt_restored(uint64_t *uc)
{
	uint64_t *regs = uc + RT_UC_REGS;
	struct note *note = (struct note *)(regs + RESERVED);

	if (note->mark != (MARK ^ (uint64_t)note))
		return;
	note->mark = 0;
	/* whoever writes windows in waits as long as a thread is here, but not for one that a signal takes away from here */
	if (rt_windows_are_switched())
		sys_block_signals();
	if (regs[RT_UC_RIP] == note->shown)
		regs[RT_UC_RIP] = real_of(note);
	else
		regs[RT_UC_RIP] = rt_way_on(regs[RT_UC_RIP]);
	(void)rt_mem_returns(regs);
	if (sonde_rt_config.probe_mode == RT_PROBE_BLOCKS)
		rt_blocks_returns(regs);
}
