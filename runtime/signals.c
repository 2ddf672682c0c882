// SPDX-License-Identifier: MIT
/*
 * The program's calls of rt_sigaction come here, see sigthunks-x86-64.S.  A thunk stands for a handler, not
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
 * Thunk 2 does thunk 1's work as well, and makes that frame look as if handler 1 was about to start.  If
 * signal 2 comes later, while thunk 1 is at work, handler 2 may record where the interrupted probe was about
 * to: rt_put_back() finds that.
 */
#include "runtime/signals.h"
#include "runtime/sys.h"
#include "runtime/thread.h"

#define UC_RDI 8
#define UC_RSI 9

#define SIG_IGNORE 1 /* and 0 is SIG_DFL */
#define EFAULT_RESULT (-14)
#define SI_CODE 2 /* index in a siginfo_t, as 32-bit words */
#define FAULTS (1u << 4 | 1u << 5 | 1u << 7 | 1u << 8 | 1u << 11) /* ILL TRAP BUS FPE SEGV */

/* As the kernel has it; the program's need not be aligned. */
struct __attribute__((packed)) kernel_action {
	uint64_t handler;
	uint64_t flags;
	uint64_t restorer;
	uint64_t mask;
};

RT_HIDDEN extern const uint8_t rt_thunks[RT_THUNKS][RT_THUNK_BYTES];
RT_HIDDEN uint64_t rt_handlers[RT_THUNKS];

/* Called by the assembly. */
RT_HIDDEN int64_t rt_sigaction(uint64_t sig, const struct kernel_action *act,
			       struct kernel_action *old, uint64_t size);
RT_HIDDEN void rt_signal_arrived(uint64_t sig, const int32_t *info, uint64_t *uc);

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

/* The kernel copies the set before it sees that there is no such operation: EFAULT or EINVAL. */
static int readable_word(uint64_t addr)
{
	return sys4(__NR_rt_sigprocmask, -1, addr, 0, sizeof(uint64_t)) != EFAULT_RESULT;
}

static int wants_thunk(const struct kernel_action *act)
{
	uint64_t addr = (uint64_t)act;

	/* two pages at most, so what lies between is readable too */
	if (!act || !readable_word(addr) || !readable_word(addr + sizeof(*act) - sizeof(uint64_t)))
		return 0;
	return act->handler > SIG_IGNORE && !is_thunk(act->handler);
}

static void translate(struct kernel_action *old)
{
	uint64_t handler = handler_of(old->handler);

	if (handler)
		old->handler = handler;
}

int64_t rt_sigaction(uint64_t sig, const struct kernel_action *act, struct kernel_action *old,
		     uint64_t size)
{
	struct kernel_action ours;
	int64_t ret;

	if (size == sizeof(act->mask) && wants_thunk(act)) {
		ours = *act;
		ours.handler = thunk_for(ours.handler);
		act = &ours;
	}
	ret = sys4(__NR_rt_sigaction, sig, act, old, size);
	if (ret == 0 && old)
		translate(old);
	return ret;
}

/* ---- arrival ---- */

static const struct rt_codemap *find_map(uint64_t addr)
{
	const struct rt_codemaps *maps = (const void *)sonde_rt_config.codemaps;
	uint64_t n = maps ? __atomic_load_n(&maps->count, __ATOMIC_ACQUIRE) : 0;

	for (uint64_t i = 0; i < n && i < RT_MAX_CODEMAPS; i++)
		if (addr >= maps->v[i].arena && addr < maps->v[i].arena_end)
			return &maps->v[i];
	return NULL;
}

/* The last piece that does not start behind @offset. */
static const struct rt_piece *find_piece(const struct rt_codemap *map, uint32_t offset)
{
	const struct rt_piece *pieces = (const void *)map->pieces;
	uint32_t low = 0, high = map->npieces;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (pieces[middle].start <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &pieces[low - 1] : NULL;
}

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

/* A fault's handler may look at the instruction, or unwind from it. */
static void show_original(const struct rt_codemap *map, const struct rt_piece *piece, uint64_t *regs)
{
	uint64_t into = regs[RT_UC_RIP] - map->arena - piece->start;
	uint8_t kind = piece->kind & ~RT_PIECE_RESUMABLE;

	if (!(piece->kind & RT_PIECE_RESUMABLE) || kind == RT_PIECE_SLOW)
		return;
	if (kind == RT_PIECE_INSN && into)
		return;
	regs[RT_UC_RIP] = map->object + piece->orig + (kind == RT_PIECE_COPY ? into : 0);
}

static int is_fault(uint64_t sig, const int32_t *info)
{
	return sig < 32 && FAULTS >> sig & 1 && info[SI_CODE] > 0;
}

void rt_signal_arrived(uint64_t sig, const int32_t *info, uint64_t *uc)
{
	uint64_t *regs = uc + RT_UC_REGS;
	const struct rt_codemap *map;
	const struct rt_piece *piece;
	uint64_t handler;

	while ((handler = handler_of(regs[RT_UC_RIP]))) {
		regs[RT_UC_RIP] = handler;
		sig = regs[UC_RDI];
		info = (const int32_t *)regs[UC_RSI];
		regs = (uint64_t *)regs[RT_UC_RDX] + RT_UC_REGS;
	}
	map = find_map(regs[RT_UC_RIP]);
	piece = map ? find_piece(map, (uint32_t)(regs[RT_UC_RIP] - map->arena)) : NULL;
	if (!piece)
		return;
	if ((piece->kind & ~RT_PIECE_RESUMABLE) == RT_PIECE_PROBE)
		leave_probe(map, piece, regs);
	if (is_fault(sig, info))
		show_original(map, piece, regs);
}
