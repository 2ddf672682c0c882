// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "base/search.h"
#include "tests/unit/mememit/rig.h"

#include <asm/prctl.h>
#include <err.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/mememit/expect.h"
#include "tests/unit/mememit/interrupt.h"
#include "tests/unit/mememit/stream.h"
#include "tests/unit/wrap/machine.h"
#include "memtrace/heap.h"
#include "trampolines/mirror/mirror.h"

enum {
	ARENA = 4 << 20,
	STACK = 1 << 20,
	FUNCTIONS = 4096,
	PIECES = 1 << 18,
	INTERRUPT_ONE_IN = 12,
	INTERRUPTED_STEPS = 20000,
	ACCESSES = 1 << 20,
	STEPS_MAX = 3000000,
	TRAP_FLAG = 0x100,
	FIRST_NODE = 77,
	BURSTS = 1 << 16,
	EVENT_BITS = 0xfffff,
};

static struct {
	const struct mememit_code *code;
	struct tramp_code *flow_code;
	struct tramp_mirror *mirror;
	struct mt_code *expander;
	bool wanted[FUNCTIONS];
	uint8_t *original, *instrumented; /* the code */
	uint8_t *arena, *stack;
	size_t used;
	uint32_t node;		/* next id */
	struct mt_access expected[ACCESSES], found[ACCESSES];
	size_t nexpected, nfound, steps;
	uint8_t *data;		/* as the original left it */
	struct rt_mem_piece pieces[PIECES];
	size_t npieces;
	bool probe[ARENA];	/* byte by byte: it is in a probe, that is not left by these pieces */
	bool sampled;		/* recording may go off */
	bool counted;		/* by number */
	bool timed;		/* times are among the accesses */
	size_t bursts[BURSTS];	/* where each ends in found[] */
	size_t nbursts;
	bool interrupts;	/* handlers come in between */
} rig;

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	if (getenv("MEMEMIT_DUMP")) {
		FILE *file = fopen(getenv("MEMEMIT_DUMP"), "w");

		if (file) {
			fwrite(rig.arena, 1, rig.used, file);
			fclose(file);
		}
		fprintf(stderr, "arena %p, code %p\n", (void *)rig.arena, (void *)rig.code->start);
	}
	abort();
}

/* ---- what happens in the original, by single steps ---- */

static bool is_recorded(uint64_t pc)
{
	uint32_t fn = tramp_code_function(rig.flow_code, pc);

	return fn != TRAMP_NONE && rig.wanted[fn];
}

/* Recording may go on, or if it is on, stop. */
static void go_on(void)
{
	if (rig.counted)
		stream_pool()->left = -1;
	else
		stream_pool()->off = 0;
}

static void on_copy(ucontext_t *context)
{
	if (++rig.steps > 100 * (size_t)STEPS_MAX)
		fail("it does not end");
	if (rig.probe[context->uc_mcontext.gregs[REG_RIP] - (greg_t)rig.arena] ||
	    random_below(rig.code->source, INTERRUPT_ONE_IN))
		return;
	if (random_below(rig.code->source, 4) == 0)
		go_on();
	interrupt_there(context, (uint64_t)rig.arena, rig.pieces, rig.npieces);
	rig.code->tally->interrupts++;
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t pc = (uint64_t)regs[REG_RIP];

	(void)signal;
	(void)info;
	if (pc == (uint64_t)(uintptr_t)machine_landing) {
		regs[REG_EFL] &= ~TRAP_FLAG;
		return;
	}
	if (pc - (uint64_t)rig.arena < rig.used && rig.interrupts) {
		on_copy(context);
		return;
	}
	if (pc - (uint64_t)rig.code->start >= rig.code->len || rig.interrupts)
		return;
	if (++rig.steps > STEPS_MAX || rig.nexpected + EXPECT_MAX > ACCESSES)
		fail("it does not end");
	if (is_recorded(pc))
		rig.nexpected += expect_accesses(context, rig.code->stack, rig.expected + rig.nexpected);
}

static void *map(size_t bytes, int prot)
{
	/* In reach of the code. */
	void *p = mmap(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (p == MAP_FAILED)
		err(99, "mmap");
	return p;
}

static void *map_near(const uint8_t *code, size_t bytes)
{
	for (uintptr_t at = ((uintptr_t)code & ~0xffffful) + (64 << 20); ; at += 16 << 20) {
		void *p = mmap((void *)at, bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (p != MAP_FAILED)
			return p;
		if (at - (uintptr_t)code > (1ul << 30))
			err(99, "mmap near the code");
	}
}

static void set_up(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	static uint8_t stack[1 << 16];
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };

	if (rig.stack)
		return;
	rig.stack = map(STACK, PROT_READ | PROT_WRITE);
	if (sigaltstack(&alt, NULL) != 0 || sigaction(SIGTRAP, &action, NULL) != 0)
		err(99, "signals");
	stream_set_up();
}

/* ---- instrumenting ---- */

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Pieces ascend, and lie within the code. */
static void take_pieces(const struct tramp_mirror_code *code)
{
	if (rig.npieces + code->nmems > PIECES)
		errx(99, "too many pieces");
	if (!code->nmems || code->mems[0].start != 0)
		fail("the pieces of memory do not begin with the code");
	for (size_t i = 0; i < code->nmems; i++) {
		bool goes_back = code->mems[i].flags & RT_MEM_BACK;

		if (code->mems[i].start >= code->len || (goes_back && code->mems[i].back > code->mems[i].start) ||
		    (i && code->mems[i].start <= code->mems[i - 1].start))
			fail("the pieces of memory are not in order");
		rig.pieces[rig.npieces] = code->mems[i];
		rig.pieces[rig.npieces++].start += (uint32_t)rig.used;
	}
}

static const struct rt_mem_piece *mem_at(const struct tramp_mirror_code *code, uint32_t at)
{
	return &code->mems[search_first(i, code->nmems, code->mems[i].start > at) - 1];
}

/* The piece begins with @p, and is none of the last block's. */
static bool is_apart(const struct tramp_mirror_code *code, const struct rt_piece *p)
{
	const struct rt_mem_piece *mem = mem_at(code, p->start);

	return mem->reg == RT_MEM_NO_REG && mem->start == p->start && mem->back &&
	       !(mem->flags & (RT_MEM_BACK | RT_MEM_RUN));
}

/* Slow paths of probes are in the order of these, one after the other; there are others before and after. */
static bool are_slow_paths(const struct tramp_mirror_code *code, size_t at)
{
	for (size_t i = 0; i < code->npieces; i++) {
		if (code->pieces[i].kind != RT_PIECE_PROBE)
			continue;
		if (at >= code->npieces || code->pieces[at].kind != RT_PIECE_SLOW ||
		    code->pieces[at].orig != code->pieces[i].orig || !is_apart(code, &code->pieces[at]))
			return false;
		at++;
	}
	return true;
}

/* In a probe the pointer is in the pool, and so in its slow path, which comes after all blocks. */
static void check_probes(const struct tramp_mirror_code *code)
{
	for (size_t i = 0; i < code->npieces; i++)
		if (code->pieces[i].kind == RT_PIECE_PROBE && mem_at(code, code->pieces[i].start)->reg != RT_MEM_NO_REG)
			fail("a probe where a register holds the pointer");
	for (size_t at = 0; !are_slow_paths(code, at); at++)
		if (at == code->npieces)
			fail("the slow path of a probe has no piece of memory of its own");
}

static void take_probes(const struct tramp_mirror_code *code)
{
	check_probes(code);
	for (size_t i = 0; i < code->npieces; i++) {
		const struct rt_piece *p = &code->pieces[i];
		size_t end = i + 1 < code->npieces ? p[1].start : code->len;

		memset(rig.probe + rig.used + p->start, p->kind == RT_PIECE_PROBE, end - p->start);
	}
}

static void patch(const struct tramp_mirror_code *code)
{
	uint8_t *base = (uint8_t *)tramp_code_base(rig.flow_code);

	for (size_t i = 0; i < code->npatches; i++) {
		uint8_t *at = base + code->patches[i].off;

		at = rig.instrumented + (at - rig.code->start);
		if (memcmp(at, code->patches[i].was, code->patches[i].len) != 0)
			fail("a byte is patched twice");
		memcpy(at, code->patches[i].bytes, code->patches[i].len);
	}
}

static void describe(uint32_t first)
{
	struct tramp_mem_description d;
	struct md_object object = { .base = tramp_code_base(rig.flow_code), .first = first };

	tramp_mirror_description(rig.mirror, &d);
	object.nnodes = (uint32_t)d.nnodes;
	object.nops = (uint32_t)d.nops;
	if (mt_code_add(rig.expander, &object, d.nodes, d.ops) != MT_OK)
		fail("the reader does not like the description");
	rig.node += object.nnodes;
}

static void mirror_function(uint32_t fn, unsigned int want)
{
	const struct tramp_fn *f = &rig.code->facts->fns[fn];
	struct tramp_mirror_request req = {
		.fn = fn, .want = want, .enter = 2, .leave = 3, .index = fn, .node = rig.node,
	};
	struct mememit_tally *tally = rig.code->tally;
	struct tramp_mirror_plan plan;
	struct tramp_mirror_code code;
	enum tramp_mirror_status status;
	uint64_t start = now();

	rig.wanted[fn] = false;
	if (tramp_code_function(rig.flow_code, f->addr) != fn)
		return;
	status = tramp_mirror_plan(rig.mirror, &req, &plan);
	tally->functions++;
	if (status != TRAMP_MIRROR_OK && status != TRAMP_MIRROR_NEVER_LEAVES) {
		tally->refused++;
		if (getenv("MEMEMIT_REFUSED"))
			printf("%#lx: %s\n", (unsigned long)f->addr, tramp_mirror_text(status));
		return;
	}
	rig.wanted[fn] = true;
	if (rig.used + tramp_mirror_room(rig.mirror) > ARENA)
		errx(99, "the arena is full");
	status = tramp_mirror_emit(rig.mirror, tramp_code_base(rig.flow_code),
				   (uint64_t)rig.arena + rig.used, rig.arena + rig.used,
				   tramp_mirror_room(rig.mirror), &code);
	if (status != TRAMP_MIRROR_OK)
		fail(tramp_mirror_text(status));
	tally->nanoseconds += now() - start;
	tally->original += f->size;
	tally->mirrored += code.len;
	tally->blocks += plan.nblocks;
	tally->pieces += code.npieces + code.nmems;
	take_pieces(&code);
	take_probes(&code);
	rig.used += (code.len + 15) & ~(size_t)15;
	patch(&code);
	describe(rig.node);
}

static unsigned int any_want(void)
{
	static const unsigned int wants[] = {
		0, 0, TRAMP_MIRROR_ENTRY, TRAMP_MIRROR_EXIT, TRAMP_MIRROR_ENTRY | TRAMP_MIRROR_EXIT,
	};

	return TRAMP_MIRROR_ACCESSES |
	       wants[random_below(rig.code->source, sizeof(wants) / sizeof(wants[0]))];
}

void mememit_instrument(const struct mememit_code *code)
{
	struct tramp_probe_env probes = stream_probe_env(code->fsbase);
	struct tramp_mem_env env = stream_mem_env(code->fsbase, code->stack, code->rungs);

	set_up();
	rig.code = code;
	rig.sampled = env.sampled = random_below(code->source, 2);
	rig.timed = env.times = random_below(code->source, 2);
	rig.counted = env.count = rig.sampled && random_below(code->source, 2);
	rig.used = rig.npieces = 0;
	rig.node = FIRST_NODE;
	rig.arena = map_near(code->start, ARENA);
	rig.original = malloc(code->len);
	rig.instrumented = malloc(code->len);
	rig.data = malloc(code->ndata);
	rig.expander = mt_code_new(&mt_heap);
	if (tramp_code_new(code->facts, &rig.flow_code) != TRAMP_CODE_OK)
		errx(99, "no code");
	rig.mirror = tramp_mirror_new(rig.flow_code, &probes, NULL);
	if (!rig.mirror || !rig.expander || !rig.original || !rig.instrumented || !rig.data)
		errx(99, "no memory");
	memcpy(rig.original, code->start, code->len);
	memcpy(rig.instrumented, code->start, code->len);
	tramp_mirror_memory(rig.mirror, &env, 0);
	for (uint32_t i = 0; i < code->facts->nfns; i++)
		mirror_function(i, any_want());
}

void mememit_done(void)
{
	munmap(rig.arena, ARENA);
	tramp_mirror_free(rig.mirror);
	tramp_code_free(rig.flow_code);
	mt_code_free(rig.expander);
	free(rig.original);
	free(rig.instrumented);
	free(rig.data);
}

/* ---- runs ---- */

static void run(struct machine *m, const struct mememit_call *call, uint64_t flags)
{
	uint64_t *top = (uint64_t *)(rig.stack + STACK - 4096 + 8);

	memset(m, 0, sizeof(*m));
	memcpy(m->registers, call->registers, sizeof(call->registers));
	memset(top - 1024, 0, 8192);
	*top = (uint64_t)(uintptr_t)machine_landing;
	m->registers[RSP] = (uint64_t)top;
	m->flags = 0x202 | flags;
	rig.code->reset(rig.code->arg);
	machine_run(m, call->entry);
}

static void show(const char *what, const struct mt_access *a)
{
	char text[80] = "?";

	if (a->insn - (uint64_t)rig.code->start < rig.code->len)
		expect_text(a->insn, text, sizeof(text));
	fprintf(stderr, "%s %#" PRIx64 ": %u bytes at %#" PRIx64 ", kind %u: %s\n", what, a->insn, a->size,
		a->addr, a->kind, text);
}

static void compare_state(const struct machine *a, const struct machine *b, bool abi)
{
	static const uint8_t kept[] = { RAX, RBX, RSP, RBP, R12, R13, R14, R15 };

	for (size_t i = 0; abi && i < sizeof(kept); i++) {
		if (a->registers[kept[i]] != b->registers[kept[i]]) {
			fprintf(stderr, "r%u: %#" PRIx64 ", now %#" PRIx64 "%s\n", kept[i],
				a->registers[kept[i]], b->registers[kept[i]],
				rig.interrupts ? ", interrupted" : "");
			fail("a register differs");
		}
	}
	if (!abi && memcmp(a->registers, b->registers, sizeof(a->registers)) != 0)
		fail("a register differs");
	for (size_t i = 0; i < rig.code->ndata; i++) {
		if (rig.data[i] == rig.code->data[i])
			continue;
		fprintf(stderr, "%p: %#x, now %#x\n", (void *)(rig.code->data + i), rig.data[i],
			rig.code->data[i]);
		for (size_t k = 0; k < rig.nexpected; k++) {
			if ((uint64_t)(rig.code->data + i) - rig.expected[k].addr < rig.expected[k].size)
				show("touched", &rig.expected[k]);
		}
		fail("memory differs");
	}
}

static bool same_access(const struct mt_access *a, const struct mt_access *b)
{
	return a->addr == b->addr && a->size == b->size && a->kind == b->kind && a->insn == b->insn;
}

/* What was found until @end is a piece of what was expected, after @at.  Returns where that ends. */
static size_t find_burst(size_t begin, size_t end, size_t at)
{
	for (; at + (end - begin) <= rig.nexpected; at++) {
		size_t n = 0;

		while (n < end - begin && same_access(&rig.expected[at + n], &rig.found[begin + n]))
			n++;
		if (n == end - begin)
			return at + n;
	}
	fprintf(stderr, "accesses %zu to %zu of %zu\n", begin, end, rig.nfound);
	fail("a burst is no piece of the accesses");
}

static void compare_bursts(void)
{
	size_t begin = 0, at = 0;

	for (size_t i = 0; i < rig.nbursts; i++) {
		at = find_burst(begin, rig.bursts[i], at);
		begin = rig.bursts[i];
	}
	rig.code->tally->bursts += rig.nbursts;
}

static void compare_accesses(void)
{
	size_t n = rig.nexpected < rig.nfound ? rig.nexpected : rig.nfound, i = 0;

	while (i < n && same_access(&rig.expected[i], &rig.found[i]))
		i++;
	if (i == rig.nexpected && i == rig.nfound)
		return;
	fprintf(stderr, "access %zu of %zu, found %zu\n", i, rig.nexpected, rig.nfound);
	for (size_t k = i > 3 ? i - 3 : 0; k < i + 2; k++) {
		if (k < rig.nexpected)
			show("expected", &rig.expected[k]);
		if (k < rig.nfound)
			show("found   ", &rig.found[k]);
	}
	fail("accesses differ");
}

static void show_chunk(const void *chunk, size_t bytes)
{
	const struct md_chunk *head = chunk;
	const struct md_interrupt *at = (const void *)(head + 1);

	fprintf(stderr, "chunk of kind %u, %zu bytes of words", head->kind, bytes - (size_t)head->head);
	if (head->kind == MD_CHUNK_SIGNAL)
		fprintf(stderr, "; node %u + %#x, %" PRIu64 " written", at->node, at->insn, at->written);
	fprintf(stderr, "\n");
}

/* Without times, which go forth, but for those that a signal took away. */
static size_t leave_out_times(struct mt_access *v, size_t n)
{
	static uint64_t last;
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i].kind != MD_TIME) {
			v[left++] = v[i];
			continue;
		}
		if (!rig.timed || v[i].addr > __builtin_ia32_rdtsc() || (v[i].addr < last && !rig.interrupts && !rig.sampled))
			fail("a time is wrong, or there should be none");
		last = v[i].addr > last ? v[i].addr : last;
		rig.code->tally->times++;
	}
	return left;
}

static void read_chunk(struct mt_machine *m, const void *chunk, size_t bytes)
{
	enum mt_status status = mt_feed(m, chunk, bytes);
	size_t n = 1;

	if (getenv("MEMEMIT_CHUNKS"))
		show_chunk(chunk, bytes);

	while (status == MT_OK && n) {
		n = mt_next(m, rig.found + rig.nfound, ACCESSES - rig.nfound, &status);
		rig.nfound += leave_out_times(rig.found + rig.nfound, n);
	}
	if (status == MT_OK && ((const struct md_chunk *)chunk)->kind == MD_CHUNK_END && rig.nbursts < BURSTS)
		rig.bursts[rig.nbursts++] = rig.nfound;
	if (status != MT_OK) {
		fprintf(stderr, "status %d, chunk %zu of kind %u, %zu accesses found of %zu\n", (int)status,
			rig.code->tally->chunks, ((const struct md_chunk *)chunk)->kind, rig.nfound,
			rig.nexpected);
		for (size_t i = rig.nfound > 3 ? rig.nfound - 3 : 0; i < rig.nfound + 3; i++) {
			if (i < rig.nexpected)
				show(i < rig.nfound ? "known" : "missing", &rig.expected[i]);
		}
		fail("the reader does not like the stream");
	}
}

static void read_stream(void)
{
	struct mt_machine *m = mt_machine_new(rig.expander);
	const void *chunk;
	size_t bytes;

	if (!m)
		errx(99, "no memory");
	rig.nfound = rig.nbursts = 0;
	while ((chunk = stream_next(&bytes))) {
		read_chunk(m, chunk, bytes);
		rig.code->tally->chunks++;
		rig.code->tally->stream += bytes;
	}
	mt_machine_free(m);
}

/* As @call was interrupted, so without: probes have to record the same. */
static void compare_events(const struct mememit_call *call)
{
	size_t n, nwas;
	const uint64_t *v = stream_events(&nwas);
	uint64_t *was = malloc(nwas * sizeof(*was) + 1);
	struct machine m;

	if (!was)
		errx(99, "no memory");
	memcpy(was, v, nwas * sizeof(*was));
	rig.interrupts = false;
	memcpy(rig.code->start, rig.instrumented, rig.code->len);
	stream_start(rig.code->source);
	run(&m, call, 0);
	memcpy(rig.code->start, rig.original, rig.code->len);
	v = stream_events(&n);
	if (n != nwas)
		fprintf(stderr, "%zu words of events, with interrupts %zu\n", n, nwas);
	for (size_t i = 0; i < n && i < nwas; i += 2) {
		if ((v[i] & EVENT_BITS) != (was[i] & EVENT_BITS) || v[i + 1] != was[i + 1])
			fail("an event differs with interrupts");
	}
	if (n != nwas)
		fail("a probe has recorded twice, or has not");
	rig.code->tally->events += n / 2;
	free(was);
}

void mememit_run(const struct mememit_call *call)
{
	struct machine original, mirrored;

	size_t steps;

	rig.nexpected = 0;
	rig.steps = 0;
	rig.interrupts = false;
	run(&original, call, TRAP_FLAG);
	memcpy(rig.data, rig.code->data, rig.code->ndata);
	memcpy(rig.code->start, rig.instrumented, rig.code->len);
	stream_start(rig.code->source);
	steps = rig.steps;
	rig.interrupts = steps < INTERRUPTED_STEPS && random_below(rig.code->source, rig.sampled ? 2 : 3) == 0;
	if (rig.sampled && (rig.interrupts || random_below(rig.code->source, 2)))
		stream_sample();
	run(&mirrored, call, rig.interrupts ? TRAP_FLAG : 0);
	rig.code->tally->owners += stream_end();
	memcpy(rig.code->start, rig.original, rig.code->len);
	compare_state(&original, &mirrored, call->abi);
	read_stream();
	if (stream_was_off())
		compare_bursts();
	else
		compare_accesses();
	if (rig.interrupts)
		compare_events(call);
	rig.code->tally->runs++;
	rig.code->tally->steps += steps;
	rig.code->tally->accesses += rig.nexpected;
}
