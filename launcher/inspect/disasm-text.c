/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How `sonde disasm` shows a function and its mirror. */
#include "launcher/inspect/disasm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

/* ---- names of places ---- */

static void name_of_code(const struct disasm *d, uint64_t addr, char *buf, size_t size)
{
	uint32_t fn = tramp_code_function(d->a.code, addr);
	const struct tramp_fn *fns = d->a.facts.facts.fns;
	const struct inj_symbol *symbol = fn == TRAMP_NONE ? inj_symtab_at(d->a.tab, addr) : NULL;
	const char *mangled = symbol		? symbol->name
			      : fn == TRAMP_NONE ? plt_at(d->plt, addr)
						 : d->a.facts.fn[fn].name;
	char *plain = mangled ? inj_demangle(mangled) : NULL;
	const char *name = plain ? plain : mangled;
	uint64_t start = symbol || fn == TRAMP_NONE ? addr : fns[fn].addr;

	if (!name)
		snprintf(buf, size, "%" PRIx64, addr);
	else if (addr == start)
		snprintf(buf, size, "%" PRIx64 " <%s>", addr, name);
	else if (addr > start)
		snprintf(buf, size, "%" PRIx64 " <%s+0x%" PRIx64 ">", addr, name, addr - start);
	else /* in a part before it */
		snprintf(buf, size, "%" PRIx64 " <%s-0x%" PRIx64 ">", addr, name, start - addr);
	free(plain);
}

void disasm_name(void *arg, uint64_t addr, char *buf, size_t size)
{
	const struct disasm *d = arg;

	if (d->mirror && addr - d->arena < d->code.len)
		snprintf(buf, size, "mirror+0x%" PRIx64, addr - d->arena);
	else
		name_of_code(d, addr, buf, size);
}

/* ---- lines of the table ---- */

static uint64_t base_of(const struct disasm *d)
{
	return tramp_code_base(d->a.code);
}

/* A mark, the place, the instruction, and where it comes from or goes. */
static void print_row(char mark, const char *place, const char *text, const char *note)
{
	if (*note)
		printf("%c %12s  %-56s %s\n", mark, place, text, note);
	else
		printf("%c %12s  %s\n", mark, place, text);
}

/* Returns the instruction's length. */
static size_t print_original_row(const struct disasm *d, char mark, uint32_t off, const uint8_t *bytes,
				 size_t avail, const char *note)
{
	char place[24], text[INSNTEXT_MAX];
	size_t len = insntext_decode(d->text, bytes, avail, base_of(d) + off, text);

	snprintf(place, sizeof(place), "%" PRIx64, base_of(d) + off);
	print_row(mark, place, text, note);
	return len;
}

/* ---- blocks ---- */

static void print_flags(const struct tramp_block *b)
{
	static const struct {
		unsigned int flag;
		const char *text;
	} flags[] = {
		{ TRAMP_BLOCK_ENTRY, "entry" },
		{ TRAMP_BLOCK_RETURN, "a call returns here" },
		{ TRAMP_BLOCK_PAD, "landing pad" },
		{ TRAMP_BLOCK_TABLE, "in a jump table" },
		{ TRAMP_BLOCK_EXTERNAL, "may be entered from elsewhere" },
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (!(b->flags & flags[i].flag))
			continue;
		printf(", %s", flags[i].text);
		if (flags[i].flag != TRAMP_BLOCK_RETURN)
			return; /* the others say that it may be entered from elsewhere */
	}
}

static void print_loop(const struct tramp_flow *flow, uint32_t block)
{
	const struct tramp_block *b = &flow->blocks[block];

	if (b->loop == TRAMP_NONE)
		return;
	printf(", %s loop %" PRIu32, flow->loops[b->loop].head == block ? "head of" : "in", b->loop);
	if (b->loop_depth > 1)
		printf(" (depth %u)", b->loop_depth);
}

static void print_end(const struct tramp_block *b)
{
	switch ((enum tramp_end)b->ends) {
	case TRAMP_END_FALL:
	case TRAMP_END_CALL:
		printf("; goes on in %" PRIu32, b->next);
		break;
	case TRAMP_END_JMP:
		printf("; goes on in %" PRIu32, b->target);
		break;
	case TRAMP_END_JCC:
		printf("; goes on in %" PRIu32 " or %" PRIu32, b->target, b->next);
		break;
	case TRAMP_END_TAIL_JCC:
		printf("; leaves, or goes on in %" PRIu32, b->next);
		break;
	case TRAMP_END_SWITCH:
		fputs("; goes on by a table", stdout);
		break;
	case TRAMP_END_UNSURE:
		fputs("; where it goes on is not known", stdout);
		break;
	case TRAMP_END_RET:
	case TRAMP_END_TAIL:
	case TRAMP_END_TAIL_IND:
	case TRAMP_END_TAIL_FALL:
		fputs("; leaves", stdout);
		break;
	case TRAMP_END_NORETURN:
	case TRAMP_END_STOP:
		fputs("; ends here", stdout);
		break;
	}
}

static void print_block(const struct disasm *d, uint32_t i)
{
	const struct tramp_block *b = &d->a.flow.blocks[i];

	printf("  ---- block %" PRIu32, i);
	print_flags(b);
	print_loop(&d->a.flow, i);
	print_end(b);
	putchar('\n');
}

/* ---- the original ---- */

static void print_place(const struct disasm *d, uint64_t addr, const char **file, int *line)
{
	int now;
	const char *where = d->lines ? lines_at(d->lines, addr, &now) : NULL;

	if (!where || (where == *file && now == *line))
		return;
	*file = where;
	*line = now;
	printf("  %s:%d\n", where, now);
}

static bool is_overwritten(const struct disasm *d, uint32_t off, uint32_t len)
{
	for (size_t i = 0; i < d->code.npatches; i++) {
		const struct tramp_patch *p = &d->code.patches[i];

		if (off < p->off + p->len && p->off < off + len)
			return true;
	}
	return false;
}

/* The branch of which the patch changes nothing but where it leads, or NULL. */
static const struct tramp_op *led_elsewhere(const struct disasm *d, const struct tramp_patch *p)
{
	const struct tramp_flow *flow = &d->a.flow;
	size_t at = search_first(i, flow->nops, flow->ops[i].off >= p->off);
	const struct tramp_op *op = at ? &flow->ops[at - 1] : NULL;

	if (!op || !op->disp_at || p->off - op->off != op->disp_at || p->len != op->disp_len)
		return NULL;
	return op;
}

/* Patches may hold several jumps and padding. */
static void print_patch(const struct disasm *d, const struct tramp_patch *p)
{
	const struct tramp_op *op = led_elsewhere(d, p);
	const uint8_t *bytes;
	uint8_t insn[16];
	size_t left;

	if (op) {
		bytes = tramp_code_at(d->a.code, base_of(d) + op->off, &left);
		if (!bytes || left < op->len || op->len > sizeof(insn))
			return;
		memcpy(insn, bytes, op->len);
		memcpy(insn + op->disp_at, p->bytes, p->len);
		print_original_row(d, '>', op->off, insn, op->len, "");
		return;
	}
	for (size_t at = 0; at < p->len;)
		at += print_original_row(d, '>', p->off + (uint32_t)at, p->bytes + at, p->len - at, "");
}

/* Those that begin before @end and were not printed yet. */
static void print_patches(const struct disasm *d, size_t *at, uint64_t end)
{
	for (; *at < d->code.npatches && d->code.patches[*at].off < end; ++*at)
		print_patch(d, &d->code.patches[*at]);
}

static void print_op(const struct disasm *d, const struct tramp_op *op)
{
	uint32_t copy = d->copies ? d->copies[op - d->a.flow.ops] : TRAMP_NONE;
	char note[32] = "";
	size_t left;
	const uint8_t *bytes = tramp_code_at(d->a.code, base_of(d) + op->off, &left);

	if (!bytes)
		return;
	if (copy != TRAMP_NONE)
		snprintf(note, sizeof(note), "mirror+0x%" PRIx32, copy);
	print_original_row(d, is_overwritten(d, op->off, op->len) ? '|' : ' ', op->off, bytes,
			   op->len < left ? op->len : left, note);
}

void disasm_print_original(const struct disasm *d)
{
	const struct tramp_flow *flow = &d->a.flow;
	const char *file = NULL;
	size_t patch = 0;
	int line = 0;

	for (uint32_t i = 0; i < flow->nblocks; i++) {
		const struct tramp_block *b = &flow->blocks[i];

		print_patches(d, &patch, b->start); /* in padding before it */
		print_block(d, i);
		for (uint32_t k = b->op; k < b->op + b->nops; k++) {
			const struct tramp_op *op = &flow->ops[k];

			print_place(d, base_of(d) + op->off, &file, &line);
			print_patches(d, &patch, (uint64_t)op->off + op->len);
			print_op(d, op);
		}
	}
	print_patches(d, &patch, UINT64_MAX);
}

/* ---- the mirror ---- */

static uint32_t block_at(const struct tramp_flow *flow, uint32_t off)
{
	for (uint32_t i = 0; i < flow->nblocks; i++) {
		if (flow->blocks[i].start == off)
			return i;
	}
	return TRAMP_NONE;
}

/* Instructions of [start, end) in the mirror; @orig: where the first one's original is, or TRAMP_NONE. */
static void print_mirror_rows(const struct disasm *d, uint32_t start, uint32_t end, uint32_t orig, bool copied)
{
	char place[24], text[INSNTEXT_MAX], note[24];

	for (uint32_t at = start; at < end;) {
		uint32_t len = (uint32_t)insntext_decode(d->text, d->mirror + at, end - at, d->arena + at,
							 text);

		note[0] = '\0';
		if (orig != TRAMP_NONE)
			snprintf(note, sizeof(note), "%" PRIx64,
				 base_of(d) + orig + (copied ? at - start : 0));
		snprintf(place, sizeof(place), "+0x%" PRIx32, at);
		print_row(' ', place, text, note);
		at += len;
	}
}

/* Up to the jump back; after it is what the runtime reads. */
static uint32_t end_of_way(const struct disasm *d, uint32_t start, uint32_t end)
{
	char text[INSNTEXT_MAX];

	for (uint32_t at = start; at < end;) {
		bool back = d->mirror[at] == 0xe9 || d->mirror[at] == 0xeb;

		at += (uint32_t)insntext_decode(d->text, d->mirror + at, end - at, d->arena + at, text);
		if (back)
			return at;
	}
	return end;
}

/* The entry's probe is the first one before the first instruction that is copied of the entry. */
static const char *probe_text(const struct disasm *d, size_t piece)
{
	const struct tramp_flow *flow = &d->a.flow;
	const struct tramp_block *entry = &flow->blocks[flow->entry];
	uint32_t orig = d->code.pieces[piece].orig;

	if (orig != entry->start && (entry->nops < 2 || orig != flow->ops[entry->op + 1].off))
		return "probe of an exit";
	for (size_t i = 0; i < piece; i++) {
		if (d->code.pieces[i].kind == RT_PIECE_PROBE && d->code.pieces[i].orig == orig)
			return "probe of an exit";
	}
	return "probe of the entry";
}

static void print_piece(const struct disasm *d, size_t i)
{
	const struct rt_piece *p = &d->code.pieces[i];
	uint32_t end = i + 1 < d->code.npieces ? p[1].start : (uint32_t)d->code.len;
	unsigned int kind = p->kind & ~RT_PIECE_RESUMABLE;
	uint32_t block = block_at(&d->a.flow, p->orig);

	if (kind == RT_PIECE_PROBE)
		printf("  ---- %s\n", probe_text(d, i));
	else if (kind == RT_PIECE_SLOW && (i == 0 || (p[-1].kind & ~RT_PIECE_RESUMABLE) != kind))
		puts("  ---- slow paths");
	else if (kind != RT_PIECE_SLOW && block != TRAMP_NONE)
		printf("  ---- block %" PRIu32 "\n", block);
	if (end > d->code.len || p->start > end)
		return;
	if (kind == RT_PIECE_SLOW)
		end = end_of_way(d, p->start, end);
	print_mirror_rows(d, p->start, end,
			  kind == RT_PIECE_SLOW || kind == RT_PIECE_PROBE ? TRAMP_NONE : p->orig,
			  kind == RT_PIECE_COPY);
}

void disasm_print_mirror(const struct disasm *d)
{
	for (size_t i = 0; i < d->code.npieces; i++)
		print_piece(d, i);
}
