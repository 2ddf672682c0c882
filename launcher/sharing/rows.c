/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines in words: which variables and instructions they are for, which bytes threads access, and what to do. */
#include "launcher/sharing/sharing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

const char *sharing_class_word(enum sh_class class)
{
	static const char *const words[] = { [SH_FALSE] = "false", [SH_TRUE] = "true", [SH_MIXED] = "mixed" };

	return words[class];
}

unsigned int sharing_grain(unsigned int bytes)
{
	return bytes > 64 ? bytes / 64 : 1;
}

/* ---- bytes ---- */

static void put_bytes(FILE *out, uint64_t mask, unsigned int each)
{
	const char *comma = "";

	while (mask) {
		const unsigned int from = (unsigned int)__builtin_ctzll(mask);
		const uint64_t rest = ~(mask >> from);
		const unsigned int n = rest ? (unsigned int)__builtin_ctzll(rest) : 64;

		fprintf(out, "%s%u", comma, from * each);
		if (n * each > 1)
			fprintf(out, "-%u", (from + n) * each - 1);
		comma = ",";
		mask = from + n < 64 ? mask >> (from + n) << (from + n) : 0;
	}
}

static void put_thread(FILE *out, int tid, uint64_t reads, uint64_t writes, unsigned int each, bool first)
{
	fprintf(out, "%sthread %d", first ? "" : "; ", tid);
	if (reads) {
		fputs(" reads ", out);
		put_bytes(out, reads, each);
	}
	if (writes) {
		fputs(reads ? ", writes " : " writes ", out);
		put_bytes(out, writes, each);
	}
}

static char *threads_text(const struct sh_line *line, unsigned int each)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	for (size_t i = 0, end; i < line->nuses; i = end) {
		uint64_t reads = 0, writes = 0;

		for (end = i; end < line->nuses && line->uses[end].thread == line->uses[i].thread; end++) {
			reads |= line->uses[end].reads;
			writes |= line->uses[end].writes;
		}
		put_thread(out, line->uses[i].tid, reads, writes, each, i == 0);
	}
	return fclose(out) == 0 ? text : NULL;
}

/* ---- rows ---- */

static bool copy(char **to, const char *text)
{
	*to = text ? strdup(text) : NULL;
	return *to || !text;
}

static bool fill_side(struct sharing_rows *rows, struct sharing_side *side, const struct sh_line *line, size_t i,
		      struct memwhere *where, struct memnames *names)
{
	struct memplace *p;

	side->use = line->uses[i];
	p = memwhere(where, side->use.insn);
	if (!p || !copy(&side->function, p->function) || !copy(&side->file, p->file) || !copy(&side->object, p->path))
		return false;
	side->line = p->line;
	side->address = p->addr;
	return sharing_name(rows, line, side, names);
}

/* The same instructions, whichever thread has which. */
static struct sharing_row *like(const struct sharing_rows *rows, const struct sh_line *line, int rank)
{
	const uint64_t a = line->uses[line->a].insn, b = line->uses[line->b].insn;

	for (struct sharing_row *r = rows->v; r < rows->v + rows->n; r++) {
		const uint64_t c = r->side[0].use.insn, d = r->side[1].use.insn;

		if (r->rank == rank && r->line.pid == line->pid && r->line.class == line->class && r->line.handed == line->handed &&
		    ((a == c && b == d) || (a == d && b == c)))
			return r;
	}
	return NULL;
}

static void join(struct sh_line *to, const struct sh_line *line)
{
	to->accesses += line->accesses;
	to->stores += line->stores;
	to->transfers.least += line->transfers.least;
	to->transfers.most += line->transfers.most;
	to->invalidated.least += line->invalidated.least;
	to->invalidated.most += line->invalidated.most;
}

static bool add(struct sharing_rows *rows, const struct sh_line *line, struct memwhere *where, struct memnames *names, int rank)
{
	struct sharing_row *r = like(rows, line, rank);

	if (r) {
		r->lines++;
		join(&r->line, line);
		return true;
	}
	if (!array_room(rows->v, rows->room, rows->n + 1))
		return false;
	r = &rows->v[rows->n++];
	*r = (struct sharing_row){ .line = *line, .lines = 1, .rank = rank };
	if (!fill_side(rows, &r->side[0], line, line->a, where, names) || !fill_side(rows, &r->side[1], line, line->b, where, names))
		return false;
	r->threads = threads_text(line, sharing_grain(rows->bytes));
	r->line.uses = NULL;
	return r->threads;
}

bool sharing_rows_add(struct sharing_rows *rows, const struct sh *s, struct memwhere *where, struct memnames *names, int rank)
{
	const struct sh_line *line;
	struct sh_sum sum;

	sh_sum(s, &sum);
	rows->sum.lines += sum.lines;
	rows->sum.transfers.least += sum.transfers.least;
	rows->sum.transfers.most += sum.transfers.most;
	for (size_t i = 0; (line = sh_line(s, i)); i++) {
		const bool few = line->transfers.most < rows->least;

		rows->few += few;
		rows->sum.handed += !few && line->handed;
		if (!rows->all && (few || line->handed))
			continue;
		if (!add(rows, line, where, names, rank))
			return false;
	}
	return true;
}

static int by_transfers(const void *a, const void *b)
{
	const struct sharing_row *x = a, *y = b;

	if (x->line.transfers.most != y->line.transfers.most)
		return x->line.transfers.most < y->line.transfers.most ? 1 : -1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->line.pid != y->line.pid)
		return x->line.pid < y->line.pid ? -1 : 1;
	return x->line.address < y->line.address ? -1 : x->line.address > y->line.address;
}

bool sharing_rows_finish(struct sharing_rows *rows)
{
	if (rows->n)
		qsort(rows->v, rows->n, sizeof(rows->v[0]), by_transfers);
	for (struct sharing_row *r = rows->v; r < rows->v + rows->n; r++) {
		r->advice = sharing_advice(r, rows->bytes);
		if (!r->advice)
			return false;
	}
	return true;
}

void sharing_rows_free(struct sharing_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		for (int k = 0; k < 2; k++) {
			free(rows->v[i].side[k].function);
			free(rows->v[i].side[k].file);
			free(rows->v[i].side[k].object);
			free(rows->v[i].side[k].variable);
		}
		free(rows->v[i].threads);
		free(rows->v[i].advice);
	}
	free(rows->v);
}
