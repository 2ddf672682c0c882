// SPDX-License-Identifier: MIT
/*
 * Signals while blocks are counted.  A handler need not return, nor to where it came; but all edges are computed from those that are
 * counted, since what comes into a block goes out of it.  So what a signal interrupts counts as left there, and what a handler
 * returns to as entered there; of most places that is nothing in the end.
 *
 * Counters that are interrupted have counted before the handler runs: what is before the instruction that comes next has been
 * counted, and nothing else.
 */
#include "runtime/blocks.h"
#include "runtime/signals/origin.h"
#include "runtime/signals/signals.h"
#include "runtime/stack.h"
#include "runtime/x86-64/sys.h"
#include "runtime/thread.h"

#define RESTORER (-RT_UC_REGS - 1) /* the return address, just below the ucontext */

static struct rt_thread *own_thread(void)
{
	uint64_t tcb = rt_tcb();
	struct rt_thread *t = rt_gs_is_ours() ? rt_current_of(tcb) : NULL;

	if (!t && rt_gs_is_ours())
		t = rt_register(tcb);
	if (t)
		t->owner = tcb;
	return t;
}

/* The offset of the counter is in the last 4 bytes of the instruction that changes it. */
static uint64_t *counter_at(const struct rt_thread *t, const uint8_t *done)
{
	int32_t offset;

	__builtin_memcpy(&offset, done - sizeof(offset), sizeof(offset));
	return (uint64_t *)(t->counts + (uint64_t)(int64_t)offset);
}

static void add_kept(const struct rt_thread *t, const uint8_t *done, uint64_t n)
{
	*counter_at(t, done) += n;
}

/* A loop is left. */
static void note_trips(uint64_t *trips, uint64_t n)
{
	if (n > trips[RT_TRIPS_MOST])
		trips[RT_TRIPS_MOST] = n;
	if (n && (!trips[RT_TRIPS_LEAST] || n < trips[RT_TRIPS_LEAST]))
		trips[RT_TRIPS_LEAST] = n;
}

static void end_trips(uint64_t *trips)
{
	note_trips(trips, trips[RT_TRIPS_RUNNING]);
	trips[RT_TRIPS_RUNNING] = 0;
}

static void begin_trips(uint64_t *trips)
{
	if (trips[RT_TRIPS_RUNNING])
		trips[RT_TRIPS_UNKNOWN] = 1;
}

static void do_count(const struct rt_probe_map *probe, const uint8_t *done, uint64_t *regs, struct rt_thread *t)
{
	uint64_t *reg = rt_reg(regs, probe->kept);

	switch (probe->how) {
	case RT_COUNT_BEGIN:
		*rt_kept_value(t, probe->kept) = *reg;
		*reg = (uint64_t)(int64_t)probe->by;
		break;
	case RT_COUNT_ADD:
		*reg += (uint64_t)(int64_t)probe->by;
		break;
	case RT_COUNT_END:
		add_kept(t, done, *reg);
		break;
	case RT_COUNT_ENTER:
		begin_trips(counter_at(t, done) - RT_TRIPS_UNKNOWN);
		break;
	case RT_COUNT_LEFT:
		end_trips(counter_at(t, done) - RT_TRIPS_RUNNING);
		break;
	case RT_COUNT_LEFT_KEPT:
		note_trips(counter_at(t, done) - RT_TRIPS_LEAST, *reg);
		break;
	default:
		add_kept(t, done, 1);
	}
}

/* 0: it is not in a counter. */
static int finish_counter(const struct rt_codemap *map, const struct rt_piece *piece, uint64_t *regs)
{
	const struct rt_probe_map *probe = (const struct rt_probe_map *)map->probes + piece->probe;
	uint64_t start = map->arena + piece->start, x = regs[RT_UC_RIP] - start;
	struct rt_thread *t;

	if ((piece->kind & ~RT_PIECE_RESUMABLE) != RT_PIECE_PROBE || piece->probe >= map->nprobes || x >= probe->length)
		return 0;
	t = own_thread();
	if (!t || !t->counts)
		return 0;
	if (x < probe->count_done)
		do_count(probe, (const uint8_t *)start + probe->count_done, regs, t);
	rt_put_back(probe, start, regs, t);
	if ((probe->how == RT_COUNT_END || probe->how == RT_COUNT_LEFT_KEPT) && probe->kept_saved)
		*rt_reg(regs, probe->kept) = *rt_kept_value(t, probe->kept);
	regs[RT_UC_RIP] = start + probe->length;
	return 1;
}

static const struct rt_piece *piece_at(uint64_t addr, const struct rt_codemap **map)
{
	*map = rt_find_map(addr);
	return *map ? rt_find_piece(*map, addr) : NULL;
}

/* Of the original; 0: it is in no copy. */
static uint64_t instruction(uint64_t addr)
{
	const struct rt_codemap *map;
	const struct rt_piece *piece = piece_at(addr, &map);
	uint8_t kind = piece ? piece->kind & ~RT_PIECE_RESUMABLE : RT_PIECE_SLOW;

	if (kind == RT_PIECE_SLOW)
		return 0;
	return map->object + piece->orig + (kind == RT_PIECE_COPY ? addr - map->arena - piece->start : 0);
}

/* @by: 1 or -1. */
static void note(const struct rt_thread *t, uint64_t addr, int64_t by)
{
	struct ring_left *left = (struct ring_left *)t->counts, *free = NULL;

	for (unsigned int i = 0; i < RING_GONE; i++) {
		if (left[i].net && left[i].addr == addr) {
			left[i].net += by;
			return;
		}
		if (!left[i].net && !free)
			free = &left[i];
	}
	if (!free) {
		rt_count_lost((struct rt_thread *)t, 1);
		return;
	}
	free->addr = addr;
	free->net = by;
}

#define JMP 0xe9
#define JMP_SIZE 5

#define RCX 1
#define REP 0xf3
#define WIDTH 0x66 /* may stand before that */

/*
 * A string instruction that is repeated comes next, maybe not for the first time: how often it is to be has been counted just before.
 * What is left of that, for as long as the handler runs, has not been done: @sign is -1, and 1 when it returns.
 */
static void count_rest(uint64_t *regs, int64_t sign)
{
	const struct rt_codemap *map;
	const struct rt_piece *piece = piece_at(regs[RT_UC_RIP] - 1, &map);
	const struct rt_probe_map *probe;
	const uint8_t *insn;
	struct rt_thread *t;
	uint64_t start;

	if (!piece || (piece->kind & ~RT_PIECE_RESUMABLE) != RT_PIECE_PROBE || piece->probe >= map->nprobes)
		return;
	probe = (const struct rt_probe_map *)map->probes + piece->probe;
	start = map->arena + piece->start;
	insn = (const uint8_t *)regs[RT_UC_RIP];
	if (probe->how != RT_COUNT_END || probe->kept != RCX || probe->kept_saved || regs[RT_UC_RIP] != start + probe->length ||
	    (insn[0] == WIDTH ? insn[1] : insn[0]) != REP)
		return;
	t = own_thread();
	if (t && t->counts)
		add_kept(t, (const uint8_t *)start + probe->count_done, (uint64_t)sign * *rt_reg(regs, RCX));
}

/* A jump of ours that leads to the instruction that it stands for: counters may follow there that belong to what is before. */
static int follow_jump(const struct rt_codemap *map, const struct rt_piece *piece, uint64_t *regs)
{
	const uint8_t *code = (const uint8_t *)regs[RT_UC_RIP];
	const struct rt_piece *there;
	uint64_t to;
	int32_t rel;

	if ((piece->kind & ~RT_PIECE_RESUMABLE) != RT_PIECE_INSN || regs[RT_UC_RIP] != map->arena + piece->start || *code != JMP)
		return 0;
	__builtin_memcpy(&rel, code + 1, sizeof(rel));
	to = regs[RT_UC_RIP] + JMP_SIZE + (uint64_t)(int64_t)rel;
	there = rt_find_map(to) == map ? rt_find_piece(map, to) : NULL;
	if (!there || there->orig != piece->orig || map->arena + there->start != to)
		return 0;
	regs[RT_UC_RIP] = to;
	return 1;
}

/* Those that are in registers where the thread is; NULL: none. */
static const struct rt_kept *kept_at(uint64_t addr)
{
	const struct rt_codemap *map;
	const struct rt_piece *piece = piece_at(addr, &map);

	if (!piece || (piece->kind & ~RT_PIECE_RESUMABLE) > RT_PIECE_INSN || !piece->probe || piece->probe > map->nprobes)
		return NULL;
	return (const struct rt_kept *)map->probes + (piece->probe - 1);
}

/* Until the handler returns; in which the loop may be interrupted once more, which there is no place for. */
static void put_aside(uint64_t *trips, uint64_t n)
{
	if (trips[RT_TRIPS_RUNNING])
		trips[RT_TRIPS_UNKNOWN] = 1;
	trips[RT_TRIPS_RUNNING] = n;
}

static uint64_t take_back(uint64_t *trips)
{
	uint64_t n = trips[RT_TRIPS_RUNNING];

	trips[RT_TRIPS_RUNNING] = 0;
	return n;
}

/* Registers become the program's, what they counted part of the counters in memory. */
static void leave_kept(uint64_t *regs)
{
	const struct rt_kept *kept = kept_at(regs[RT_UC_RIP]);
	struct rt_thread *t = kept ? own_thread() : NULL;

	for (unsigned int i = 0; t && t->counts && i < kept->n && i < RT_KEPT_MAX; i++) {
		uint64_t *reg = rt_reg(regs, kept->reg[i] & 15);
		uint64_t *counter = (uint64_t *)t->counts + kept->counter[i];

		if (kept->reg[i] & RT_KEPT_TRIPS)
			put_aside(counter, *reg);
		else
			*counter += *reg;
		*reg = kept->reg[i] & RT_KEPT_SAVED ? *rt_kept_value(t, kept->reg[i]) : 0;
	}
}

/* And back; that may be in another loop than where the signal came. */
static void enter_kept(uint64_t *regs)
{
	const struct rt_kept *kept = kept_at(regs[RT_UC_RIP]);
	struct rt_thread *t = kept ? own_thread() : NULL;

	for (unsigned int i = 0; t && i < kept->n && i < RT_KEPT_MAX; i++) {
		*rt_kept_value(t, kept->reg[i]) = *rt_reg(regs, kept->reg[i] & 15);
		*rt_reg(regs, kept->reg[i] & 15) = kept->reg[i] & RT_KEPT_TRIPS && t->counts ?
							   take_back((uint64_t *)t->counts + kept->counter[i]) : 0;
	}
}

static void finish_counters(uint64_t *regs)
{
	const struct rt_codemap *map;
	const struct rt_piece *piece;
	int jumps = 1;

	do {
		piece = piece_at(regs[RT_UC_RIP], &map);
	} while (piece && (finish_counter(map, piece, regs) || (jumps-- > 0 && follow_jump(map, piece, regs))));
}

void rt_blocks_arrived(uint64_t *regs)
{
	uint64_t addr;
	struct rt_thread *t;

	finish_counters(regs);
	count_rest(regs, -1);
	leave_kept(regs);
	addr = rt_is_led(regs[RESTORER]) ? instruction(regs[RT_UC_RIP]) : 0;
	t = addr ? own_thread() : NULL;
	if (t && t->ring && t->counts)
		note(t, addr, 1);
}

void rt_blocks_returns(uint64_t *regs)
{
	uint64_t addr = instruction(regs[RT_UC_RIP]);
	struct rt_thread *t;

	if (!addr)
		return;
	rt_block_signals(); /* until the kernel has taken the frame */
	/* a child that was forked by the handler has none yet, and the counters that follow do not ask */
	t = own_thread();
	enter_kept(regs);
	count_rest(regs, 1);
	if (t && t->ring && t->counts)
		note(t, addr, -1);
}
