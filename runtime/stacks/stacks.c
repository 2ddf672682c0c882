// SPDX-License-Identifier: MIT
#include "runtime/stacks/stacks.h"

#include "runtime/thread.h"
#include "runtime/x86-64/sys.h"

#define PAGE UINT64_C(4096)
#define FURTHER 64 /* pages that a frame may have, if they are to be looked at */
#define MOST_PAGES (0xffff - 2 * FURTHER)

/* ---- what is kept of tables ---- */

/*
 * Threads read and write entries at any time: key is the return address, and the other words of its making, XOR the rule, so that an entry of which
 * half is another one's is not found.
 */
#define KEPT 4096
#define SERIALS UINT64_C(0x9e3779b97f4a7c15)

static struct {
	uint64_t key, rule;
} kept[KEPT];
static uint32_t is_stopped;

static struct rt_unwind *tables(void)
{
	return (struct rt_unwind *)sonde_rt_config.unwind;
}

static struct rt_rule read_rule(struct rt_unwind *u, uint64_t pc)
{
	uint64_t n = __atomic_load_n(&u->n, __ATOMIC_ACQUIRE);

	for (uint64_t i = 0; i < n && i < RT_UNWIND_FILES; i++) {
		const struct rt_unwind_file *f = &u->v[i];

		/* what is unmapped in ways that nobody says does no harm */
		if (pc - 1 >= f->begin && pc - 1 < __atomic_load_n(&f->end, __ATOMIC_ACQUIRE) && sys_is_readable((f->header ? f->header : f->tables) & ~UINT64_C(7)))
			return rt_cfi_rule(f, pc);
	}
	return (struct rt_rule){ 0 };
}

static struct rt_rule rule_at(uint64_t pc)
{
	struct rt_unwind *u = tables();
	const uint64_t key = pc ^ __atomic_load_n(&u->serial, __ATOMIC_ACQUIRE) * SERIALS;
	const uint64_t slot = (pc ^ pc >> 12) % KEPT & ~UINT64_C(1);
	union {
		uint64_t word;
		struct rt_rule rule;
	} r;

	for (uint64_t i = slot; i < slot + 2; i++) {
		r.word = __atomic_load_n(&kept[i].rule, __ATOMIC_RELAXED);
		if ((__atomic_load_n(&kept[i].key, __ATOMIC_RELAXED) ^ r.word) == key)
			return r.rule;
	}
	r.rule = read_rule(u, pc);
	/* the older one goes */
	__atomic_store_n(&kept[slot + 1].rule, kept[slot].rule, __ATOMIC_RELAXED);
	__atomic_store_n(&kept[slot + 1].key, kept[slot].key, __ATOMIC_RELAXED);
	__atomic_store_n(&kept[slot].rule, r.word, __ATOMIC_RELAXED);
	__atomic_store_n(&kept[slot].key, key ^ r.word, __ATOMIC_RELAXED);
	return r.rule;
}

/* ---- a stack ---- */

struct walk {
	struct rt_thread *t; /* NULL: what can be read is not kept */
	uint64_t sp, bp;
	int has_bp, bad;
};

/* A table may be wrong: memory that is not there is not read.  What has been found there stays. */
static int is_there(struct walk *w, uint64_t addr)
{
	const uint64_t page = addr / PAGE;
	uint64_t begin, end;

	if (addr % 8)
		return 0;
	if (!w->t)
		return sys_is_readable(addr);
	begin = w->t->stack >> 16;
	end = begin + (w->t->stack & 0xffff);
	if (page >= begin && page < end)
		return 1;
	if (page + FURTHER < begin || page > end + FURTHER || end - begin > MOST_PAGES)
		begin = end = page;
	while (begin > page && sys_is_readable((begin - 1) * PAGE))
		begin--;
	while (end <= page && sys_is_readable(end * PAGE))
		end++;
	w->t->stack = begin << 16 | (end - begin);
	return page >= begin && page < end;
}

static uint64_t word(struct walk *w, uint64_t addr)
{
	if (w->bad || !is_there(w, addr)) {
		w->bad = 1;
		return 0;
	}
	return *(const uint64_t *)addr;
}

/* To the caller's; its return address. */
static uint64_t leave(struct walk *w, struct rt_rule rule)
{
	uint64_t cfa = (rule.kind == RT_RULE_SP ? w->sp : w->bp) + (uint64_t)(int64_t)rule.cfa, bp = w->bp;

	w->bad |= rule.kind != RT_RULE_SP && !w->has_bp;
	if (rule.kind == RT_RULE_AT_BP)
		cfa = word(w, cfa);
	/* frames are above those that they call */
	if (cfa < w->sp + 8)
		w->bad = 1;
	if (rule.from == RT_BP_CFA || rule.from == RT_BP_BP)
		bp = word(w, (rule.from == RT_BP_CFA ? cfa : bp) + (uint64_t)(int64_t)rule.bp * 8);
	w->has_bp = rule.from == RT_BP_CFA || (w->has_bp && rule.from != RT_BP_LOST);
	w->bp = bp;
	w->sp = cfa;
	return word(w, cfa - 8);
}

void rt_callers(uint64_t frame, uint64_t *code, uint64_t room)
{
	const uint64_t wanted = sonde_rt_api.frames, most = wanted < room ? wanted : room;
	const uint64_t *at = (const uint64_t *)frame;
	struct walk w = { .t = rt_current(), .sp = frame + 16, .bp = at[0], .has_bp = 1 };
	uint64_t pc = at[1], n = 0;

	if (!tables() || __atomic_load_n(&is_stopped, __ATOMIC_RELAXED))
		w.bad = 1;
	while (n < most && pc) {
		struct rt_rule rule;

		code[n++] = pc;
		if (n == most)
			break;
		rule = w.bad ? (struct rt_rule){ 0 } : rule_at(pc);
		pc = rule.kind > RT_RULE_OUTERMOST ? leave(&w, rule) : 0;
		if (rule.kind == RT_RULE_UNKNOWN || w.bad) {
			code[n++] = RT_STACK_UNKNOWN;
			break;
		}
	}
	while (n < room)
		code[n++] = 0;
}

void rt_callers_stop(void)
{
	__atomic_store_n(&is_stopped, 1, __ATOMIC_RELAXED);
}
