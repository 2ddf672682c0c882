/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/report/report-rows.h"
#include "launcher/common/message.h"
#include "launcher/trace/ambiguous.h"

#include <stdlib.h>
#include <string.h>

void *report_need(void *p)
{
	if (!p) {
		msg_error("out of memory");
		exit(EXIT_USAGE);
	}
	return p;
}

void *report_zeroed(size_t n, size_t size)
{
	return report_need(calloc(n ? n : 1, size));
}

/* ---- rows ---- */

static uint64_t hash_row(const struct report_row *r)
{
	return hash_bytes(r->name, strlen(r->name)) ^ hash_word((uintptr_t)r->function * 31 + (uintptr_t)r->module * 17 + r->kind);
}

static bool same_row(const struct report_row *a, const struct report_row *b)
{
	return a->kind == b->kind && a->function == b->function && a->module == b->module &&
	       strcmp(a->name, b->name) == 0;
}

static uint32_t find_row(struct report_rows *rows, struct report_row key)
{
	size_t i = hash_slot(at, rows->row_room, hash_row(&key),
			     !rows->row_table[at] || same_row(&rows->row[rows->row_table[at] - 1], &key));

	if (rows->row_table[i])
		return rows->row_table[i] - 1;
	key.slots = REPORT_NO_SLOT;
	rows->row[rows->n++] = key;
	rows->row_table[i] = (uint32_t)rows->n;
	return (uint32_t)rows->n - 1;
}

static uint32_t row_of_site(struct report_rows *rows, const struct sonde_trace_site *site)
{
	bool point = site->kind == SONDE_TRACE_POINT;

	return find_row(rows, (struct report_row){
				      .kind = point ? REPORT_POINT : REPORT_FUNCTION,
				      .function = site->function,
				      .module = site->module,
				      .name = point ? site->name : "",
			      });
}

static uint32_t row_of_counter(struct report_rows *rows, const struct sonde_trace_counter *counter)
{
	return find_row(rows, (struct report_row){
				      .kind = REPORT_COUNTER,
				      .function = counter->function,
				      .module = counter->module,
				      .name = counter->name,
			      });
}

/* ---- classes of time ---- */

/* The first two are for what has no other: waiting, and apart. */
static uint32_t other_class(bool apart)
{
	return apart;
}

static void begin_classes(struct report_rows *rows)
{
	for (rows->nclasses = 0; rows->nclasses < 2; rows->nclasses++)
		rows->classes[rows->nclasses] = (struct report_class){ "other", rows->nclasses };
}

static uint32_t find_class(struct report_rows *rows, struct report_class key)
{
	for (size_t i = 2; i < rows->nclasses; i++) {
		if (rows->classes[i].apart == key.apart && strcmp(rows->classes[i].name, key.name) == 0)
			return (uint32_t)i;
	}
	if (rows->nclasses == REPORT_MAX_CLASSES)
		return other_class(key.apart);
	rows->classes[rows->nclasses++] = key;
	return (uint32_t)rows->nclasses - 1;
}

/* What a module does not name is called as the module. */
static uint32_t class_of_site(struct report_rows *rows, const struct sonde_trace_site *site)
{
	const char *name = site->time_class;

	if (!name)
		return 0;
	if (!*name && site->module)
		name = site->module->name;
	return *name ? find_class(rows, (struct report_class){ name, site->apart }) :
		       other_class(site->apart);
}

/* ---- amounts of data ---- */

static size_t find_column(struct report_rows *rows, const char *name)
{
	size_t i = 0;

	while (i < rows->ncolumns && strcmp(rows->columns[i], name) != 0)
		i++;
	if (i == rows->ncolumns && i < REPORT_MAX_COLUMNS)
		rows->columns[rows->ncolumns++] = name;
	return i;
}

static uint32_t find_slot(struct report_rows *rows, uint32_t row, uint32_t column)
{
	uint32_t *link = &rows->row[row].slots;

	while (*link != REPORT_NO_SLOT && rows->slots[*link].column != column)
		link = &rows->slots[*link].next;
	if (*link != REPORT_NO_SLOT)
		return *link;
	*link = (uint32_t)rows->nslots;
	report_room(rows->slots, rows->slots_room, rows->nslots + 1);
	rows->slots[rows->nslots] = (struct report_slot){ column, REPORT_NO_SLOT, false };
	return (uint32_t)rows->nslots++;
}

size_t report_row_slots(const struct report_rows *rows, size_t row)
{
	size_t n = 0;

	for (uint32_t k = rows->row[row].slots; k != REPORT_NO_SLOT; k = rows->slots[k].next)
		n++;
	return n;
}

static void add_amounts(struct report_rows *rows, struct report_site *s, size_t *namounts)
{
	s->amounts = (uint32_t)*namounts;
	for (size_t i = 0; i < s->site->nfields; i++) {
		if (s->site->fields[i].type != SONDE_TRACE_BYTES)
			continue;
		size_t column = find_column(rows, s->site->fields[i].name);
		if (column == REPORT_MAX_COLUMNS)
			continue;
		uint32_t slot = find_slot(rows, s->row, (uint32_t)column);
		if (s->site->kind == SONDE_TRACE_LEAVE)
			rows->slots[slot].at_return = true;
		rows->amounts[(*namounts)++] =
			(struct report_amount){ .slot = slot, .value = (uint8_t)i };
	}
	s->namounts = (uint32_t)*namounts - s->amounts;
}

/* When the returns of all rows are known. */
static void find_held(struct report_rows *rows, const struct report_site *s)
{
	struct report_amount *a = &rows->amounts[s->amounts];

	for (size_t i = 0; s->site->kind == SONDE_TRACE_ENTER && i < s->namounts; i++)
		a[i].held = rows->slots[a[i].slot].at_return;
}

/* ---- all of them ---- */

static void add_site(struct report_rows *rows, size_t index, const struct sonde_trace_site *site)
{
	size_t at = hash_slot(i, rows->site_room, hash_word((uintptr_t)site), !rows->site_table[i]);

	rows->site_table[at] = (uint32_t)index + 1;
	rows->sites[index] = (struct report_site){
		.site = site,
		.row = row_of_site(rows, site),
		.module = site->module ? (uint32_t)site->module->index : (uint32_t)rows->nmodules,
		.time_class = class_of_site(rows, site),
	};
}

static size_t count_amounts(const struct sonde_trace *trace)
{
	size_t n = 0;

	for (size_t i = 0; i < sonde_trace_sites(trace); i++) {
		const struct sonde_trace_site *site = sonde_trace_site(trace, i);

		for (size_t k = 0; k < site->nfields; k++)
			n += site->fields[k].type == SONDE_TRACE_BYTES;
	}
	return n;
}

static void find_ambiguous(struct report_rows *rows, const struct sonde_trace *trace)
{
	bool *ambiguous = report_need(ambiguous_functions(trace));

	for (size_t i = 0; i < rows->n; i++)
		rows->row[i].ambiguous = rows->row[i].function && ambiguous[rows->row[i].function->index];
	free(ambiguous);
}

/* Functions of which some thread counted the calls. */
static void add_counted(struct report_rows *rows, const struct sonde_trace *trace)
{
	size_t nfunctions = sonde_trace_functions(trace);

	rows->counted = report_zeroed(nfunctions, sizeof(*rows->counted));
	for (size_t i = 0; i < nfunctions; i++)
		rows->counted[i] = REPORT_NO_SLOT;
	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(trace, i);

		for (size_t k = 0; k < t->ncalls; k++) {
			const struct sonde_trace_function *f = t->calls[k].function;

			if (rows->counted[f->index] == REPORT_NO_SLOT)
				rows->counted[f->index] = find_row(
					rows, (struct report_row){ .kind = REPORT_FUNCTION,
								   .function = f, .name = "" });
		}
	}
}

void report_rows_init(struct report_rows *rows, const struct sonde_trace *trace)
{
	size_t nsites = sonde_trace_sites(trace), ncounters = sonde_trace_counters(trace);
	size_t nfunctions = sonde_trace_functions(trace), most = nsites + ncounters + nfunctions;
	size_t namounts = 0;

	*rows = (struct report_rows){ .nmodules = sonde_trace_modules(trace) };
	begin_classes(rows);
	rows->site_room = hash_room(nsites);
	rows->row_room = hash_room(most);
	rows->site_table = report_zeroed(rows->site_room, sizeof(*rows->site_table));
	rows->row_table = report_zeroed(rows->row_room, sizeof(*rows->row_table));
	rows->row = report_zeroed(most, sizeof(*rows->row));
	rows->sites = report_zeroed(nsites, sizeof(*rows->sites));
	rows->counters = report_zeroed(ncounters, sizeof(*rows->counters));
	rows->amounts = report_zeroed(count_amounts(trace), sizeof(*rows->amounts));
	for (size_t i = 0; i < nsites; i++) {
		add_site(rows, i, sonde_trace_site(trace, i));
		add_amounts(rows, &rows->sites[i], &namounts);
	}
	for (size_t i = 0; i < nsites; i++)
		find_held(rows, &rows->sites[i]);
	for (size_t i = 0; i < ncounters; i++)
		rows->counters[i] = row_of_counter(rows, sonde_trace_counter(trace, i));
	add_counted(rows, trace);
	find_ambiguous(rows, trace);
}

void report_rows_free(struct report_rows *rows)
{
	free(rows->site_table);
	free(rows->row_table);
	free(rows->row);
	free(rows->sites);
	free(rows->counters);
	free(rows->counted);
	free(rows->amounts);
	free(rows->slots);
	*rows = (struct report_rows){ 0 };
}
