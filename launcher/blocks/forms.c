/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks as text, CSV (RFC 4180) and JSON lines. */
#include "launcher/blocks/blocks.h"
#include "launcher/common/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tracefmt/json.h"

enum { ID_MAX = 40 };

static const unsigned int widths[TRAMP_WIDTHS] = { 128, 256, 512 };

/* "" for no block. */
static const char *id_text(const struct blocks *b, uint64_t addr, char text[static ID_MAX])
{
	text[0] = '\0';
	if (addr)
		snprintf(text, ID_MAX, "%016" PRIx64 "-%" PRIx64, b->hash, addr);
	return text;
}

/* ---- text ---- */

static void begin_text(struct blocks *b)
{
	printf("%s: ", b->a.path);
	if (b->id.build_id[0])
		printf("build-id %s, ", b->id.build_id);
	printf("ids begin with %016" PRIx64 "\n", b->hash);
}

static void put_some(uint64_t n, const char *what)
{
	if (n)
		printf(", %" PRIu64 " %s", n, what);
}

static void put_memory(const struct block_facts *f)
{
	for (unsigned int k = 0; k < BLOCK_KINDS; k++)
		if (f->accesses[k])
			printf(", %s%" PRIu32 " %s (%" PRIu64 " bytes)", f->varies ? "about " : "", f->accesses[k],
			       block_kinds[k], f->bytes[k]);
}

static void put_flops(const struct block_facts *f)
{
	char what[48];

	put_some(f->flops_scalar, "scalar flops");
	for (unsigned int w = 0; w < TRAMP_WIDTHS; w++) {
		snprintf(what, sizeof(what), "flops of %u bits", widths[w]);
		put_some(f->flops_packed[w], what);
	}
}

static void put_text_row(const struct block_row *r)
{
	const char *slash = r->file ? strrchr(r->file, '/') : NULL;

	printf("  %8" PRIx64 "  %*s%" PRIu32 " instructions", r->addr, 2 * (int)r->depth, "", r->facts.insns);
	put_memory(&r->facts);
	put_flops(&r->facts);
	printf("; %s", r->ends);
	for (unsigned int k = 0; k < 2; k++)
		if (r->to[k])
			printf("%s%" PRIx64, k && r->to[0] ? ", " : " ", r->to[k]);
	if (r->head)
		printf("; head of a loop, depth %" PRIu32, r->depth);
	if (r->file)
		printf("; %s:%d", slash ? slash + 1 : r->file, r->line);
	putchar('\n');
}

static bool function_text(struct blocks *b)
{
	const struct tramp_flow *flow = &b->a.flow;

	printf("\n%s: %" PRIu32 " block%s, %" PRIu32 " loop%s\n", b->name, flow->nblocks, flow->nblocks == 1 ? "" : "s",
	       flow->nloops, flow->nloops == 1 ? "" : "s");
	for (uint32_t i = 0; i < flow->nblocks; i++) {
		struct block_row row = block_row(b, i);

		put_text_row(&row);
	}
	return true;
}

const struct blocks_form blocks_text = { begin_text, function_text };

/* ---- CSV ---- */

static void begin_csv(struct blocks *b)
{
	(void)b;
	fputs("id,address,size,function,file,line,loop,depth,head,parent,sure,instructions", stdout);
	for (unsigned int k = 0; k < TRAMP_CLASSES; k++)
		printf(",%s", block_classes[k]);
	for (unsigned int k = 0; k < BLOCK_KINDS; k++)
		printf(",%s,%s_bytes", block_kinds[k], block_kinds[k]);
	fputs(",varies,flops_scalar", stdout);
	for (unsigned int w = 0; w < TRAMP_WIDTHS; w++)
		printf(",flops_%u,ints_%u,floats_%u", widths[w], widths[w], widths[w]);
	puts(",ends,called,target,next");
}

static void put_csv_facts(const struct block_facts *f)
{
	printf(",%" PRIu32, f->insns);
	for (unsigned int k = 0; k < TRAMP_CLASSES; k++)
		printf(",%" PRIu32, f->classes[k]);
	for (unsigned int k = 0; k < BLOCK_KINDS; k++)
		printf(",%" PRIu32 ",%" PRIu64, f->accesses[k], f->bytes[k]);
	printf(",%d,%" PRIu32, f->varies, f->flops_scalar);
	for (unsigned int w = 0; w < TRAMP_WIDTHS; w++)
		printf(",%" PRIu32 ",%" PRIu32 ",%" PRIu32, f->flops_packed[w], f->ints[w], f->floats[w]);
}

static void put_csv_row(const struct blocks *b, const struct block_row *r)
{
	char text[ID_MAX];

	printf("%s,0x%" PRIx64 ",%" PRIu32 ",", id_text(b, r->addr, text), r->addr, r->bytes);
	units_csv(stdout, b->name);
	putchar(',');
	units_csv(stdout, r->file);
	printf(",%d,%s,%" PRIu32 ",%d", r->line, id_text(b, r->loop, text), r->depth, r->head);
	printf(",%s,%d", id_text(b, r->parent, text), r->sure);
	put_csv_facts(&r->facts);
	printf(",%s,0x%" PRIx64, r->ends, r->called);
	for (unsigned int k = 0; k < 2; k++)
		printf(",%s", id_text(b, r->to[k], text));
	putchar('\n');
}

static bool function_csv(struct blocks *b)
{
	for (uint32_t i = 0; i < b->a.flow.nblocks; i++) {
		struct block_row row = block_row(b, i);

		put_csv_row(b, &row);
	}
	return true;
}

const struct blocks_form blocks_csv = { begin_csv, function_csv };

/* ---- JSON ---- */

static void begin_json(struct blocks *b)
{
	(void)b;
}

static void json_id(struct blocks *b, const char *key, uint64_t addr)
{
	char text[ID_MAX];

	if (addr)
		tf_json_str(&b->line, key, id_text(b, addr, text));
}

static void json_facts(struct tf_buf *line, const struct block_facts *f)
{
	char key[24];

	tf_json_uint(line, "instructions", f->insns);
	for (unsigned int k = 0; k < TRAMP_CLASSES; k++)
		tf_json_uint(line, block_classes[k], f->classes[k]);
	for (unsigned int k = 0; k < BLOCK_KINDS; k++) {
		tf_json_uint(line, block_kinds[k], f->accesses[k]);
		snprintf(key, sizeof(key), "%s_bytes", block_kinds[k]);
		tf_json_uint(line, key, f->bytes[k]);
	}
	tf_json_bool(line, "varies", f->varies);
	tf_json_uint(line, "flops_scalar", f->flops_scalar);
	for (unsigned int w = 0; w < TRAMP_WIDTHS; w++) {
		snprintf(key, sizeof(key), "flops_%u", widths[w]);
		tf_json_uint(line, key, f->flops_packed[w]);
		snprintf(key, sizeof(key), "ints_%u", widths[w]);
		tf_json_uint(line, key, f->ints[w]);
		snprintf(key, sizeof(key), "floats_%u", widths[w]);
		tf_json_uint(line, key, f->floats[w]);
	}
}

static void json_row(struct blocks *b, const struct block_row *r)
{
	struct tf_buf *line = &b->line;

	tf_buf_clear(line);
	tf_json_begin(line, "block");
	json_id(b, "id", r->addr);
	tf_json_uint(line, "address", r->addr);
	tf_json_uint(line, "size", r->bytes);
	tf_json_str(line, "function", b->name);
	tf_json_str(line, "file", r->file);
	if (r->file)
		tf_json_int(line, "line", r->line);
	json_id(b, "loop", r->loop);
	tf_json_uint(line, "depth", r->depth);
	tf_json_bool(line, "head", r->head);
	json_id(b, "parent", r->parent);
	tf_json_bool(line, "sure", r->sure);
	json_facts(line, &r->facts);
	tf_json_str(line, "ends", r->ends);
	if (r->called)
		tf_json_uint(line, "called", r->called);
	json_id(b, "target", r->to[0]);
	json_id(b, "next", r->to[1]);
	tf_json_end(line);
}

static bool function_json(struct blocks *b)
{
	for (uint32_t i = 0; i < b->a.flow.nblocks; i++) {
		struct block_row row = block_row(b, i);

		json_row(b, &row);
		if (b->line.failed)
			return false;
		fwrite(b->line.data, 1, b->line.size, stdout);
	}
	return true;
}

const struct blocks_form blocks_json = { begin_json, function_json };
