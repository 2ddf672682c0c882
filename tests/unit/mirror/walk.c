// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/mirror/walk.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "trampolines/insn/x86-64/decode.h"

enum { INSN_MAX = 15 };

/* `pc` is where control is, `orig` the address of the original instruction that is to run next. */
struct place {
	uint64_t pc, orig;
};

struct walk {
	const struct mirror_subject *s;
	uint64_t base;
	struct place *todo;
	size_t ntodo, room;
	uint64_t *seen;		/* hash set of pc */
	size_t nseen, seen_room;
	uint64_t entry, entry_probe;
	const char *wrong;
	uint64_t where;
};

/* Of the instruction at a place. */
struct at {
	struct tramp_decoded insn;
	uint8_t bytes[INSN_MAX];
	uint64_t target;
};

static void complain(struct walk *w, uint64_t where, const char *what)
{
	if (w->wrong)
		return;
	w->wrong = what;
	w->where = where;
}

static void *more(void *items, size_t *room, size_t need, size_t size)
{
	if (need <= *room)
		return items;
	*room = 2 * need + 64;
	items = reallocarray(items, *room, size);
	if (!items)
		err(99, "walk");
	return items;
}

static void insert(uint64_t *set, size_t room, uint64_t pc)
{
	size_t k = pc * 0x9e3779b97f4a7c15ull >> 20 & (room - 1);

	while (set[k])
		k = (k + 1) & (room - 1);
	set[k] = pc;
}

static bool is_new(struct walk *w, uint64_t pc)
{
	uint64_t *old = w->seen;
	size_t n = w->seen_room, k;

	if (2 * (w->nseen + 1) > n) {
		w->seen_room = n ? 2 * n : 256;
		w->seen = calloc(w->seen_room, sizeof(*old));
		if (!w->seen)
			err(99, "walk");
		for (size_t i = 0; i < n; i++) {
			if (old[i])
				insert(w->seen, w->seen_room, old[i]);
		}
		free(old);
	}
	for (k = pc * 0x9e3779b97f4a7c15ull >> 20 & (w->seen_room - 1); w->seen[k];
	     k = (k + 1) & (w->seen_room - 1)) {
		if (w->seen[k] == pc)
			return false;
	}
	insert(w->seen, w->seen_room, pc);
	w->nseen++;
	return true;
}

static void go(struct walk *w, uint64_t pc, uint64_t orig)
{
	if (!is_new(w, pc))
		return;
	w->todo = more(w->todo, &w->room, w->ntodo + 1, sizeof(*w->todo));
	w->todo[w->ntodo++] = (struct place){ pc, orig };
}

/* ---- what is where ---- */

static bool in_arena(const struct walk *w, uint64_t pc)
{
	return pc - w->s->arena < w->s->mirror->len;
}

static const struct rt_piece *piece_at(const struct walk *w, uint64_t pc)
{
	const struct tramp_mirror_code *c = w->s->mirror;
	size_t lo = 0, hi = c->npieces;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->pieces[mid].start <= pc - w->s->arena)
			lo = mid;
		else
			hi = mid;
	}
	return &c->pieces[lo];
}

static int kind_of(const struct rt_piece *piece)
{
	return piece->kind & ~(int)RT_PIECE_RESUMABLE;
}

/* The original instruction that an address stands for. */
static uint64_t meaning(const struct walk *w, uint64_t pc)
{
	const struct rt_piece *piece;

	if (!in_arena(w, pc))
		return pc;
	piece = piece_at(w, pc);
	if (kind_of(piece) == RT_PIECE_COPY)
		return w->base + piece->orig + (pc - w->s->arena - piece->start);
	return w->base + piece->orig;
}

static bool decode(struct walk *w, const uint8_t *bytes, size_t left, uint64_t pc, struct at *at)
{
	memset(at->bytes, 0, sizeof(at->bytes));
	memcpy(at->bytes, bytes, left < INSN_MAX ? left : INSN_MAX);
	if (!tramp_decode(at->bytes, left < INSN_MAX ? left : INSN_MAX, &at->insn)) {
		complain(w, pc, "no instruction");
		return false;
	}
	at->target = pc + at->insn.length + (uint64_t)(int64_t)at->insn.rel;
	return true;
}

static bool original(struct walk *w, uint64_t pc, struct at *at)
{
	size_t left;
	const uint8_t *bytes = tramp_code_at(w->s->code, pc, &left);

	if (!bytes)
		complain(w, pc, "outside of the code");
	return bytes && decode(w, bytes, left, pc, at);
}

/* Does `pc` stand for `orig`?  Jumps and endbr64 may be left out on the way from copy to copy. */
static bool stands_for(struct walk *w, uint64_t pc, uint64_t orig)
{
	struct at at;

	for (int jumps = 0; jumps < 8; jumps++) {
		if (meaning(w, pc) == orig)
			return true;
		if (!in_arena(w, pc) || !original(w, orig, &at))
			return false;
		if (tramp_endbr64_size(at.bytes, sizeof(at.bytes)))
			orig += at.insn.length;
		else if (at.insn.kind == TRAMP_OP_JMP)
			orig = at.target;
		else
			return false;
	}
	return false;
}

static bool arena_insn(struct walk *w, uint64_t pc, struct at *at)
{
	size_t off = pc - w->s->arena;

	return decode(w, w->s->buf + off, w->s->mirror->len - off, pc, at);
}

/* The first patch that ends after pc. */
static const struct tramp_patch *patch_at(const struct walk *w, uint64_t pc)
{
	const struct tramp_mirror_code *c = w->s->mirror;
	size_t lo = 0, hi = c->npatches;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->base + c->patches[mid].off + c->patches[mid].len <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < c->npatches ? &c->patches[lo] : NULL;
}

static const struct tramp_block *block_of(const struct walk *w, uint64_t pc)
{
	const struct tramp_flow *flow = w->s->flow;
	uint32_t lo = 0, hi = flow->nblocks, off = (uint32_t)(pc - w->base);

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (flow->blocks[mid].start <= off)
			lo = mid;
		else
			hi = mid;
	}
	if (off >= flow->blocks[lo].start && off < flow->blocks[lo].end)
		return &flow->blocks[lo];
	return lo && off < flow->blocks[lo - 1].end ? &flow->blocks[lo - 1] : NULL;
}

static bool is_block(const struct walk *w, uint64_t pc)
{
	const struct tramp_flow *flow = w->s->flow;
	uint32_t lo = 0, hi = flow->nblocks;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (w->base + flow->blocks[mid].start < pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < flow->nblocks && w->base + flow->blocks[lo].start == pc;
}

/* ---- probes ---- */

static bool behind_probe(const struct walk *w, uint64_t pc)
{
	return pc > w->s->arena && in_arena(w, pc) &&
	       kind_of(piece_at(w, pc - 1)) == RT_PIECE_PROBE;
}

static void leave(struct walk *w, uint64_t pc)
{
	if ((w->s->req->want & TRAMP_MIRROR_EXIT) && !behind_probe(w, pc))
		complain(w, pc, "leaves without a probe");
}

/* An edge of the function itself, to `orig`, that goes to `pc` now. */
static void follow(struct walk *w, uint64_t pc, uint64_t orig)
{
	if (!stands_for(w, pc, orig))
		complain(w, pc, "an edge goes elsewhere");
	if ((w->s->req->want & TRAMP_MIRROR_ENTRY) &&
	    (pc == w->entry_probe || (!in_arena(w, pc) && orig == w->entry)))
		complain(w, pc, "an edge goes to the entry's probe");
	go(w, pc, meaning(w, pc));
}

/* ---- in the original ---- */

static void indirect(struct walk *w, uint64_t pc, uint64_t orig)
{
	const struct tramp_block *b = block_of(w, orig);

	if (b && b->ends == TRAMP_END_TAIL_IND)
		leave(w, pc);
}

/* A direct branch to `target`, which is now led to `to`. */
static void branch(struct walk *w, uint64_t pc, uint64_t orig, uint64_t target, uint64_t to)
{
	if (is_block(w, target)) {
		follow(w, to, target);
	} else if (meaning(w, to) == orig && in_arena(w, to)) {
		go(w, to, orig);	/* the stub */
	} else {
		if (to != target)
			complain(w, pc, "jumps out to elsewhere");
		leave(w, pc);
	}
}

static void call_returns(struct walk *w, uint64_t next)
{
	const struct tramp_block *b = block_of(w, next);

	if (b && w->base + b->start == next && (b->flags & TRAMP_BLOCK_RETURN))
		go(w, next, next);
}

static void fall(struct walk *w, uint64_t pc, uint64_t next_pc, uint64_t next)
{
	const struct tramp_block *b = block_of(w, next - 1);

	if (b && b->ends == TRAMP_END_STOP && w->base + b->end == next)
		return;
	if (!in_arena(w, pc) && b && b->ends == TRAMP_END_TAIL_FALL && w->base + b->end == next)
		leave(w, pc);
	else if (in_arena(w, pc))
		go(w, next_pc, next);
	else
		follow(w, next_pc, next);
}

static void step_original(struct walk *w, struct place p)
{
	const struct tramp_patch *patch = patch_at(w, p.pc);
	uint64_t patch_addr = patch ? w->base + patch->off : 0;
	struct at at;

	if (patch && patch_addr == p.pc && (patch->bytes[0] == 0xe9 || patch->bytes[0] == 0xeb)) {
		if (!decode(w, patch->bytes, patch->len, p.pc, &at))
			return;
		if (p.orig == w->entry || (p.orig == w->entry + 4 && !w->entry_probe))
			w->entry_probe = in_arena(w, at.target) ? at.target : 0;
		go(w, at.target, p.orig);
		return;
	}
	if (p.pc != p.orig) {
		complain(w, p.pc, "jumps to the wrong place");
		return;
	}
	if (!original(w, p.pc, &at))
		return;
	if (patch && patch_addr < p.pc + at.insn.length) {
		int32_t rel;

		if (patch->len != 4 || patch_addr != p.pc + at.insn.disp_offset ||
		    at.insn.disp_size != 4 || patch_addr + 4 != p.pc + at.insn.length) {
			complain(w, p.pc, "runs overwritten bytes");
			return;
		}
		memcpy(&rel, patch->bytes, sizeof(rel));
		branch(w, p.pc, p.orig, at.target, p.pc + at.insn.length + (uint64_t)(int64_t)rel);
		if (at.insn.kind == TRAMP_OP_JCC)
			fall(w, p.pc, p.pc + at.insn.length, p.pc + at.insn.length);
		return;
	}
	switch (at.insn.kind) {
	case TRAMP_OP_JCC:
	case TRAMP_OP_LOOP:
		branch(w, p.pc, p.orig, at.target, at.target);
		/* fall through */
	case TRAMP_OP_PLAIN:
	case TRAMP_OP_RIP:
	case TRAMP_OP_SYSCALL:
	case TRAMP_OP_TRAP:
		fall(w, p.pc, p.pc + at.insn.length, p.pc + at.insn.length);
		break;
	case TRAMP_OP_JMP:
		branch(w, p.pc, p.orig, at.target, at.target);
		break;
	case TRAMP_OP_CALL:
	case TRAMP_OP_CALL_IND:
		call_returns(w, p.pc + at.insn.length);
		break;
	case TRAMP_OP_JMP_IND:
		indirect(w, p.pc, p.orig);
		break;
	default:
		if (block_of(w, p.orig) && block_of(w, p.orig)->ends == TRAMP_END_RET)
			leave(w, p.pc);
	}
}

/* ---- in the arena ---- */

static bool same_operand(const struct at *a, const struct at *o)
{
	size_t at = o->insn.disp_offset, n = o->insn.length;

	if (a->insn.length != n)
		return false;
	if (!o->insn.rip_relative)
		return memcmp(a->bytes, o->bytes, n) == 0;
	return memcmp(a->bytes, o->bytes, at) == 0 && a->target == o->target &&
	       memcmp(a->bytes + at + 4, o->bytes + at + 4, n - at - 4) == 0;
}

static void step_copy(struct walk *w, struct place p, const struct at *a, const struct at *o)
{
	if (!same_operand(a, o)) {
		complain(w, p.pc, "is no copy");
		return;
	}
	if (o->insn.kind == TRAMP_OP_JMP_IND)
		indirect(w, p.pc, p.orig);
	else if (tramp_op_is_straight(o->insn.kind))
		fall(w, p.pc, p.pc + a->insn.length, p.orig + o->insn.length);
	else if (block_of(w, p.orig) && block_of(w, p.orig)->ends == TRAMP_END_RET)
		leave(w, p.pc);
}

static void step_loop(struct walk *w, struct place p, const struct at *a, const struct at *o)
{
	uint64_t over = p.pc + a->insn.length;
	struct at jump, far;

	if (!arena_insn(w, over, &jump) || !arena_insn(w, over + 2, &far))
		return;
	if (memcmp(a->bytes, o->bytes, o->insn.disp_offset) != 0 || a->target != over + 2 ||
	    jump.insn.kind != TRAMP_OP_JMP || jump.target != over + 7 || far.insn.kind != TRAMP_OP_JMP) {
		complain(w, p.pc, "is no loop");
		return;
	}
	branch(w, over + 2, p.orig, o->target, far.target);
	go(w, over + 7, p.orig + o->insn.length);
}

static void step_call(struct walk *w, struct place p, const struct at *o)
{
	struct at push, jump;
	uint64_t pushed;

	if (memcmp(w->s->buf + (p.pc - w->s->arena), RT_CALL, RT_CALL_SIZE) != 0) {
		complain(w, p.pc, "leaves predictions of returns one off");
		return;
	}
	p.pc += RT_CALL_SIZE;
	if (!arena_insn(w, p.pc, &push) || !arena_insn(w, p.pc + push.insn.length, &jump))
		return;
	if (push.insn.rip_relative && in_arena(w, push.target))
		memcpy(&pushed, w->s->buf + (push.target - w->s->arena), sizeof(pushed));
	else
		pushed = (uint32_t)(push.bytes[1] | push.bytes[2] << 8 | push.bytes[3] << 16 |
				    (uint32_t)push.bytes[4] << 24);
	if (pushed != p.orig + o->insn.length)
		complain(w, p.pc, "pushes another return address");
	if (o->insn.kind == TRAMP_OP_CALL && (jump.insn.kind != TRAMP_OP_JMP || jump.target != o->target))
		complain(w, p.pc, "calls something else");
	call_returns(w, p.orig + o->insn.length);
}

/* A jump: the copy of one, or the way from copy to copy or to the original. */
static void step_jump(struct walk *w, struct place p, const struct at *a)
{
	struct at o;

	if (!block_of(w, p.orig)) {	/* falls out of the function */
		if (a->target != p.orig)
			complain(w, p.pc, "falls elsewhere");
		leave(w, p.pc);
		return;
	}
	if (meaning(w, a->target) == p.orig) {
		if (a->target == w->entry_probe)
			complain(w, p.pc, "jumps to the entry's probe");
		go(w, a->target, p.orig);
		return;
	}
	if (!original(w, p.orig, &o))
		return;
	if (o.insn.kind != TRAMP_OP_JMP && o.insn.kind != TRAMP_OP_JCC && o.insn.kind != TRAMP_OP_LOOP)
		complain(w, p.pc, "jumps where the original does not");
	else
		branch(w, p.pc, p.orig, o.target, a->target);
}

static void step_arena(struct walk *w, struct place p)
{
	const struct rt_piece *piece = piece_at(w, p.pc);
	struct at a, o;

	if (!stands_for(w, p.pc, p.orig) && kind_of(piece) != RT_PIECE_INSN) {
		complain(w, p.pc, "the table of pieces says something else");
		return;
	}
	if (kind_of(piece) != RT_PIECE_INSN)
		p.orig = meaning(w, p.pc);
	if (kind_of(piece) == RT_PIECE_PROBE) {
		go(w, p.pc + w->s->probes[piece->probe].length, p.orig);
		return;
	}
	if (!arena_insn(w, p.pc, &a))
		return;
	if (a.insn.kind == TRAMP_OP_JMP) {
		step_jump(w, p, &a);
		return;
	}
	if (!original(w, p.orig, &o))
		return;
	if (o.insn.kind == TRAMP_OP_CALL || o.insn.kind == TRAMP_OP_CALL_IND)
		step_call(w, p, &o);
	else if (o.insn.kind == TRAMP_OP_LOOP)
		step_loop(w, p, &a, &o);
	else if (o.insn.kind == TRAMP_OP_JCC) {
		if (a.insn.kind != TRAMP_OP_JCC || ((a.bytes[1] ^ o.bytes[o.insn.disp_offset - 1]) & 15))
			complain(w, p.pc, "is another condition");
		branch(w, p.pc, p.orig, o.target, a.target);
		go(w, p.pc + a.insn.length, p.orig + o.insn.length);
	} else if (o.insn.kind == TRAMP_OP_JMP) {	/* left out: its target comes next */
		if (meaning(w, p.pc) != o.target)
			complain(w, p.pc, "is not the jump's target");
		w->nseen--, p.orig = o.target;
		step_arena(w, p);
		w->nseen++;
	} else {
		step_copy(w, p, &a, &o);
	}
}

/* ---- */

static void check_patches(struct walk *w)
{
	const struct tramp_mirror_code *c = w->s->mirror;

	for (size_t i = 0; i < c->npatches; i++) {
		const struct tramp_patch *p = &c->patches[i];
		size_t left;
		const uint8_t *bytes = tramp_code_at(w->s->code, w->base + p->off, &left);

		if (i && p[-1].off + p[-1].len > p->off)
			complain(w, w->base + p->off, "patches overlap");
		if (!bytes || left < p->len || memcmp(bytes, p->was, p->len) != 0)
			complain(w, w->base + p->off, "the bytes were others");
	}
	for (size_t i = 1; i < c->npieces; i++) {
		if (c->pieces[i - 1].start >= c->pieces[i].start)
			complain(w, w->s->arena + c->pieces[i].start, "pieces are not ascending");
	}
}

static void start(struct walk *w)
{
	const struct tramp_flow *flow = w->s->flow;

	w->entry = w->base + flow->blocks[flow->entry].start;
	go(w, w->entry, w->entry);
	for (uint32_t i = 0; i < flow->nblocks; i++) {
		if (i != flow->entry &&
		    (flow->blocks[i].flags & (TRAMP_BLOCK_EXTERNAL | TRAMP_BLOCK_PAD)))
			go(w, w->base + flow->blocks[i].start, w->base + flow->blocks[i].start);
	}
}

const char *mirror_walk(const struct mirror_subject *subject, uint64_t *where)
{
	struct walk w = { .s = subject, .base = tramp_code_base(subject->code) };

	check_patches(&w);
	start(&w);
	/* The entry comes first, so that its probe is known. */
	for (size_t next = 0; next < w.ntodo && !w.wrong; next++) {
		struct place p = w.todo[next];

		if (in_arena(&w, p.pc))
			step_arena(&w, p);
		else
			step_original(&w, p);
	}
	if (!w.wrong && (subject->req->want & TRAMP_MIRROR_ENTRY) && !w.entry_probe)
		complain(&w, w.entry, "no probe at the entry");
	free(w.todo);
	free(w.seen);
	*where = w.where;
	return w.wrong;
}
