// SPDX-License-Identifier: GPL-3.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/memtrace/memexpand_support.h"
#include "memtrace/compile.h"
#include "memtrace/heap.h"

/* ---- descriptions ---- */

void mxt_node(struct mxt_description *d, bool header)
{
	assert_true(d->nnodes < MXT_NODES);
	d->nodes[d->nnodes] = (struct md_node){
		.op = d->nops, .start = (d->nnodes + 1) * 0x100, .bytes = header ? 4 : 0,
		.flags = header ? MD_NODE_HEADER : 0,
	};
	d->nnodes++;
}

static uint32_t lanes_bytes(const struct md_op *op)
{
	uint32_t n = MD_LANES_COUNT(op->imm), bytes = 0;

	if (op->code == MD_GATHER)
		bytes = (n * MD_LANES_INDEX(op->imm) + 3) / 4 * 4;
	switch (MD_LANES_MASK(op->imm)) {
	case MD_MASK_VECTOR:
		return bytes + (n * op->width + 3) / 4 * 4;
	case MD_MASK_BITS:
		return bytes + 8;
	case MD_MASK_BYTES:
		return bytes + (n + 3) / 4 * 4;
	}
	return bytes;
}

static uint32_t bytes_of(const struct md_op *op)
{
	switch (op->code) {
	case MD_VALUE:
		return 8;
	case MD_VALUE_U32:
	case MD_VALUE_S32:
		return 4;
	case MD_STRING:
		return op->scale ? 8 : 0;
	case MD_MASKED:
	case MD_GATHER:
	case MD_PACKED:
		return lanes_bytes(op);
	}
	return 0;
}

void mxt_op(struct mxt_description *d, struct md_op op)
{
	struct md_node *node = &d->nodes[d->nnodes - 1];

	assert_true(d->nops < MXT_OPS);
	if (!op.insn && node->nops)
		op.insn = (uint16_t)(d->ops[d->nops - 1].insn + 2);
	d->ops[d->nops++] = op;
	node->nops++;
	node->bytes = (uint16_t)(node->bytes + bytes_of(&op));
	node->accesses = (uint8_t)(node->accesses + (op.code == MD_ACCESS && node->accesses < 255));
	if (op.code >= MD_STRING && op.code <= MD_PACKED)
		node->flags |= MD_NODE_VARIES;
}

static enum mt_status add(struct mt_code *code, const struct mxt_description *d)
{
	struct md_object object = {
		.base = MXT_BASE, .load = MXT_LOAD, .first = MXT_FIRST,
		.nnodes = d->nnodes, .nops = d->nops,
	};

	return mt_code_add(code, &object, d->nodes, d->ops);
}

bool mxt_compiled;

struct mt_code *mxt_code(const struct mxt_description *d)
{
	struct mt_code *code = mt_code_new(&mt_heap);

	assert_non_null(code);
	if (mxt_compiled) {
		mt_compile(code);
		mt_compile_hot(code, 0);
	}
	assert_int_equal(add(code, d), MT_OK);
	return code;
}

enum mt_status mxt_try(const struct mxt_description *d)
{
	struct mt_code *code = mt_code_new(&mt_heap);
	enum mt_status status;

	assert_non_null(code);
	status = add(code, d);
	mt_code_free(code);
	return status;
}

/* ---- the program's stream ---- */

static void write_bytes(struct mxt_chunk *c, const void *data, size_t len)
{
	if (c->len + len > c->room) {
		c->room = (c->len + len) * 2;
		c->data = realloc(c->data, c->room);
		assert_non_null(c->data);
	}
	memcpy(c->data + c->len, data, len);
	c->len += len;
}

static void look_at_word(struct mxt_program *p, const void *word)
{
	uint32_t v;

	memcpy(&v, word, sizeof(v));
	for (uint32_t i = 0; i < p->nlooked; i++)
		p->ambiguous |= (v == p->looked[i].id) != p->looked[i].taken;
	p->nlooked = 0;
}

static void words(struct mxt_program *p, const void *data, size_t len)
{
	static const uint8_t zero[4];

	if (len >= 4)
		look_at_word(p, data);
	else if (p->nlooked)
		p->ambiguous = true;
	write_bytes(&p->chunks[p->nchunks - 1], data, len);
	write_bytes(&p->chunks[p->nchunks - 1], zero, -len & 3);
	p->written += (uint32_t)((len + 3) / 4 * 4);
}

static uint64_t rflags(const struct mxt_program *p)
{
	return (uint64_t)mxt_condition(p, 2) | (uint64_t)mxt_condition(p, 10) << 2 |
	       (uint64_t)mxt_condition(p, 4) << 6 | (uint64_t)mxt_condition(p, 8) << 7 |
	       (uint64_t)mxt_condition(p, 0) << 11;
}

/* Where no word follows, the reader takes it that there is none of those looked for. */
static void end_of_words(struct mxt_program *p)
{
	for (uint32_t i = 0; i < p->nlooked; i++)
		p->ambiguous |= p->looked[i].taken;
	p->nlooked = 0;
}

void mxt_chunk(struct mxt_program *p, enum md_chunk_kind kind)
{
	struct md_chunk head = { .kind = kind, .depth = p->depth, .fs = p->reg[MD_FS], .head = sizeof(head) };
	struct md_interrupt at = {
		.node = MXT_FIRST + p->node, .written = p->written, .flags = rflags(p),
		.insn = p->d->ops[p->d->nodes[p->node].op + p->op].insn,
	};
	bool place = kind == MD_CHUNK_SIGNAL || kind == MD_CHUNK_STATE;

	if (kind != MD_CHUNK_MORE)
		end_of_words(p);
	if (place) {
		head.head += sizeof(at);
		memcpy(at.regs, p->reg, sizeof(at.regs));
	}
	p->chunks = realloc(p->chunks, (p->nchunks + 1) * sizeof(*p->chunks));
	assert_non_null(p->chunks);
	p->chunks[p->nchunks++] = (struct mxt_chunk){ 0 };
	write_bytes(&p->chunks[p->nchunks - 1], &head, sizeof(head));
	if (place)
		write_bytes(&p->chunks[p->nchunks - 1], &at, sizeof(at));
}

uint64_t mxt_random(struct mxt_program *p)
{
	uint64_t z = p->seed += 0x9e3779b97f4a7c15ull; /* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

void mxt_start(struct mxt_program *p, const struct mxt_description *d, uint64_t seed)
{
	*p = (struct mxt_program){ .d = d, .seed = seed, .value = mxt_random };
	p->reg[MD_OBJECT] = MXT_LOAD;
	p->reg[MD_FS] = 0x7f0000001000ull;
	mxt_chunk(p, MD_CHUNK_START);
}

void mxt_free(struct mxt_program *p)
{
	for (size_t i = 0; i < p->nchunks; i++)
		free(p->chunks[i].data);
	free(p->chunks);
	free(p->v);
}

/* ---- its operations ---- */

static void access_at(struct mxt_program *p, uint64_t addr, uint32_t size, uint8_t kind, const struct md_op *op)
{
	if (p->nv == p->room_v) {
		p->room_v = p->room_v * 2 + 64;
		p->v = realloc(p->v, p->room_v * sizeof(*p->v));
		assert_non_null(p->v);
	}
	p->v[p->nv++] = (struct mt_access){
		.addr = addr, .size = size, .kind = kind,
		.insn = MXT_BASE + p->d->nodes[p->node].start + op->insn,
	};
}

static uint64_t reg(const struct mxt_program *p, uint8_t n)
{
	return n == MD_NONE ? 0 : p->reg[n];
}

static uint64_t cut(uint64_t v, unsigned int width)
{
	switch (width) {
	case 1:
		return (uint8_t)v;
	case 2:
		return (uint16_t)v;
	case 4:
		return (uint32_t)v;
	}
	return v;
}

static int64_t sign(uint64_t v, unsigned int width)
{
	switch (width) {
	case 1:
		return (int8_t)v;
	case 2:
		return (int16_t)v;
	case 4:
		return (int32_t)v;
	}
	return (int64_t)v;
}

/* From the definition of the flags, in Intel's manual, vol. 1, 3.4.3.1. */
bool mxt_condition(const struct mxt_program *p, unsigned int cc)
{
	unsigned int w = p->flags_width;
	uint64_t r = cut(p->flags_kind == MD_FLAGS_SUB ? p->a - p->b : p->a & p->b, w);
	__int128 exact = (__int128)sign(p->a, w) - sign(p->b, w);
	bool sub = p->flags_kind == MD_FLAGS_SUB;
	bool of = sub && exact != sign(r, w), cf = sub && cut(p->a, w) < cut(p->b, w);
	bool zf = r == 0, sf = sign(r, w) < 0, pf = !(__builtin_popcount(r & 0xff) & 1);
	bool v[8] = { of, cf, zf, cf || zf, sf, pf, sf != of, zf || sf != of };

	return v[cc >> 1] != (cc & 1);
}

static uint64_t calculate(const struct mxt_program *p, const struct md_op *op)
{
	uint64_t a = reg(p, op->base), b = op->index == MD_NONE ? (uint64_t)op->imm : p->reg[op->index];
	unsigned int n = b & (op->width == 8 ? 63 : 31);
	uint64_t v = 0;

	switch (op->code) {
	case MD_LEA:
		return a + (reg(p, op->index) << op->scale) + (uint64_t)op->imm;
	case MD_SUB:
		return a - b;
	case MD_AND:
		return a & b;
	case MD_OR:
		return a | b;
	case MD_XOR:
		return a ^ b;
	case MD_MUL:
		return a * b;
	case MD_SHL:
		return a << n;
	case MD_SHR:
		return cut(a, op->width) >> n;
	case MD_SAR:
		return (uint64_t)(sign(a, op->width) >> n);
	case MD_ROL:
		for (n = b % (8 * op->width), a = cut(a, op->width); n; n--)
			a = cut(a << 1, op->width) | a >> (8 * op->width - 1);
		return a;
	case MD_MULHU:
		return (uint64_t)((unsigned __int128)cut(a, op->width) * cut(b, op->width) >> 8 * op->width);
	case MD_MULHS:
		return (uint64_t)((__int128)sign(a, op->width) * sign(b, op->width) >> 8 * op->width);
	case MD_BSWAP:
		for (n = op->width; n; n--, a >>= 8)
			v = v << 8 | (a & 0xff);
		return v;
	case MD_SELECT:
		return mxt_condition(p, op->scale) ? b : a;
	}
	fail_msg("operation %u", op->code);
	return 0;
}

static void compute(struct mxt_program *p, const struct md_op *op)
{
	uint64_t *dst = &p->reg[op->dst], v;

	if (op->code == MD_SEXT || op->code == MD_ZEXT) {
		v = op->code == MD_SEXT ? (uint64_t)sign(reg(p, op->base), op->width) : cut(reg(p, op->base), op->width);
		*dst = op->scale == 2 ? (uint32_t)v : v;
		return;
	}
	v = calculate(p, op);
	if (op->width == 1)
		*dst = (*dst & ~0xffull) | (uint8_t)v;
	else if (op->width == 2)
		*dst = (*dst & ~0xffffull) | (uint16_t)v;
	else
		*dst = cut(v, op->width);
}

static void value(struct mxt_program *p, const struct md_op *op)
{
	uint64_t v = p->value(p);

	if (op->code == MD_VALUE_U32)
		v = (uint32_t)v;
	if (op->code == MD_VALUE_S32)
		v = (uint64_t)(int64_t)(int32_t)v;
	p->reg[op->dst] = v;
	words(p, &v, op->code == MD_VALUE ? 8 : 4);
}

static void element(struct mxt_program *p, const struct md_op *op)
{
	uint64_t by = reg(p, op->base) & 1 ? -(uint64_t)op->width : op->width;
	bool rsi = op->dst == MD_MOVS || op->dst == MD_LODS || op->dst == MD_CMPS, rdi = op->dst != MD_LODS;

	if (rsi)
		access_at(p, p->reg[6], op->width, MD_LOAD, op);
	if (rdi)
		access_at(p, p->reg[7], op->width, op->dst <= MD_STOS ? MD_STORE : MD_LOAD, op);
	p->reg[6] += rsi ? by : 0;
	p->reg[7] += rdi ? by : 0;
}

static void string(struct mxt_program *p, const struct md_op *op)
{
	uint64_t n = 1, done = 0;

	if (op->index != MD_NONE)
		n = op->scale && p->reg[1] ? mxt_random(p) % p->reg[1] + 1 : p->reg[1];
	if (p->string_cut && p->strings < n)
		n = p->strings;
	else
		p->string_cut = false;
	for (; done < n; done++)
		element(p, op);
	if (op->index != MD_NONE)
		p->reg[1] -= n;
	if (op->scale && !p->string_cut)
		words(p, &p->reg[1], 8);
}

static bool lane_on(const struct md_op *op, const uint8_t *mask, unsigned int i)
{
	switch (MD_LANES_MASK(op->imm)) {
	case MD_MASK_VECTOR:
		return mask[(i + 1) * op->width - 1] & 0x80;
	case MD_MASK_BITS:
		return mask[i / 8] & 1 << i % 8;
	case MD_MASK_BYTES:
		return mask[i] & 0x80;
	}
	return true;
}

static void lanes(struct mxt_program *p, const struct md_op *op)
{
	unsigned int n = MD_LANES_COUNT(op->imm), size = MD_LANES_INDEX(op->imm), packed = 0;
	uint32_t index = op->code == MD_GATHER ? (n * size + 3) / 4 * 4 : 0;
	uint64_t base = reg(p, op->base) + (uint64_t)(int32_t)op->imm, at;
	uint8_t data[1024];

	for (unsigned int i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)mxt_random(p);
	for (unsigned int i = 0; i < n; i++) {
		int64_t v = 0;

		if (!lane_on(op, data + index, i))
			continue;
		if (op->code == MD_GATHER) {
			memcpy(&v, data + i * size, size);
			at = base + ((uint64_t)sign((uint64_t)v, size) << op->scale);
		} else {
			at = base + (reg(p, op->index) << op->scale) +
			     op->width * (op->code == MD_PACKED ? packed : i);
		}
		packed++;
		access_at(p, at, op->width, op->dst, op);
	}
	words(p, data, lanes_bytes(op));
}

static uint32_t size_of(const struct mxt_program *p, const struct md_op *op)
{
	if (op->width)
		return op->width;
	while (op->code != MD_SIZE)
		op--;
	assert_true(op >= p->d->ops);
	return (uint32_t)op->imm;
}

static void run_op(struct mxt_program *p, const struct md_op *op)
{
	switch (op->code) {
	case MD_VALUE:
	case MD_VALUE_U32:
	case MD_VALUE_S32:
		value(p, op);
		break;
	case MD_FLAGS:
		p->a = reg(p, op->base);
		p->b = op->index == MD_NONE ? (uint64_t)op->imm : p->reg[op->index];
		p->flags_kind = op->dst;
		p->flags_width = op->width;
		break;
	case MD_ACCESS:
		access_at(p, reg(p, op->base) + (reg(p, op->index) << op->scale) + (uint64_t)op->imm,
			  size_of(p, op), op->dst, op);
		break;
	case MD_SIZE:
		break;
	case MD_STRING:
		string(p, op);
		break;
	case MD_MASKED:
	case MD_GATHER:
	case MD_PACKED:
		lanes(p, op);
		break;
	default:
		compute(p, op);
	}
}

void mxt_run_to(struct mxt_program *p, uint32_t op)
{
	const struct md_node *node = &p->d->nodes[p->node];
	uint32_t id = MXT_FIRST + p->node;

	if (!p->begun && node->flags & MD_NODE_HEADER)
		words(p, &id, 4);
	p->begun = true;
	while (p->op < op && !p->string_cut) {
		run_op(p, &p->d->ops[node->op + p->op]);
		p->op += !p->string_cut;
	}
}

/* Either way.  A cycle without words is ambiguous: there is no telling how often it has been run. */
static void peek(struct mxt_program *p, const struct md_op *end)
{
	uint32_t target = (uint32_t)end->imm;
	struct mxt_looked looked = { .id = MXT_FIRST + target, .node = p->node, .taken = mxt_random(p) >> 63 };

	for (uint32_t i = 0; i < p->nlooked; i++)
		p->ambiguous |= p->looked[i].id == looked.id;
	if (p->nlooked == MXT_LOOKED)
		p->ambiguous = true;
	else
		p->looked[p->nlooked++] = looked;
	p->node = looked.taken ? target : (uint32_t)((uint64_t)end->imm >> 32);
}

bool mxt_run_node(struct mxt_program *p)
{
	const struct md_node *node = &p->d->nodes[p->node];
	const struct md_op *end = &p->d->ops[node->op + node->nops - 1];

	mxt_run_to(p, node->nops - 1);
	p->op = 0;
	p->written = 0;
	p->begun = false;
	if (end->code == MD_GOTO || (end->code == MD_IF && mxt_condition(p, end->scale)))
		p->node = (uint32_t)end->imm;
	else if (end->code == MD_IF)
		p->node = (uint32_t)((uint64_t)end->imm >> 32);
	else if (end->code == MD_PEEK)
		peek(p, end);
	return end->code == MD_NEXT;
}

/* Interrupted before there was a word: of what has been looked at, the place has to tell; and that it was there twice, does not. */
static void look_at_place(struct mxt_program *p)
{
	bool header = p->d->nodes[p->node].flags & MD_NODE_HEADER;

	for (uint32_t i = 0; i < p->nlooked; i++) {
		const struct mxt_looked *l = &p->looked[i];

		p->ambiguous |= (l->id == MXT_FIRST + p->node) != l->taken || (!header && l->node == p->node);
	}
	p->nlooked = 0;
}

void mxt_signal(struct mxt_program *p, uint32_t handler, bool back)
{
	struct mxt_program before = *p;

	p->string_cut = before.string_cut = false;
	look_at_place(p);
	p->depth++;
	mxt_chunk(p, MD_CHUNK_SIGNAL);
	for (unsigned int i = 0; i < 15; i++)
		p->reg[i] = mxt_random(p);
	p->node = handler;
	p->op = p->written = 0;
	p->begun = false;
	for (int i = 0; i < 1000 && !mxt_run_node(p);)
		i++;
	if (!back)
		return;
	mxt_chunk(p, MD_CHUNK_RESUME);
	p->depth--;
	memcpy(p->reg, before.reg, sizeof(p->reg));
	p->a = before.a;
	p->b = before.b;
	p->flags_kind = before.flags_kind;
	p->flags_width = before.flags_width;
	p->node = before.node;
	p->op = before.op;
	p->begun = before.begun;
	p->written = before.written;
}

/* ---- the reader ---- */

static void more(struct mxt_read *read, size_t max)
{
	if (read->n + max > read->room) {
		read->room = (read->n + max) * 2;
		read->v = realloc(read->v, read->room * sizeof(*read->v));
		assert_non_null(read->v);
	}
}

static void expand(const struct mt_code *code, const struct mxt_program *p, size_t max, struct mxt_read *read, bool repeats)
{
	struct mt_machine *m = mt_machine_new((struct mt_code *)(uintptr_t)code);
	size_t n;

	assert_non_null(m);
	if (repeats)
		mt_machine_repeats(m);
	for (size_t i = 0; i < p->nchunks && read->status == MT_OK; i++) {
		const struct mxt_chunk *c = &p->chunks[i];
		uint8_t *copy = malloc(c->len);	/* exact, and gone when the machine has taken it */

		assert_non_null(copy);
		memcpy(copy, c->data, c->len);
		read->status = mt_feed(m, copy, c->len);
		do {
			more(read, max);
			n = read->status == MT_OK ? mt_next(m, read->v + read->n, max, &read->status) : 0;
			read->n += n;
		} while (n && read->n < 100000000);
		free(copy);
	}
	mt_machine_free(m);
}

void mxt_expand(const struct mt_code *code, const struct mxt_program *p, size_t max, struct mxt_read *read)
{
	expand(code, p, max, read, false);
}

static void same(const struct mt_access *a, const struct mt_access *b, size_t i)
{
	if (memcmp(a, b, sizeof(*a)))
		fail_msg("access %zu: %#llx, %u bytes, kind %u, by %#llx, is not %#llx, %u, %u, %#llx", i,
			 (unsigned long long)a->addr, a->size, a->kind, (unsigned long long)a->insn,
			 (unsigned long long)b->addr, b->size, b->kind, (unsigned long long)b->insn);
}

void mxt_check(const struct mt_code *code, const struct mxt_program *p, size_t max)
{
	struct mxt_read read = { 0 };

	mxt_expand(code, p, max, &read);
	for (size_t i = 0; i < read.n && i < p->nv; i++)
		same(&read.v[i], &p->v[i], i);
	assert_int_equal(read.status, MT_OK);
	assert_int_equal(read.n, p->nv);
	free(read.v);
}

/* Each access that is repeated, so often. */
static uint64_t unfold(const struct mxt_read *from, struct mxt_read *to)
{
	uint64_t repeats = 0;

	for (size_t i = 0; i < from->n; i++) {
		struct mt_access a = from->v[i];
		const bool repeated = a.kind & MD_REPEATED;

		a.kind &= (uint8_t)~MD_REPEATED;
		assert_int_not_equal(a.kind & MD_KIND, MD_REPEAT);
		if (repeated) {
			assert_true(i + 1 < from->n);
			assert_int_equal(from->v[++i].kind, MD_REPEAT);
			repeats++;
		}
		for (uint32_t n = repeated ? from->v[i].size : 1; n; n--, a.addr += from->v[i].addr) {
			more(to, 1);
			to->v[to->n++] = a;
		}
	}
	return repeats;
}

static int in_any_order(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct mt_access));
}

uint64_t mxt_check_repeats(const struct mt_code *code, const struct mxt_program *p, size_t max)
{
	struct mxt_read read = { 0 }, all = { 0 }, want = { 0 };
	uint64_t repeats;

	expand(code, p, max, &read, true);
	assert_int_equal(read.status, MT_OK);
	repeats = unfold(&read, &all);
	assert_int_equal(all.n, p->nv);
	more(&want, p->nv);
	if (p->nv) {
		memcpy(want.v, p->v, p->nv * sizeof(*p->v));
		qsort(want.v, p->nv, sizeof(*want.v), in_any_order);
		qsort(all.v, all.n, sizeof(*all.v), in_any_order);
	}
	for (size_t i = 0; i < all.n; i++)
		same(&all.v[i], &want.v[i], i);
	free(read.v);
	free(all.v);
	free(want.v);
	return repeats;
}

static void count(struct mt_counts *c, const struct mt_access *a, bool stack)
{
	if (!stack && a->kind & MD_STACK)
		return;
	c->accesses[a->kind & MD_KIND]++;
	c->bytes[a->kind & MD_KIND] += a->size;
}

static void check_counts(const struct mt_code *code, const struct mxt_program *p, bool stack)
{
	struct mt_machine *m = mt_machine_new((struct mt_code *)(uintptr_t)code);
	struct mt_counts got = { 0 }, want = { 0 };

	assert_non_null(m);
	for (size_t i = 0; i < p->nv; i++)
		count(&want, &p->v[i], stack);
	for (size_t i = 0; i < p->nchunks; i++) {
		assert_int_equal(mt_feed(m, p->chunks[i].data, p->chunks[i].len), MT_OK);
		assert_int_equal(mt_count(m, stack, &got), MT_OK);
	}
	assert_memory_equal(&got, &want, sizeof(got));
	mt_machine_free(m);
}

void mxt_check_counts(const struct mt_code *code, const struct mxt_program *p)
{
	check_counts(code, p, false);
	check_counts(code, p, true);
}
