// SPDX-License-Identifier: MIT
/*
 * Signals that arrive in mirrors that record memory: the handler may record as well, and the stream's pointer is in
 * a register of the code that was interrupted.
 *
 *	arrives   brings the pointer home, puts the program's registers back, cuts the stream there; what the
 *		  handler records is in a chunk of its own, SIGNAL
 *	returns   a new chunk, STATE, says where it goes on, and the register gets the pointer again.  If the
 *		  handler does not return, its chunk simply continues: places where control comes from
 *		  elsewhere need no more.
 *
 * It goes on where the instruction's own words are stored, for those have not been kept.
 */
#include "runtime/memory/again.h"
#include "runtime/memory/memory.h"
#include "runtime/signals/origin.h"
#include "runtime/signals/signals.h"
#include "runtime/x86-64/sys.h"

#define CALL_LEN 6 /* of the call of the gate */

RT_HIDDEN extern const uint8_t rt_mem_gate_saves[], rt_mem_gate_lower1[], rt_mem_gate_saved[],
	rt_mem_gate_blocked[], rt_mem_gate_restores[], rt_mem_gate_lower2[], rt_mem_gate_restored[],
	rt_mem_gate_end[];

/* ---- the gate ---- */

static void load_saved(uint64_t *regs, const uint64_t *saved)
{
	for (unsigned int i = 0; i < RT_MEM_REGS; i++)
		if (i != RT_MEM_RSP)
			*rt_reg(regs, i) = saved[i];
	regs[RT_UC_FLAGS] = saved[RT_MEM_FLAGS_WORD];
}

/* Out of the gate: to its call if that can be repeated, else to the instruction after it. */
static void leave_gate(uint64_t *regs)
{
	const uint8_t *pc = (const uint8_t *)regs[RT_UC_RIP];
	uint64_t sp = regs[RT_UC_RSP];
	int entering = pc < rt_mem_gate_blocked;

	if (pc < (const uint8_t *)sonde_rt_mem_gate || pc >= rt_mem_gate_end)
		return;
	if (!entering && pc < rt_mem_gate_restores)
		return; /* all signals are blocked: a fault of ours */
	if (pc == rt_mem_gate_lower1 || pc == rt_mem_gate_lower2)
		sp += 8;
	if (pc >= rt_mem_gate_saved && pc < rt_mem_gate_restored)
		load_saved(regs, (const uint64_t *)sp);
	if (pc >= rt_mem_gate_saves && pc < rt_mem_gate_restored)
		sp += RT_MEM_FRAME;
	regs[RT_UC_RIP] = *(const uint64_t *)sp - (entering ? CALL_LEN : 0);
	regs[RT_UC_RSP] = sp + 8;
}

/* ---- pieces ---- */

static const struct rt_mem_piece *pieces_of(const struct rt_codemap *map)
{
	return (const struct rt_mem_piece *)map->mems;
}

/* The last one that does not start after @addr. */
static const struct rt_mem_piece *find_piece(const struct rt_codemap *map, uint64_t addr)
{
	const struct rt_mem_piece *p = rt_find_from(map->mems, map->nmems, sizeof(struct rt_mem_piece),
						    (uint32_t)(addr - map->arena));

	return p && p->node != RT_MEM_NO_NODE ? p : NULL;
}

static uint16_t insn_at(const struct rt_codemap *map, const struct rt_mem_piece *p, uint64_t addr)
{
	return (uint16_t)(p->insn + ((p->flags & (RT_MEM_RUN | RT_MEM_BACK)) == RT_MEM_RUN ? addr - map->arena - p->start : 0));
}

/* The register that slot 0 holds. */
static unsigned int slot_reg(const struct rt_mem_piece *p)
{
	return p->flags & RT_MEM_PLAIN ? p->reg % RT_MEM_REGS : 0;
}

/* In the middle of what is ours: to its beginning. */
static void go_back(const struct rt_codemap *map, const struct rt_mem_piece *p, uint64_t *regs,
		    const struct rt_thread *t)
{
	const uint64_t *stack = (const uint64_t *)regs[RT_UC_RSP];
	int lowered = p->flags & RT_MEM_LOWERED;
	uint64_t slot[2];

	if (p->flags & (RT_MEM_SLOT0 | RT_MEM_FLAGS) && (lowered || t)) {
		slot[0] = lowered ? stack[0] : t->mem_slot[0];
		slot[1] = lowered ? stack[1] : t->mem_slot[1];
		if (p->flags & RT_MEM_FLAGS)
			rt_put_back_flags(regs, slot[1]);
		if (p->flags & RT_MEM_SLOT0)
			*rt_reg(regs, slot_reg(p)) = slot[0];
		if (p->flags & RT_MEM_SLOT2 && t && !lowered)
			*rt_reg(regs, RT_MEM_RDX) = t->mem_slot[2];
	}
	if (lowered)
		regs[RT_UC_RSP] += RT_MEM_BELOW;
	regs[RT_UC_RIP] = map->arena + p->start - p->back;
}

static const struct rt_mem_piece *first_of(const struct rt_codemap *map, const struct rt_mem_piece *p,
					   uint64_t pc)
{
	return rt_mem_first_of(pieces_of(map), p, pc - map->arena - p->start);
}

/* ---- arrival ---- */

static struct rt_thread *own_thread(void)
{
	return rt_gs_is_ours() ? rt_current_of(rt_tcb()) : NULL;
}

static struct rt_mem_place place(const struct rt_codemap *map, const struct rt_mem_piece *p,
				 const uint64_t *regs, uint64_t *by_number)
{
	for (unsigned int i = 0; i < RT_MEM_REGS; i++)
		by_number[i] = *rt_reg((uint64_t *)regs, i);
	return (struct rt_mem_place){
		.regs = by_number, .sp = regs[RT_UC_RSP], .flags = regs[RT_UC_FLAGS],
		.node = p->node, .insn = insn_at(map, p, regs[RT_UC_RIP]),
		.written = p->written,
	};
}

/* The pointer past all that the node has written. */
static uint64_t pointer(const struct rt_mem_piece *p, const uint64_t *regs, const struct rt_thread *t)
{
	uint64_t ptr;

	if (p->reg == RT_MEM_NO_REG)
		return t->mem_ptr;
	ptr = *rt_reg((uint64_t *)regs, p->reg);
	return p->flags & RT_MEM_MOVED ? ptr : ptr + p->written;
}

/*
 * Where the program is, and where it is to go on.  What has been stored for the instruction stays in the stream: of a
 * repeated string instruction the reader has to know how far it came.
 */
static const struct rt_mem_piece *settle(const struct rt_codemap *map, uint64_t *regs,
					 const struct rt_thread *t, uint64_t *again)
{
	const struct rt_mem_piece *p = find_piece(map, regs[RT_UC_RIP]), *first;

	if (p && p->flags & RT_MEM_BACK) {
		go_back(map, p, regs, t);
		p = find_piece(map, regs[RT_UC_RIP]);
	}
	*again = regs[RT_UC_RIP];
	if (!p || p->flags & RT_MEM_PLAIN)
		return p;
	first = first_of(map, p, regs[RT_UC_RIP]);
	if (first != p)
		*again = map->arena + first->start;
	return p;
}

/* The signal is in the stream: the handler's chunk begins with it. */
static void put_signal(struct rt_thread *t, const struct rt_codemap *map,
		       const struct rt_mem_piece *p, uint64_t ptr, const uint64_t *regs)
{
	uint64_t by_number[RT_MEM_REGS];
	struct rt_mem_place at = place(map, p, regs, by_number);

	rt_mem_forget(t, ptr);
	rt_mem_cut(t, ptr);
	rt_mem_begin(t, MD_CHUNK_SIGNAL, &at);
}

static void arrived(uint64_t *regs)
{
	const struct rt_codemap *map;
	const struct rt_mem_piece *p;
	struct rt_thread *t = own_thread();
	uint64_t ptr, again;

	leave_gate(regs);
	map = rt_find_map(regs[RT_UC_RIP]);
	p = map && map->nmems ? settle(map, regs, t, &again) : NULL;
	if (!p || p->flags & RT_MEM_PLAIN || !t || !t->mem_base)
		return;
	ptr = pointer(p, regs, t);
	if (p->reg != RT_MEM_NO_REG)
		*rt_reg(regs, p->reg) = p->flags & RT_MEM_PARKED ? t->mem_park : 0;
	if (!t->mem_off && t->mem_state != RT_MEM_CLOSED)
		put_signal(t, map, p, ptr, regs);
	regs[RT_UC_RIP] = again;
}

void rt_mem_arrived(uint64_t *regs)
{
	if (sonde_rt_config.mem_slack)
		arrived(regs);
}

int rt_mem_begins(const struct rt_codemap *map, uint64_t pc)
{
	const struct rt_mem_piece *p = find_piece(map, pc);

	if (!p)
		return 1;
	if (p->flags & RT_MEM_BACK && (p->flags & RT_MEM_PLAIN || p->back || pc != map->arena + p->start))
		return 0;
	return p->flags & RT_MEM_PLAIN || first_of(map, p, pc) == p;
}

/* ---- and return ---- */

/* The handler's chunk is over. */
static void end_chunk(struct rt_thread *t)
{
	if (t->mem_state == RT_MEM_CLOSED)
		return;
	rt_mem_cut(t, t->mem_ptr);
	rt_mem_begin(t, MD_CHUNK_END, NULL);
	rt_mem_cut(t, t->mem_ptr);
}

/* To where nothing is recorded: a burst that the handler has begun goes on where recording goes on. */
static void returns_to_plain(struct rt_thread *t)
{
	end_chunk(t);
	t->mem_state = RT_MEM_CLOSED;
	t->mem_limit = 0;
	rt_mem_hold(t);
}

void rt_mem_rest(void)
{
	struct rt_thread *t = own_thread();

	if (!t || !t->mem_began)
		return;
	if (t->mem_state == RT_MEM_OPEN)
		rt_mem_finish(t);
	t->mem_state = RT_MEM_CLOSED;
	rt_mem_off(t);
}

static void give_pointer(const struct rt_thread *t, const struct rt_mem_piece *p, uint64_t *reg)
{
	*reg = p->flags & RT_MEM_MOVED ? t->mem_ptr : t->mem_ptr - p->written;
}

/* Not in the middle of what is ours. */
static int is_settled(const struct rt_codemap *map, const struct rt_mem_piece *p,
		      const uint64_t *regs)
{
	return !(p->flags & RT_MEM_BACK) || regs[RT_UC_RIP] == map->arena + p->start - p->back;
}

/* Signals stay blocked: the kernel sets the frame's mask. */
int rt_mem_returns(uint64_t *regs)
{
	const struct rt_codemap *map = rt_find_map(regs[RT_UC_RIP]);
	const struct rt_mem_piece *p = map && map->nmems ? find_piece(map, regs[RT_UC_RIP]) : NULL;
	struct rt_thread *t = own_thread();
	uint64_t by_number[RT_MEM_REGS];
	struct rt_mem_place at;

	if (!p)
		return 1;
	if (!is_settled(map, p, regs) || !t || !t->mem_base)
		return 0;
	sys_block_signals();
	if (p->flags & RT_MEM_PLAIN) {
		returns_to_plain(t);
		return 1;
	}
	at = place(map, p, regs, by_number);
	if (t->mem_off) {
		rt_mem_nowhere(t);
	} else {
		end_chunk(t);
		rt_mem_begin(t, MD_CHUNK_STATE, &at);
		rt_mem_on(t);
	}
	if (p->reg == RT_MEM_NO_REG)
		return 1;
	if (p->flags & RT_MEM_PARKED)
		t->mem_park = by_number[p->reg & 15];
	give_pointer(t, p, rt_reg(regs, p->reg));
	return 1;
}
