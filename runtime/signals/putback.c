// SPDX-License-Identifier: MIT
/*
 * Takes an interrupted thread out of a probe: back to its start, or on to its end, with the
 * program's registers.  See trampolines/probe/probe.h.
 */
#include "runtime/signals/signals.h"
#include "runtime/thread.h"

static uint64_t saved_value(const uint64_t *regs, uint8_t from, const struct rt_thread *t)
{
	const uint64_t *stack = (const uint64_t *)regs[RT_UC_RSP];

	if (from >= RT_FROM_KEPT && t)
		return *rt_kept_value(t, from);
	if (from >= RT_FROM_RED)
		return stack[-(int)(from - RT_FROM_RED) - 1];
	if (from >= RT_FROM_STACK)
		return stack[from - RT_FROM_STACK];
	return *rt_reg((uint64_t *)regs, from);
}

static void put_back(const struct rt_probe_map *map, uint64_t x, uint64_t *regs, const struct rt_thread *t)
{
	if (map->flags_at != RT_FROM_NONE && x >= map->flags_saved)
		rt_put_back_flags(regs, saved_value(regs, map->flags_at, t));
	if (x >= map->saved)
		for (int i = 0; i < map->n && i < RT_PROBE_SAVES; i++)
			*rt_reg(regs, map->save[i].reg) = saved_value(regs, map->save[i].from, t);
	if (map->stack && x >= map->shifted)
		regs[RT_UC_RSP] += map->stack;
}

/*
 * Moves the pointer past the record, if it is still where the probe found it.  One instruction:
 * the handler of a further signal may record between any two.
 */
static int advance(struct rt_thread *t, uint64_t ptr, uint64_t bytes)
{
	uint64_t was = ptr;

	__asm__ volatile("cmpxchg %2, %1"
			 : "+a"(was), "+m"(t->ptr)
			 : "r"(ptr + bytes)
			 : "cc");
	return was == ptr;
}

static void step_shadow(struct rt_thread *t, int8_t step, uint64_t frame)
{
	/* a handler may have used the place meanwhile */
	if (step > 0)
		((struct rt_shadow *)t->shadow)->frame = frame;
	t->shadow += (uint64_t)(int64_t)step;
}

static void count(struct rt_thread *t, const uint8_t *done)
{
	int32_t offset;

	__builtin_memcpy(&offset, done - sizeof(offset), sizeof(offset));
	++*(uint64_t *)(t->counts + (uint64_t)(int64_t)offset);
}

/* What is left to do after the commit; 0: the record is gone. */
static int finish(const struct rt_probe_map *map, uint64_t start, uint64_t x, const uint64_t *regs,
		  struct rt_thread *t)
{
	if (x < map->ptr_done && !advance(t, *rt_reg((uint64_t *)regs, map->ptr_reg), RT_PROBE_RECORD_BYTES + 8u * map->words))
		return 0;
	if (x < map->shadow_done)
		step_shadow(t, map->shadow_step, regs[RT_UC_RSP] + map->stack);
	if (x < map->count_done)
		count(t, (const uint8_t *)start + map->count_done);
	return 1;
}

void rt_put_back(const struct rt_probe_map *map, uint64_t start, uint64_t *regs, struct rt_thread *t)
{
	uint64_t x = regs[RT_UC_RIP] - start;
	int counted = map->count_first && x == map->count_done;
	int done = counted || (x >= map->commit && finish(map, start, x, regs, t));

	put_back(map, x, regs, t);
	regs[RT_UC_RIP] = done ? start + map->length : start;
}
