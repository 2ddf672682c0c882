/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/export/callgrind.h"
#include "launcher/export/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

static const struct {
	const char *name, *about;
} events[CALLGRIND_EVENTS] = {
	{ "Ir", "Instructions" }, { "Dr", "Reads" }, { "Dw", "Writes" },
	{ "D1mr", "First cache, read misses" }, { "D1mw", "First cache, write misses" },
	{ "DLmr", "Last cache, read misses" }, { "DLmw", "Last cache, write misses" },
};

#define NOT_KNOWN "???"
#define NOT_RECORDED "(not recorded)"

/* ---- adding up ---- */

static uint64_t hash_text(const char *text)
{
	return text ? hash_bytes(text, strlen(text)) : 0;
}

static uint64_t hash_place(const struct callgrind_place *p)
{
	return hash_word(hash_text(p->name) ^ hash_word(hash_text(p->file) ^ (uint64_t)p->line << 32)) ^ hash_text(p->path);
}

static int compare(const char *a, const char *b)
{
	if (a == b)
		return 0;
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_functions(const struct callgrind_place *a, const struct callgrind_place *b)
{
	int order = compare(a->path, b->path);

	order = order ? order : compare(a->name, b->name);
	return order ? order : compare(a->home, b->home);
}

static int compare_places(const struct callgrind_place *a, const struct callgrind_place *b)
{
	int order = compare_functions(a, b);

	order = order ? order : compare(a->file, b->file);
	return order ? order : a->line < b->line ? -1 : a->line > b->line;
}

static int compare_lines(const struct callgrind_line *a, const struct callgrind_line *b)
{
	int order = compare_places(&a->at, &b->at);

	if (!order)
		order = (a->calls != 0) - (b->calls != 0);
	return order || !a->calls ? order : compare_places(&a->to, &b->to);
}

static uint64_t hash_line(const struct callgrind_line *line)
{
	return hash_place(&line->at) ^ (line->calls ? hash_word(hash_place(&line->to) + 1) : 0);
}

/* Where it is, or belongs. */
static size_t slot_of(const struct callgrind *g, const struct callgrind_line *line)
{
	return hash_slot(i, g->nslots, hash_line(line), !g->slots[i] || compare_lines(&g->v[g->slots[i] - 1], line) == 0);
}

static bool more_slots(struct callgrind *g)
{
	size_t room = hash_room(2 * (g->n + 1));
	uint32_t *slots = calloc(room, sizeof(*slots));

	if (!slots)
		return false;
	free(g->slots);
	g->slots = slots;
	g->nslots = room;
	for (size_t i = 0; i < g->n; i++)
		slots[slot_of(g, &g->v[i])] = (uint32_t)i + 1;
	return true;
}

static bool keep(struct callgrind *g, const char **text)
{
	char *copy;

	if (!*text)
		return true;
	if (!array_room(g->texts, g->room_texts, g->ntexts + 1))
		return false;
	copy = strdup(*text);
	*text = copy;
	if (copy)
		g->texts[g->ntexts++] = copy;
	return copy != NULL;
}

static bool keep_place(struct callgrind *g, struct callgrind_place *p)
{
	return keep(g, &p->path) && keep(g, &p->name) && keep(g, &p->home) && keep(g, &p->file);
}

bool callgrind_add(struct callgrind *g, const struct callgrind_line *line)
{
	struct callgrind_line *to;
	size_t slot;

	if (2 * (g->n + 1) > g->nslots && !more_slots(g))
		return false;
	slot = slot_of(g, line);
	if (!g->slots[slot]) {
		struct callgrind_line copy = *line;

		if (!keep_place(g, &copy.at) || !keep_place(g, &copy.to) || !array_room(g->v, g->room, g->n + 1))
			return false;
		g->v[g->n++] = copy;
		g->slots[slot] = (uint32_t)g->n;
		return true;
	}
	to = &g->v[g->slots[slot] - 1];
	to->calls += line->calls;
	for (unsigned int i = 0; i < CALLGRIND_EVENTS; i++)
		to->costs[i] += line->costs[i];
	return true;
}

void callgrind_free(struct callgrind *g)
{
	for (size_t i = 0; i < g->ntexts; i++)
		free(g->texts[i]);
	free(g->texts);
	free(g->slots);
	free(g->v);
	*g = (struct callgrind){ 0 };
}

/* ---- printing ---- */

static int by_place(const void *left, const void *right)
{
	return compare_lines(left, right);
}

static void put_costs(const struct callgrind *g, const uint64_t *costs, FILE *out)
{
	for (unsigned int i = 0; i < CALLGRIND_EVENTS; i++)
		if (g->events >> i & 1)
			fprintf(out, " %" PRIu64, costs[i]);
	putc('\n', out);
}

static void put_text(const char *key, const char *text, const char *otherwise, FILE *out)
{
	export_callgrind_text(out, key, text && *text ? text : otherwise);
	putc('\n', out);
}

static void put_head(const struct callgrind *g, const struct sonde_trace_rank *first, FILE *out)
{
	uint64_t sum[CALLGRIND_EVENTS] = { 0 };

	for (size_t i = 0; i < g->n; i++)
		for (unsigned int k = 0; k < CALLGRIND_EVENTS && !g->v[i].calls; k++)
			sum[k] += g->v[i].costs[k];
	fprintf(out, "# callgrind format\nversion: 1\ncreator: sonde\n");
	export_callgrind_command(first, out);
	fprintf(out, "positions: line\n");
	for (unsigned int i = 0; i < CALLGRIND_EVENTS; i++)
		if (g->events >> i & 1)
			fprintf(out, "event: %s : %s\n", events[i].name, events[i].about);
	fprintf(out, "events:");
	for (unsigned int i = 0; i < CALLGRIND_EVENTS; i++)
		if (g->events >> i & 1)
			fprintf(out, " %s", events[i].name);
	fprintf(out, "\nsummary:");
	put_costs(g, sum, out);
}

/* The names that this line has and the one before had not. */
static void put_names(const struct callgrind_line *line, const struct callgrind_line *last, FILE *out)
{
	const char *file = last ? last->at.file : NULL;

	if (!last || compare_functions(&last->at, &line->at) != 0) {
		putc('\n', out);
		put_text("ob=", line->at.path, NOT_KNOWN, out);
		put_text("fl=", line->at.home, NOT_KNOWN, out);
		put_text("fn=", line->at.name, NOT_RECORDED, out);
		file = line->at.home;
	}
	if (compare(file, line->at.file) != 0)
		put_text("fi=", line->at.file, NOT_KNOWN, out);
}

static void put_line(const struct callgrind *g, const struct callgrind_line *line, FILE *out)
{
	if (line->calls) {
		put_text("cob=", line->to.path, NOT_KNOWN, out);
		put_text("cfi=", line->to.home, NOT_KNOWN, out);
		put_text("cfn=", line->to.name, NOT_RECORDED, out);
		fprintf(out, "calls=%" PRIu64 " %d\n", line->calls, line->to.line);
	}
	fprintf(out, "%d", line->at.line);
	put_costs(g, line->costs, out);
}

void callgrind_print(struct callgrind *g, const struct sonde_trace_rank *first, FILE *out)
{
	if (g->n)
		qsort(g->v, g->n, sizeof(*g->v), by_place);
	put_head(g, first, out);
	for (size_t i = 0; i < g->n && !ferror(out); i++) {
		put_names(&g->v[i], i ? &g->v[i - 1] : NULL, out);
		put_line(g, &g->v[i], out);
	}
}
