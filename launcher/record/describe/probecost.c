// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The page of code, as it is where functions are recorded: a function with both probes (its results and arguments live,
 * flags dead), and a loop that calls it, whose calls are apart from the rest of it.
 *
 *	loop:	push %rbx; mov %edi, %ebx		original:
 *	1:	jmp original ------------------------->	call function
 *	2:	dec %ebx; jne 1b; pop %rbx; ret	<------ jmp 2b
 *
 *	function: entry probe: ... rdtsc ... store	up to rdtsc: the caller's time
 *	          exit probe:  ... rdtsc ... store	from there up to this rdtsc: the function's own
 *	          ret					and the caller's again
 *
 * What is taken off is what a loop takes that calls, where it stands, the same function without probes.
 *
 * The processor executes probes side by side with what the program does.  With a function that does nothing, nothing can
 * be hidden.  With one that computes for some 10 ns, as much at a time as the processor can, a part is: some processors spend most of
 * a probe's time on reading the clock, while others' instructions go on.  That is taken to be all outside, since the function's own time
 * is not known there.  Real functions are between; so is what is returned, the average of both.
 *
 * What else the processor has to do makes batches longer, and now and then those without probes: the first quartile is taken.
 */
#include "config.h"

#include <asm/prctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "injector/mirror/probeenv.h"
#include "launcher/record/describe/probecost.h"
#include "runtime/thread.h"
#include "trampolines/insn/x86-64/emit.h"

enum {
	BATCHES = 15,
	CALLS = 512,	/* in a batch */
	CODE = 4096,
	LINE = 64,	/* alignment of functions */
	STEPS = 24,	/* of four instructions that do not depend on each other */
	SHADOW = 8,	/* entries */
};

typedef void loop_fn(int calls);

/* In one mapping; the code first. */
struct lab {
	uint8_t code[CODE];
	struct sonde_pool pool;	/* struct rt_thread, with room for the shadow stack */
	uint64_t counts[2];
	struct rt_shadow shadow[SHADOW];
	uint64_t records[BATCHES][4 * CALLS + 2]; /* a pair is two records of two words */
};

struct batch {
	double pair, inside; /* ticks a call */
};

static const uint64_t off; /* recording is on; and the choice to record calls */

/* A probe, and where it is: its slow path comes later. */
struct placed {
	struct tramp_probe_code code;
	size_t at;
};

static bool emit_probe(struct tramp_out *out, const struct tramp_probe_env *env, enum tramp_probe_kind kind,
		       tramp_regs dead, struct placed *p)
{
	struct tramp_probe probe = {
		.kind = kind, .event = 16, .live = TRAMP_ALL_REGS & ~(dead | TRAMP_STATUS),
		.red_zone_dead = kind == TRAMP_PROBE_EXIT,
	};

	if (tramp_probe_emit(env, &probe, &p->code) != TRAMP_OK)
		return false;
	p->at = out->len;
	tramp_put_bytes(out, p->code.code, p->code.len);
	return out->status == TRAMP_OK;
}

/* The runtime is never called: there is room, and the pool is this thread's.  But what records may stand there. */
static bool emit_slow_path(struct tramp_out *out, struct placed *p)
{
	if (out->status != TRAMP_OK || tramp_probe_place(&p->code, p->at, out->len) != TRAMP_OK)
		return false;
	memcpy(out->buf + p->at, p->code.code, p->code.len);
	tramp_put_bytes(out, p->code.slow, p->code.slow_len);
	return out->status == TRAMP_OK;
}

static void align(struct tramp_out *out)
{
	tramp_put_pad(out, (out->len + LINE - 1) / LINE * LINE);
}

/* call or jmp, to @target, an offset. */
static void put_branch(struct tramp_out *out, uint8_t opcode, size_t target)
{
	tramp_put_u8(out, opcode);
	tramp_put_u32(out, (uint32_t)(target - (out->len + 4)));
}

static void put_loop(struct tramp_out *out, size_t function, bool apart)
{
	static const uint8_t head[] = { 0x53, 0x89, 0xfb };	/* push %rbx; mov %edi, %ebx */
	static const uint8_t tail[] = { 0xff, 0xcb, 0x75, 0 };	/* dec %ebx; jne */
	static const uint8_t end[] = { 0x5b, 0xc3 };		/* pop %rbx; ret */
	size_t again, original = out->len, back;

	if (apart) {
		back = original + 10 + LINE; /* what follows lies on another line */
		put_branch(out, 0xe8, function);
		put_branch(out, 0xe9, back);
		tramp_put_pad(out, back - 5 - sizeof(head));
	}
	again = out->len + sizeof(head);
	tramp_put_bytes(out, head, sizeof(head));
	put_branch(out, apart ? 0xe9 : 0xe8, apart ? original : function);
	tramp_put_bytes(out, tail, sizeof(tail));
	out->buf[out->len - 1] = (uint8_t)(again - out->len);
	tramp_put_bytes(out, end, sizeof(end));
}

static void put_body(struct tramp_out *out, unsigned steps)
{
	/* add $1, %edi; add $1, %esi; add $1, %r8d; add $1, %r9d */
	static const uint8_t step[] = { 0x83, 0xc7, 1, 0x83, 0xc6, 1, 0x41, 0x83, 0xc0, 1, 0x41, 0x83, 0xc1, 1 };

	for (unsigned i = 0; i < steps; i++)
		tramp_put_bytes(out, step, sizeof(step));
}

/* Where the loops begin that call a function with and without probes. */
struct loops {
	size_t with, without;
};

static bool emit(struct tramp_out *out, const struct tramp_probe_env *env, unsigned steps, struct loops *loops)
{
	size_t bare, probed = out->len;
	struct placed enter, leave;

	if (!emit_probe(out, env, TRAMP_PROBE_ENTRY, TRAMP_REG(TRAMP_RAX), &enter))
		return false;
	put_body(out, steps);
	if (!emit_probe(out, env, TRAMP_PROBE_EXIT, TRAMP_REG(TRAMP_RDX) | TRAMP_REG(TRAMP_RCX), &leave))
		return false;
	tramp_put_u8(out, 0xc3);
	if (!emit_slow_path(out, &enter) || !emit_slow_path(out, &leave))
		return false;
	align(out);
	bare = out->len;
	put_body(out, steps);
	tramp_put_u8(out, 0xc3);
	align(out);
	loops->without = out->len;
	put_loop(out, bare, false);
	align(out);
	loops->with = out->len + 10 + LINE - 8;
	put_loop(out, probed, true);
	align(out);
	return out->status == TRAMP_OK;
}

static void prepare(struct lab *lab, const uint64_t *records)
{
	struct rt_thread *t = (struct rt_thread *)&lab->pool;

	memset(&lab->shadow, 0, sizeof(lab->shadow));
	lab->shadow[0].frame = UINT64_MAX;
	t->owner = t->tcb = rt_tcb();
	t->ptr = (uint64_t)records;
	t->limit = (uint64_t)(records + 4 * CALLS + 2);
	t->room = t->limit - (RT_PROBE_RECORD_BYTES - 1);
	t->counts = (uint64_t)lab->counts;
	t->shadow = (uint64_t)&lab->shadow[1];
	t->shadow_end = (uint64_t)&lab->shadow[SHADOW];
}

/* Ticks of all calls. */
static uint64_t run(struct lab *lab, size_t loop)
{
	loop_fn *call = (loop_fn *)(lab->code + loop);
	uint64_t began = __builtin_ia32_rdtsc();

	call(CALLS);
	return __builtin_ia32_rdtsc() - began;
}

static struct batch run_batch(struct lab *lab, const struct loops *loops, const uint64_t *records)
{
	uint64_t inside = 0, with, without;

	prepare(lab, records);
	without = run(lab, loops->without);
	with = run(lab, loops->with);
	for (size_t i = 0; i < CALLS; i++)
		inside += (records[4 * i + 2] >> RING_ID_BITS) - (records[4 * i] >> RING_ID_BITS);
	return (struct batch){ ((double)with - (double)without) / CALLS, (double)inside / CALLS };
}

static int by_pair(const void *a, const void *b)
{
	const struct batch *x = a, *y = b;

	return (x->pair > y->pair) - (x->pair < y->pair);
}

static struct batch run_batches(struct lab *lab, const struct loops *loops)
{
	struct batch batch[BATCHES];

	for (int i = 0; i < BATCHES; i++)
		batch[i] = run_batch(lab, loops, lab->records[i]);
	qsort(batch, BATCHES, sizeof(batch[0]), by_pair);
	return batch[BATCHES / 4];
}

static bool measure(struct lab *lab, const struct loops *nothing, const struct loops *computes, struct tf_cost *cost)
{
	struct batch all, hidden;

	if (syscall(SYS_arch_prctl, ARCH_SET_GS, &lab->pool) != 0)
		return false;
	/* some virtual machines map what is there already when it is accessed first, which takes as long as a hundred calls each page */
	memset(lab->records, 0, sizeof(lab->records));
	all = run_batches(lab, nothing);
	hidden = run_batches(lab, computes);
	syscall(SYS_arch_prctl, ARCH_SET_GS, 0);
	if (all.inside < 0 || all.pair < all.inside || hidden.pair < 0)
		return false;
	*cost = (struct tf_cost){ .inside = all.inside / 2, .outside = (all.pair - all.inside + hidden.pair) / 2 };
	return true;
}

bool probecost_measure(enum tramp_probe_mode mode, struct tf_cost *cost)
{
	struct lab *lab = mmap(NULL, sizeof(*lab), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct tramp_probe_env env = inj_probe_env(mode, (uint64_t)&off);
	struct loops nothing, computes;
	struct tramp_out out = { .room = CODE };
	uint64_t gs = 0;
	bool good;

	env.choices = (uint64_t)&off;
	if (lab == MAP_FAILED)
		return false;
	out.buf = lab->code;
	good = syscall(SYS_arch_prctl, ARCH_GET_GS, &gs) == 0 && !gs && emit(&out, &env, 0, &nothing) &&
	       emit(&out, &env, STEPS, &computes) && mprotect(lab->code, CODE, PROT_READ | PROT_EXEC) == 0 &&
	       measure(lab, &nothing, &computes, cost);
	munmap(lab, sizeof(*lab));
	return good;
}
