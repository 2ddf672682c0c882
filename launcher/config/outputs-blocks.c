/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From counts of blocks: blocks, loops and conditional branches. */
#include "launcher/config/outputs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "launcher/blocks/counts.h"
#include "launcher/common/message.h"

/* Does a loop begin there that was named as one? */
static bool is_named_loop(const struct config_making *m, const char *path, uint64_t addr)
{
	size_t object = config_object_of(m->f, path);

	for (size_t i = 0; i < m->found->nheads; i++)
		if (m->found->heads[i].object == object && m->found->heads[i].lo == addr)
			return true;
	return false;
}

/* Of an entry whose places are all loops, these alone count trips, and not those in them. */
static bool names_loops(const struct config_entry *e)
{
	for (size_t i = 0; i < e->nplaces; i++)
		if (e->places[i].kind != CONFIG_LOOP)
			return false;
	return true;
}

static bool is_wanted(const struct config_making *m, const struct counts_row *row, enum counts_by by)
{
	if (by == COUNTS_BY_LOOP && names_loops(m->entry))
		return is_named_loop(m, row->path, row->addr);
	if (row->addr && config_holds(m->f, m->found, row->path, row->addr))
		return true;
	return by == COUNTS_BY_EDGE && row->to && config_holds(m->f, m->found, row->path, row->to);
}

static void keep_wanted(const struct config_making *m, struct counts *c, enum counts_by by)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->n; i++)
		if (is_wanted(m, &c->rows[i], by))
			c->rows[kept++] = c->rows[i];
	c->n = kept;
}

/* ---- branches ---- */

struct branch {
	size_t row;	/* of the counts: one of its edges */
	uint64_t addr;	/* of the jump */
	const char *file;
	int line;
	uint64_t taken, not_taken;
};

struct branches {
	struct branch *v;
	size_t n, room;
};

/* The block that begins at @addr, in a->flow; NULL: none. */
static const struct tramp_block *block_at(struct anatomy *a, uint64_t addr, bool *failed)
{
	uint32_t fn = tramp_code_function(a->code, addr);
	uint64_t base = tramp_code_base(a->code);

	if (fn == TRAMP_NONE)
		return NULL;
	if (!a->flow.nblocks || a->flow.fn != fn)
		*failed |= !anatomy_flow(a, fn);
	for (uint32_t i = 0; !*failed && i < a->flow.nblocks; i++)
		if (base + a->flow.blocks[i].start == addr)
			return &a->flow.blocks[i];
	return NULL;
}

static bool add_edge(struct branches *b, struct config_making *m, const struct counts *c, size_t row)
{
	const struct counts_row *r = &c->rows[row];
	size_t object = config_object_of(m->f, r->path);
	struct config_object *o = object == SIZE_MAX ? NULL : &m->f->v[object];
	struct anatomy *a = o ? config_anatomy(o) : NULL;
	bool failed = false, taken;
	const struct tramp_block *block = a && r->addr ? block_at(a, r->addr, &failed) : NULL;
	uint64_t base = a ? tramp_code_base(a->code) : 0, jump;
	struct branch *v = b->n ? &b->v[b->n - 1] : NULL;

	if (!block || (block->ends != TRAMP_END_JCC && block->ends != TRAMP_END_TAIL_JCC))
		return !failed;
	taken = r->to ? block->target != TRAMP_NONE && base + a->flow.blocks[block->target].start == r->to
		      : block->ends == TRAMP_END_TAIL_JCC;
	jump = base + a->flow.ops[block->op + block->nops - 1].off;
	if (!config_holds(m->f, m->found, r->path, jump))
		return true;
	if (!v || v->addr != jump || strcmp(c->rows[v->row].path, r->path) != 0) {
		if (!array_room(b->v, b->room, b->n + 1))
			return false;
		v = &b->v[b->n++];
		*v = (struct branch){ .row = row, .addr = jump };
		if (config_lines(o))
			v->file = lines_at(o->lines, jump, &v->line);
	}
	*(taken ? &v->taken : &v->not_taken) += r->count;
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct counts_row *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void print_branches(const struct branches *b, const struct counts *c, FILE *out)
{
	if (!b->n) {
		fputs("# no conditional branch there was executed\n", out);
		return;
	}
	fputs("       taken    not taken  taken of all   address  function\n", out);
	for (size_t i = 0; i < b->n; i++) {
		const struct branch *v = &b->v[i];
		uint64_t all = v->taken + v->not_taken;

		fprintf(out, "%12" PRIu64 " %12" PRIu64 " %12.2f%%  %8" PRIx64 "  %s", v->taken, v->not_taken,
			all ? 100.0 * (double)v->taken / (double)all : 0.0, v->addr, c->rows[v->row].name);
		if (v->file)
			fprintf(out, " (%s:%d)", path_basename(v->file), v->line);
		putc('\n', out);
	}
}

static int make_branches(struct config_making *m, struct counts *c)
{
	struct branches b = { 0 };
	int status = 0;

	/* a function's beside each other, and so are both edges of a branch */
	if (c->n)
		qsort(c->rows, c->n, sizeof(*c->rows), by_place);
	for (size_t i = 0; !status && i < c->n; i++)
		if (!add_edge(&b, m, c, i))
			status = config_no_memory();
	if (!status)
		print_branches(&b, c, m->out);
	free(b.v);
	return status;
}

/* ---- all ---- */

static enum counts_by rows_of(const struct config_entry *e)
{
	if (e->type == CONFIG_TRIP_COUNTER)
		return COUNTS_BY_LOOP;
	return e->type == CONFIG_BRANCH_OUTCOME || (e->by && strcmp(e->by, "edge") == 0) ? COUNTS_BY_EDGE
											 : COUNTS_BY_BLOCK;
}

int config_make_blocks(struct config_making *m)
{
	static const char *const titles[] = {
		[COUNTS_BY_LOOP] = "loop", [COUNTS_BY_BLOCK] = "block", [COUNTS_BY_EDGE] = "edge" };
	struct counts_options o = { .pick = m->pick, .by = rows_of(m->entry) };
	struct counts c;
	char *said = NULL;
	int status;

	/* that nothing there was executed is no error */
	msg_hold(&said);
	status = counts_read(&c, &o, m->dir);
	msg_hold(NULL);
	if (status) {
		fprintf(m->out, "# %s", said ? said : "nothing was counted\n");
		free(said);
		return 0;
	}
	msg_show(&said);
	if (c.killed)
		msg_warn("%" PRIu64 " threads were ended in the midst of something: counts may miss what they did last",
			 c.killed);
	if (m->entry->type == CONFIG_BRANCH_OUTCOME) {
		status = make_branches(m, &c);
	} else {
		keep_wanted(m, &c, o.by);
		if (c.n)
			counts_print_table(&c, titles[o.by], UINT64_MAX, m->out);
		else
			fputs(o.by == COUNTS_BY_LOOP ? "# no loop there was executed\n"
						     : "# nothing there was executed\n",
			      m->out);
	}
	counts_free(&c);
	return status;
}
