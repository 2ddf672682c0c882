// SPDX-License-Identifier: MIT
/*
 * A program may set the processor's trap flag: then each instruction ends with SIGTRAP, whose handler is to see every
 * instruction of the program once, and none of ours.
 *
 *	in the original	every one, but for a jump that leads to a copy
 *	in a copy	where an instruction of the original begins; not within what stands for one, in probes, in jumps that
 *			only lead to where it is
 *	in the runtime	none.  The flag is taken away once `pushf` has saved it, which `popf` brings back: a trap while signals
 *			are blocked ends the program
 *
 * Where nothing is delivered nothing is put back, either: a sequence that is begun again at each step would never end.
 */
#include <stddef.h>

#include "runtime/memory/memory.h"
#include "runtime/signals/origin.h"
#include "runtime/signals/signals.h"
#include "runtime/signals/stepping.h"

#define SIGTRAP_NUMBER 5
#define DEBUG_EXCEPTION 1
#define TRAP_FLAG 0x100u
#define PUSHF 0x9c
#define JMP_NEAR 0xe9
#define JMP_SHORT 0xeb
#define JMP_WORD 0x25ff /* by the word at a PC-relative address */

/* of the runtime's object, by the linker */
RT_HIDDEN extern const uint8_t __ehdr_start[], etext[];

/* Where the jump at @addr leads, 0: there is none. */
static uint64_t jump_target(uint64_t addr)
{
	const uint8_t *code = (const uint8_t *)addr;
	int32_t near;

	if (*code == JMP_SHORT)
		return addr + 2 + (uint64_t)(int64_t)(int8_t)code[1];
	if (*code != JMP_NEAR)
		return 0;
	__builtin_memcpy(&near, code + 1, sizeof(near));
	return addr + 5 + (uint64_t)(int64_t)near;
}

/*
 * A jump of ours in the original: into an arena, or to another one that leads there.  The program may jump to a function's entry, too, but
 * of that jump there is no copy.
 */
static int leads_to_copy(uint64_t addr)
{
	uint64_t to = jump_target(addr);

	if (!to || rt_find_map(to))
		return to != 0;
	return *(const uint8_t *)addr == JMP_SHORT && *(const uint8_t *)to == JMP_NEAR && rt_find_map(jump_target(to)) &&
	       rt_way_on(addr) != addr;
}

/* The address in the original that @pc stands for, if that begins there. */
static uint64_t stands_for(uint64_t pc)
{
	const struct rt_codemap *map = rt_find_map(pc);
	const struct rt_piece *piece = map ? rt_find_piece(map, pc) : NULL;
	uint64_t into = piece ? pc - map->arena - piece->start : 0;

	if (!map)
		return pc;
	if (!piece || (into && (piece->kind & ~RT_PIECE_RESUMABLE) != RT_PIECE_COPY))
		return 0;
	return map->object + piece->orig + into;
}

/* A jump of ours at the beginning of @piece: it leads to what it stands for itself. */
static int leads_to_itself(const struct rt_codemap *map, const struct rt_piece *piece)
{
	uint64_t to = jump_target(map->arena + piece->start);

	return to && stands_for(to) == map->object + piece->orig;
}

static int mem_begins(const struct rt_codemap *map, uint64_t pc)
{
	return !map->nmems || rt_mem_begins(map, pc);
}

/* What leads to a function that may not have been called yet: trampolines/mirror/first.h. */
static int is_stub(const struct rt_codemap *map, const struct rt_piece *piece)
{
	return *(const uint16_t *)(map->arena + piece->start) == JMP_WORD && (piece[1].kind & ~RT_PIECE_RESUMABLE) == RT_PIECE_SLOW;
}

/* The instruction itself comes later: what follows stands for it as well, or this only leads to its copy or the runtime. */
static int goes_on(const struct rt_codemap *map, const struct rt_piece *piece)
{
	const struct rt_piece *next = piece + 1, *end = (const struct rt_piece *)map->pieces + map->npieces;

	if (next < end && next->orig == piece->orig && is_stub(map, piece))
		return 1;
	for (; next < end && next->orig == piece->orig; next++)
		if ((next->kind & ~RT_PIECE_RESUMABLE) <= RT_PIECE_INSN && mem_begins(map, map->arena + next->start))
			return 1;
	return 0;
}

static int begins_instruction(const struct rt_codemap *map, uint64_t pc)
{
	const struct rt_piece *piece = rt_find_piece(map, pc);

	if (!piece || !mem_begins(map, pc))
		return 0;
	switch (piece->kind & ~RT_PIECE_RESUMABLE) {
	case RT_PIECE_COPY: return 1;
	case RT_PIECE_INSN:
		return pc == map->arena + piece->start && !leads_to_itself(map, piece) && !goes_on(map, piece);
	default: return 0;
	}
}

int rt_step_is_ours(uint64_t *regs, uint64_t sig)
{
	uint64_t pc = regs[RT_UC_RIP];
	const struct rt_codemap *map;

	if (sig != SIGTRAP_NUMBER || !(regs[RT_UC_FLAGS] & TRAP_FLAG) || regs[RT_UC_TRAP] != DEBUG_EXCEPTION)
		return 0;
	if (pc - (uint64_t)__ehdr_start < (uint64_t)(etext - __ehdr_start)) {
		if (((const uint8_t *)pc)[-1] == PUSHF)
			regs[RT_UC_FLAGS] &= ~(uint64_t)TRAP_FLAG;
		return 1;
	}
	map = rt_find_map(pc);
	return map ? !begins_instruction(map, pc) : leads_to_copy(pc);
}
