// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Pieces of code: from node to node, as far as is known what follows.
 */
#include "memtrace/compile/x86-64/compile.h"

#include <string.h>

enum { CC_B = 2, CC_AE = 3, CC_E = 4, CC_NE = 5, CC_A = 7, CC_S = 8, ALU_SUB = 5, ALU_CMP = 7 };

/* ---- places ---- */

/* Out of a piece at its beginning, where it cannot be run. */
static void leave(struct mtc_build *b, unsigned int cc, const struct mt_node *node)
{
	mtc_fix(b, mtc_jcc(&b->a, cc), node, true);
	if (!b->failed)
		b->fixes[b->nfixes - 1].tried = b->body;
}

static uint64_t *slot(const struct mtc_build *b, const struct mt_node *node, bool header)
{
	return &b->of->tables[b->mode].headers[node->id + (header ? 0 : MT_IDS)];
}

/* 0: it is not. */
static uint64_t compiled(const struct mtc_build *b, const struct mt_node *node)
{
	uint64_t at = *slot(b, node, false);

	return at == b->of->gates.leave ? 0 : at;
}

/* The distance to code that is where it will be run. */
static void to_made(struct mtc_build *b, uint8_t *place, uint64_t target)
{
	mtc_to(place, (const uint8_t *)(uintptr_t)(target - b->away));
}

static const struct mtc_head *find_head(const struct mtc_build *b, const struct mt_node *node)
{
	for (uint32_t i = 0; i < b->nheads; i++) {
		if (b->heads[i].node == node)
			return &b->heads[i];
	}
	return NULL;
}

/* Will it have a piece? */
static bool want_head(struct mtc_build *b, const struct mt_node *node)
{
	if (find_head(b, node))
		return true;
	if (b->nheads == MTC_HEADS || node->id >= b->of->ids || !node->compiles)
		return false;
	b->heads[b->nheads++] = (struct mtc_head){ .node = node };
	return true;
}

/* @place is the distance of the jump on the edge from @from to @node. */
static void jump_to(struct mtc_build *b, uint8_t *place, const struct mt_node *from, const struct mt_node *node)
{
	uint64_t at = node->id < b->of->ids ? compiled(b, node) : 0;

	if (b->a.full)
		return;
	if (node->loop && node == from)
		mtc_to(place, b->body);	/* its closed form has been tried */
	else if (at)
		to_made(b, place, at);
	else
		mtc_fix(b, place, node, !want_head(b, node));
}

/* ---- between nodes ---- */

static void move(struct mtc_build *b, uint8_t reg, uint32_t by)
{
	if (by)
		mtc_lea(&b->a, reg, (struct mtc_mem){ .base = reg, .index = MTC_NONE, .disp = (int32_t)by });
}

static void burn(struct mtc_build *b)
{
	if (b->fresh)
		mtc_load(&b->a, MTC_R11, mtc_machine(MTC_MACHINE(limit)));
	if (b->burnt)
		mtc_lea(&b->a, MTC_R11,
			(struct mtc_mem){ .base = MTC_R11, .index = MTC_NONE, .disp = -(int32_t)b->burnt });
	b->fresh = false;
	b->burnt = 0;
}

static void add_sums(struct mtc_build *b)
{
	for (uint8_t i = 0; i < 2; i++) {
		static const uint32_t none[4];

		if (memcmp(b->sums[i], none, sizeof(none)) != 0)
			mtc_constant(b, mtc_rm_rip(&b->a, 2, 0x0ffe, i + 1), b->sums[i]); /* paddd */
	}
	memset(b->sums, 0, sizeof(b->sums));
}

/* All is as it has to be between pieces; flags stay. */
static void settle(struct mtc_build *b)
{
	mtc_flush(b);
	add_sums(b);
	burn(b);
	move(b, MTC_R12, b->at_word);
	move(b, MTC_R14, b->at_access * (uint32_t)sizeof(struct mt_access));
	b->at_word = b->at_access = 0;
}

/* An exit edge from @from to @node, whose jump is at @place: the piece goes on as if it were not taken. */
static void add_exit(struct mtc_build *b, uint8_t *place, const struct mt_node *from, const struct mt_node *node)
{
	struct mtc_exit *edge = &b->exits[b->nexits++];

	*edge = (struct mtc_exit){
		.place = place, .node = node, .from = from,
		.at_word = b->at_word, .at_access = b->at_access, .burnt = b->burnt, .fresh = b->fresh,
	};
	memcpy(edge->sums, b->sums, sizeof(edge->sums));
	memcpy(edge->hosts, b->hosts, sizeof(edge->hosts));
}

/* What is to be done on the exit edges. */
static void put_exits(struct mtc_build *b)
{
	for (uint32_t i = 0; i < b->nexits && !b->a.full; i++) {
		const struct mtc_exit *edge = &b->exits[i];

		b->at_word = edge->at_word;
		b->at_access = edge->at_access;
		b->burnt = edge->burnt;
		b->fresh = edge->fresh;
		memcpy(b->sums, edge->sums, sizeof(edge->sums));
		memcpy(b->hosts, edge->hosts, sizeof(edge->hosts));
		mtc_to(edge->place, b->a.at);
		settle(b);
		jump_to(b, mtc_jmp(&b->a), edge->from, edge->node);
	}
}

/* To the piece of the next header's node. */
static void dispatch(struct mtc_build *b)
{
	static const struct mtc_mem word = { .base = MTC_R12, .index = MTC_NONE };
	static const struct mtc_mem table = { .base = MTC_R10, .index = MTC_RAX, .scale = 3 };

	settle(b);
	mtc_rm_mem(&b->a, 4, 0x8b, MTC_RAX, word);
	mtc_rm_mem(&b->a, 4, 0x3b, MTC_RAX, mtc_machine(MTC_MACHINE(ids)));
	mtc_fix(b, mtc_jcc(&b->a, CC_AE), NULL, true);
	mtc_rm_mem(&b->a, 4, 0xff, 4, table);
}

/* Does it look at words? */
static bool reads_words(const struct mt_node *node)
{
	return node->words || node->peeks;
}

/* Can it be the next node of this piece, and is it no harm that its code is there again? */
static bool can_follow(const struct mtc_build *b, const struct mt_node *node)
{
	if (b->npath == MT_PIECE_NODES || node->header || node->loop || node->id >= b->of->ids || !node->compiles)
		return false;
	if (b->weight + node->weight > MT_PIECE_WEIGHT)
		return false;
	if (b->words + node->words > MT_PIECE_BYTES || b->accesses + node->accesses > MT_ACCESSES)
		return false;
	if (reads_words(node) && !reads_words(b->path[0]))
		return false;
	for (uint32_t i = 0; i < b->npath; i++) {
		if (b->path[i] == node)
			return false;
	}
	return mt_end(node)->code == MD_NEXT || (!find_head(b, node) && !compiled(b, node));
}

static unsigned int heat(const struct mtc_build *b, const struct mt_node *node)
{
	return node->id < b->of->ids ? b->of->tables[b->mode].heat[node->id] : 0;
}

/* The end of a piece: the edge from @from to @node. */
static void finish(struct mtc_build *b, const struct mt_node *from, const struct mt_node *node)
{
	settle(b);
	jump_to(b, mtc_jmp(&b->a), from, node);
}

/* The node that the piece goes on with; NULL: none.  @cc: for the end's target. */
static const struct mt_node *branch(struct mtc_build *b, const struct mt_node *node, unsigned int cc)
{
	const struct mt_op *end = mt_end(node);
	const struct mt_node *on = end->target, *off = end->other;

	if (!can_follow(b, on) || (can_follow(b, off) && heat(b, off) > heat(b, on))) {
		on = end->other;
		off = end->target;
	} else {
		cc ^= 1;
	}
	add_exit(b, mtc_jcc(&b->a, cc), node, off);
	if (can_follow(b, on))
		return on;
	finish(b, node, on);
	return NULL;
}

/* Compares the next word with the header that the node looks for. */
static void peek(struct mtc_build *b, const struct mt_op *end)
{
	mtc_rm_mem(&b->a, 4, 0x81, ALU_CMP,
		   (struct mtc_mem){ .base = MTC_R12, .index = MTC_NONE, .disp = (int32_t)b->at_word });
	mtc_u32(&b->a, end->target->id);
}

static const struct mt_node *end_node(struct mtc_build *b, const struct mt_node *node)
{
	const struct mt_op *end = mt_end(node);

	switch (end->code) {
	case MD_IF:
		mtc_condition(b, node);
		return branch(b, node, end->scale);
	case MD_PEEK:
		peek(b, end);
		return branch(b, node, CC_E);
	case MD_GOTO:
		if (can_follow(b, end->target))
			return end->target;
		finish(b, node, end->target);
		return NULL;
	default:
		dispatch(b);
		return NULL;
	}
}

static void run_node(struct mtc_build *b, const struct mt_node *node)
{
	b->path[b->npath++] = node;
	b->weight += node->weight;
	b->words += node->words;
	b->accesses += node->accesses;
	if (node->words) {
		b->fresh = true;
		b->burnt = 0;
	} else {
		b->burnt++;
	}
	if (node->header)
		b->at_word += 4;
	for (uint32_t i = 0; i < node->nops; i++)
		mtc_op(b, node, i);
}

/* ---- pieces ---- */

/* Leaves if pointer @reg is above @limit, less what is needed beyond that. */
static void check(struct mtc_build *b, const struct mt_node *node, uint8_t reg, uint8_t limit, uint32_t beyond)
{
	if (beyond) {
		mtc_lea(&b->a, MTC_RAX,
			(struct mtc_mem){ .base = reg, .index = MTC_NONE, .disp = (int32_t)beyond });
		reg = MTC_RAX;
	}
	mtc_rm(&b->a, 8, 0x3b, reg, limit);
	leave(b, CC_A, node);
}

static void check_words(struct mtc_build *b, const struct mt_node *node)
{
	check(b, node, MTC_R12, MTC_R13, node->words > MT_PIECE_BYTES ? node->words - MT_PIECE_BYTES : 0);
}

static void check_header(struct mtc_build *b, const struct mt_node *node)
{
	check_words(b, node);
	mtc_rm_mem(&b->a, 4, 0x81, ALU_CMP, (struct mtc_mem){ .base = MTC_R12, .index = MTC_NONE });
	mtc_u32(&b->a, node->id);
	leave(b, CC_NE, node);
}

static void check_all(struct mtc_build *b, const struct mt_node *node)
{
	if (reads_words(node))
		check_words(b, node);
	if (!node->words) {
		mtc_alu_imm(&b->a, 8, ALU_CMP, MTC_R11, MT_PIECE_NODES);
		leave(b, CC_B, node);
		if (b->mode != MT_NEXT) {
			mtc_alu_imm(&b->a, 8, ALU_SUB, MTC_R14, 1);
			leave(b, CC_S, node);
		}
	}
	if (b->mode == MT_NEXT)
		check(b, node, MTC_R14, MTC_R15,
		      node->accesses > MT_ACCESSES ?
			      (node->accesses - MT_ACCESSES) * (uint32_t)sizeof(struct mt_access) : 0);
}

static void align(struct mtc_build *b)
{
	while (!b->a.full && (uintptr_t)b->a.at % 16)
		mtc_u8(&b->a, 0xcc);
}

/* All nodes of a piece are in one object. */
static bool keeps_flags(const struct mtc_build *b, const struct mt_node *node)
{
	const struct mt_object *o = b->of->code->objects;

	while (o && node->id - o->first >= o->nnodes)
		o = o->next;
	return !o || o->reads_flags;
}

static void begin(struct mtc_build *b, const struct mt_node *node)
{
	b->keeps_flags = keeps_flags(b, node);
	mtc_forget(b);
	memset(b->sums, 0, sizeof(b->sums));
	b->npath = b->nexits = b->weight = b->words = b->accesses = b->at_word = b->at_access = b->burnt = 0;
	b->fresh = false;
	b->body = NULL;
}

static void piece(struct mtc_build *b, struct mtc_head *head)
{
	const struct mt_node *node = head->node;
	uint8_t *from, *entry = NULL;

	begin(b, node);
	align(b);
	head->entry = from = b->a.at;
	if (node->header) {
		check_header(b, node);
		head->header = b->a.at;
	}
	if (node->loop) {
		entry = mtc_jmp(&b->a);
		while (!b->a.full && b->a.at < from + MT_BODY)
			mtc_u8(&b->a, 0xcc);
		b->body = b->a.at;
	}
	check_all(b, node);
	while (node) {
		run_node(b, node);
		node = end_node(b, node);
	}
	put_exits(b);
	if (entry)
		mtc_enter_loop(b, entry, head->node);
}

/* ---- all ---- */

/* With the node's id; there may be a piece for it in the table by then, else it leaves. */
static void add_leave(struct mtc_build *b, const struct mtc_fix *f)
{
	uint8_t *place;

	mtc_imm(&b->a, MTC_RAX, 2 * (uint64_t)f->node->id + f->tried);
	if (f->node->compiles && f->node->id < b->of->ids && !find_head(b, f->node)) {
		mtc_rm_mem(&b->a, 4, 0xff, 4,
			   (struct mtc_mem){ .base = MTC_R10, .index = MTC_NONE,
					     .disp = MT_GOTOS + (int32_t)f->node->id * 8 });
		return;
	}
	place = mtc_jmp(&b->a);
	if (!b->a.full)
		to_made(b, place, b->of->gates.leave);
}

/* Fixes of the same kind, one after the other, share one. */
static void add_leaves(struct mtc_build *b)
{
	const struct mtc_fix *last = NULL;
	uint8_t *at = NULL;

	for (uint32_t i = 0; i < b->nfixes; i++) {
		const struct mtc_fix *f = &b->fixes[i];

		if (!f->leaves || !f->node)
			continue;
		if (!last || f->node != last->node || f->tried != last->tried) {
			at = b->a.at;
			add_leave(b, f);
		}
		last = f;
		if (!b->a.full)
			mtc_to(f->place, at);
	}
}

static void set_fixes(struct mtc_build *b)
{
	for (uint32_t i = 0; i < b->nfixes; i++) {
		const struct mtc_fix *f = &b->fixes[i];

		if (!f->node)
			to_made(b, f->place, b->of->gates.leave_header);
		else if (!f->leaves)
			mtc_to(f->place, find_head(b, f->node)->entry);
	}
}

bool mtc_make(struct mtc_compiler *c, enum mt_mode mode, const struct mt_node *const *roots, unsigned int n)
{
	struct mtc_build *b = c->build;

	b->of = c;
	b->mode = mode;
	b->nheads = b->nfixes = b->nconstants = 0;
	b->failed = b->a.full = false;
	for (unsigned int i = 0; i < n; i++)
		if (!compiled(b, roots[i]) && !want_head(b, roots[i]))
			return false;
	for (uint32_t i = 0; i < b->nheads && !b->failed && !b->a.full; i++)
		piece(b, &b->heads[i]);
	if (b->failed || b->a.full)
		return false;
	add_leaves(b);
	align(b);
	mtc_put_constants(b);
	if (b->failed || b->a.full)
		return false;
	set_fixes(b);
	return true;
}

static void set(uint64_t *place, const uint8_t *made, uint64_t away)
{
	__atomic_store_n(place, (uint64_t)(uintptr_t)made + away, __ATOMIC_RELEASE);
}

void mtc_publish(struct mtc_compiler *c)
{
	const struct mtc_build *b = c->build;

	for (uint32_t i = 0; i < b->nheads; i++) {
		const struct mtc_head *head = &b->heads[i];

		set(slot(b, head->node, false), head->entry, b->away);
		if (head->header)
			set(slot(b, head->node, true), head->header, b->away);
	}
}
