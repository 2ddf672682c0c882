// SPDX-License-Identifier: MIT
/*
 * The program's calls of rt_sigaction come here, see x86-64/sigthunks.S.  A thunk stands for a handler, not
 * for a signal: so children of vfork(), which share our memory but not their signal actions, and threads
 * that set actions at the same time need no care; and nothing is forgotten, since a thunk is
 * for ever.  The kernel knows flags, mask and restorer as the program gave them.
 *
 * Several signals at once: the kernel makes a frame for each, and runs the handler of the last one; what
 * it has interrupted is the first instruction of the thunk of the one before.
 *
 *	stack    frame of signal 1: rip in a probe           handler 2 runs first
 *	         frame of signal 2: rip = thunk 1, rdx = 1's ucontext
 *
 * Thunk 2 does thunk 1's work as well, and makes that frame look as if handler 1 was about to start.  So it does where signal 2
 * comes in the first instructions of thunk 1, before signals are blocked, which they are where copies keep values of the program's
 * registers in the pool.  Elsewhere, if signal 2 comes while thunk 1 is at work, handler 2 may record where the interrupted probe was
 * about to: rt_put_back() finds that.
 */
#include "runtime/blocks.h"
#include "runtime/guest/guest.h"
#include "runtime/signals/signals.h"
#include "runtime/signals/origin.h"
#include "runtime/signals/stepping.h"
#include "runtime/memory/memory.h"
#include "runtime/x86-64/sys.h"
#include "runtime/thread.h"

#define SA_RESTORER_FLAG 0x04000000u
#define SIG_IGNORE 1 /* and 0 is SIG_DFL */

/* As the kernel has it; the program's need not be aligned. */
struct __attribute__((packed)) kernel_action {
	uint64_t handler;
	uint64_t flags;
	uint64_t restorer;
	uint64_t mask;
};

RT_HIDDEN extern const uint8_t rt_thunks[RT_THUNKS][RT_THUNK_BYTES];
RT_HIDDEN extern const uint8_t rt_arrive[], rt_arrive_saved[], rt_arrive_blocked[];

_Static_assert(offsetof(struct rt_config, parked) == RT_CONFIG_PARKED, "read by the assembly");

__attribute__((visibility("default"), used)) struct rt_handlers sonde_rt_handlers;
/* the handlers among them, for the assembly */
RT_HIDDEN extern uint64_t rt_handlers[RT_THUNKS] __attribute__((alias("sonde_rt_handlers")));

/* Called by the assembly. */
RT_HIDDEN int64_t rt_sigaction(uint64_t sig, const struct kernel_action *act,
			       struct kernel_action *old, uint64_t size);
RT_HIDDEN int rt_signal_arrived(uint64_t *uc, uint64_t sig);
RT_HIDDEN void rt_depart(uint64_t *uc);
RT_HIDDEN void rt_enter(uint64_t *uc);
RT_HIDDEN void rt_come(uint64_t *uc);
RT_HIDDEN void rt_rest(uint64_t *uc);

/* ---- thunks ---- */

static int is_thunk(uint64_t addr)
{
	return addr - (uint64_t)rt_thunks < sizeof(rt_thunks);
}

/* The handler whose thunk begins at @addr, or 0. */
static uint64_t handler_of(uint64_t addr)
{
	uint64_t offset = addr - (uint64_t)rt_thunks;

	if (!is_thunk(addr) || offset % RT_THUNK_BYTES)
		return 0;
	return __atomic_load_n(&rt_handlers[offset / RT_THUNK_BYTES], __ATOMIC_RELAXED);
}

/* The handler itself when there is no thunk left. */
static uint64_t thunk_for(uint64_t handler)
{
	for (uint64_t i = 0; i < RT_THUNKS; i++) {
		uint64_t free = 0;

		if (__atomic_compare_exchange_n(&rt_handlers[i], &free, handler, 0,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		    free == handler)
			return (uint64_t)rt_thunks[i];
	}
	return handler;
}

/* ---- rt_sigaction ---- */

static int wants_thunk(const struct kernel_action *act)
{
	uint64_t addr = (uint64_t)act;

	/* two pages at most, so what lies between is readable too */
	if (!act || !sys_is_readable(addr) || !sys_is_readable(addr + sizeof(*act) - sizeof(uint64_t)))
		return 0;
	return act->handler > SIG_IGNORE && !is_thunk(act->handler);
}

static void translate(struct kernel_action *old)
{
	uint64_t handler = handler_of(old->handler);

	if (handler)
		old->handler = handler;
}

/* The program's own stays known, so that it can be put back. */
static uint64_t lead_restorer(uint64_t thunk, uint64_t restorer)
{
	uint64_t offset = thunk - (uint64_t)rt_thunks;

	if (!is_thunk(thunk))
		return restorer;
	__atomic_store_n(&sonde_rt_handlers.restorers[offset / RT_THUNK_BYTES], restorer, __ATOMIC_RELAXED);
	return (uint64_t)rt_mem_restorer;
}

int64_t rt_sigaction(uint64_t sig, const struct kernel_action *act, struct kernel_action *old,
		     uint64_t size)
{
	struct kernel_action ours;
	int64_t ret;

	if (size == sizeof(act->mask) && wants_thunk(act)) {
		ours = *act;
		ours.handler = thunk_for(ours.handler);
		if ((sonde_rt_config.mem_slack || sonde_rt_config.probe_mode == RT_PROBE_BLOCKS) && ours.flags & SA_RESTORER_FLAG &&
		    !rt_is_led(ours.restorer))
			ours.restorer = lead_restorer(ours.handler, ours.restorer);
		act = &ours;
	}
	ret = sys4(__NR_rt_sigaction, sig, act, old, size);
	if (ret == 0 && old)
		translate(old);
	return ret;
}

/* ---- arrival ---- */

static void leave_probe(const struct rt_codemap *map, const struct rt_piece *piece, uint64_t *regs)
{
	const struct rt_probe_map *probe = (const struct rt_probe_map *)map->probes + piece->probe;
	uint64_t start = map->arena + piece->start;
	uint64_t x = regs[RT_UC_RIP] - start;

	if (piece->probe >= map->nprobes || x >= probe->length)
		return;
	/* before the commit there may be no pool */
	rt_put_back(probe, start, regs, x >= probe->commit ? rt_current() : NULL);
}

#define CALL_SIZE 5 /* what a thunk begins with */

/*
 * The ucontext of the signal before if its thunk has done nothing yet; its handler is about to start then.  NULL: it has, or there is
 * none.
 */
static uint64_t *undone(uint64_t *regs)
{
	uint64_t rip = regs[RT_UC_RIP], handler = handler_of(rip);
	uint64_t *uc = (uint64_t *)regs[RT_UC_RDX];

	if (rip - (uint64_t)rt_arrive < (uint64_t)(rt_arrive_blocked - rt_arrive)) {
		if (rip >= (uint64_t)rt_arrive_saved) {
			const uint64_t *frame = (const uint64_t *)regs[RT_UC_RBP];

			regs[RT_UC_RAX] = frame[-1];
			regs[RT_UC_RDX] = frame[-3];
			regs[RT_UC_RSI] = frame[-4];
			regs[RT_UC_RDI] = frame[-5];
			regs[RT_UC_R10] = frame[-8];
			uc = (uint64_t *)regs[RT_UC_RDX];
		}
		handler = handler_of(uc[-2] - CALL_SIZE);
		if (rip != (uint64_t)rt_arrive)
			regs[RT_UC_RBP] = uc[-3];
		regs[RT_UC_RSP] = (uint64_t)(uc - 1);
	}
	if (!handler)
		return NULL;
	regs[RT_UC_RIP] = handler;
	return uc;
}

/* In the midst of RT_CALL: it is done again. */
static void take_back_call(uint64_t *regs)
{
	const struct rt_codemap *map = rt_find_map(regs[RT_UC_RIP]);
	const struct rt_piece *piece = map ? rt_find_piece(map, regs[RT_UC_RIP]) : NULL;
	uint64_t start = piece ? map->arena + piece->start : 0;

	if (!piece || piece->kind != RT_PIECE_INSN || regs[RT_UC_RIP] != start + RT_CALL_TAKEN ||
	    *(const uint8_t *)start != RT_CALL_OPCODE)
		return;
	regs[RT_UC_RIP] = start;
	regs[RT_UC_RSP] += 8;
}

static void arrived(uint64_t *uc)
{
	uint64_t *regs = uc + RT_UC_REGS;
	const struct rt_codemap *map;
	const struct rt_piece *piece;

	while ((uc = undone(regs)))
		regs = uc + RT_UC_REGS;
	rt_guest_arrived(regs);
	take_back_call(regs);
	if (sonde_rt_config.probe_mode == RT_PROBE_BLOCKS)
		rt_blocks_arrived(regs);
	rt_mem_arrived(regs);
	map = rt_find_map(regs[RT_UC_RIP]);
	piece = map ? rt_find_piece(map, regs[RT_UC_RIP]) : NULL;
	if (piece && (piece->kind & ~RT_PIECE_RESUMABLE) == RT_PIECE_PROBE)
		leave_probe(map, piece, regs);
	rt_show_origin(regs);
}

/* Not 0: the handler is not to run. */
int rt_signal_arrived(uint64_t *uc, uint64_t sig)
{
	if (rt_step_is_ours(uc + RT_UC_REGS, sig))
		return 1;
	arrived(uc);
	return 0;
}

/* ---- threads that are stopped ---- */

#define RT_UC_RESTORER (-1)

/* As if a signal arrived, and its handler went on in the original code for good. */
void rt_depart(uint64_t *uc)
{
	uint64_t *regs = uc + RT_UC_REGS;

	uc[RT_UC_RESTORER] = (uint64_t)rt_mem_restorer;
	arrived(uc);
	if (rt_find_map(regs[RT_UC_RIP]))
		(void)rt_mem_returns(regs); /* there is no original for it yet */
}

/*
 * Only a thread's first check finds it a pool and a stream, and it may be past that.  As if a handler returned to where it is.
 * The word below the ucontext says whether it can go on there.
 */
void rt_enter(uint64_t *uc)
{
	uint64_t *regs = uc + RT_UC_REGS;
	struct rt_thread *t = rt_register(rt_tcb());

	uc[RT_UC_RESTORER] = 0;
	if (!t)
		return;
	t->owner = t->tcb;
	rt_mem_nowhere(t);
	regs[RT_UC_RIP] = rt_way_on(regs[RT_UC_RIP]);
	uc[RT_UC_RESTORER] = (uint64_t)rt_mem_returns(regs);
}

/* The same for a thread that may have both, and whose PC is that of a copy. */
void rt_come(uint64_t *uc)
{
	uint64_t tcb = rt_tcb();
	struct rt_thread *t = rt_gs_is_ours() ? rt_current_of(tcb) : NULL;

	uc[RT_UC_RESTORER] = 0;
	if (!t && rt_gs_is_ours())
		t = rt_register(tcb);
	if (!t)
		return;
	if (t->mem_state != RT_MEM_OPEN)
		rt_mem_nowhere(t);
	uc[RT_UC_RESTORER] = (uint64_t)rt_mem_returns(uc + RT_UC_REGS);
}

/* As rt_depart, and its burst is over. */
void rt_rest(uint64_t *uc)
{
	rt_depart(uc);
	rt_mem_rest();
}
