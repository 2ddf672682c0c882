/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/sharing/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "launcher/common/files.h"
#include "launcher/common/message.h"
#include "launcher/memory/memtrace.h"
#include "launcher/sharing/sharing.h"
#include "launcher/trace/sampled.h"

#define NODES "/sys/devices/system/node"
#define MAX_FILE (1 << 20)
#define MAX_ERROR 300

struct pages_reading {
	const struct pages_options *o;
	struct memwhere *where; /* of the rank, and: */
	struct memnames *names;
	struct sh_pages *pages;
	size_t first_thread; /* of rows.threads */
	int rank;
	struct sh_pages_thread *thread;
	struct memtrace_time time;
	struct pages_rows rows;
	uint64_t damage;
	bool failed;
};

static int no_memory(void)
{
	msg_error("no memory");
	return EXIT_USAGE;
}

/* ---- nodes ---- */

static int read_nodes(struct sh_nodes *nodes, const char *path)
{
	char error[MAX_ERROR], *text;
	int status = EXIT_USAGE;
	size_t n;

	text = files_text(path, MAX_FILE, &n);
	if (text && sh_nodes_read(nodes, text, n, error, sizeof(error)))
		status = 0;
	else if (text)
		msg_error("--nodes=%s: %s", path, error);
	else if (errno == EFBIG)
		msg_error("--nodes=%s: larger than 1 MiB", path);
	else
		msg_error("--nodes=%s: %m", path);
	free(text);
	return status;
}

static int find_nodes(struct pages_reading *r)
{
	if (r->o->nodes) {
		r->rows.nodes_of = r->o->nodes;
		return read_nodes(&r->rows.nodes, r->o->nodes);
	}
	r->rows.nodes_of = "this machine";
	if (!sh_nodes_here(&r->rows.nodes, NODES))
		return no_memory();
	if (r->rows.nodes.n == 1)
		msg_warn("this machine has one NUMA node, so nothing is remote; --nodes=FILE describes another one");
	return 0;
}

/* ---- accesses ---- */

static int begin_rank(void *arg, struct mt_read *read, const struct sonde_trace_rank *rank)
{
	struct pages_reading *r = arg;

	r->where = memwhere_new(read, MEMWHERE_LINES | (r->o->mangled ? MEMWHERE_MANGLED : 0));
	r->names = memnames_new(read, mt_read_trace(read), rank, MEMNAMES_FIELDS);
	r->pages = sh_pages_new((unsigned int)__builtin_ctzll(r->o->page), r->o->no_stack);
	r->damage += r->where ? memwhere_damage(r->where) : 0;
	r->first_thread = r->rows.nthreads;
	r->rank = rank->rank;
	return r->where && r->names && r->pages ? 0 : no_memory();
}

static void end_rank(void *arg)
{
	struct pages_reading *r = arg;

	memwhere_free(r->where);
	memnames_free(r->names);
	sh_pages_free(r->pages);
	r->where = NULL;
	r->names = NULL;
	r->pages = NULL;
}

static bool take(void *arg, const struct mt_access *v, size_t n)
{
	struct pages_reading *r = arg;

	r->failed = !sh_pages_thread_time(r->thread, r->time.tsc, r->time.exact) || !sh_pages_thread_take(r->thread, v, n);
	return !r->failed;
}

static int visit_thread(void *arg, const struct memtrace_thread *thread)
{
	struct pages_reading *r = arg;
	struct memtrace_thread copy = *thread;
	struct pages_rows *rows = &r->rows;

	copy.time = &r->time;
	r->time = (struct memtrace_time){ 0 };
	r->thread = sh_pages_thread_new(r->pages, thread->about.pid, thread->about.tid);
	if (!r->thread || !array_room(rows->threads, rows->room_threads, rows->nthreads + 1))
		return no_memory();
	rows->threads[rows->nthreads] = (struct pages_thread){
		.rank = r->rank, .pid = thread->about.pid, .tid = thread->about.tid,
		.node = sh_node(&rows->nodes, (uint32_t)(rows->nthreads - r->first_thread)),
	};
	rows->nthreads++;
	r->damage += memtrace_accesses(&copy, take, r);
	return !r->failed && sh_pages_thread_time(r->thread, r->time.tsc, r->time.exact) ? 0 : no_memory();
}

/* ---- rows ---- */

static struct pages_thread *thread_of(struct pages_reading *r, const struct sh_page_use *use)
{
	return &r->rows.threads[r->first_thread + use->thread];
}

/* What is said of a page before it is in a row. */
static struct pages_row sum_up(struct pages_reading *r, const struct sh_page *page)
{
	const struct pages_thread *first = thread_of(r, &page->uses[page->first]);
	struct pages_row row = { .rank = r->rank, .pid = page->pid, .address = page->address, .pages = 1, .unsure = page->unsure,
				 .first_tid = first->tid, .first_node = first->node, .insn = page->insn, .at = page->at };
	uint64_t seen = 0; /* nodes from 64 on are one */

	for (size_t i = 0; i < page->nuses; i++) {
		const struct sh_page_use *use = &page->uses[i];
		const uint64_t n = use->loads + use->stores;
		struct pages_thread *t = thread_of(r, use);
		const uint64_t bit = UINT64_C(1) << (t->node < 63 ? t->node : 63);

		row.nodes += !(seen & bit);
		seen |= bit;
		row.accesses += n;
		t->accesses += n;
		if (t->node == first->node) {
			row.first_accesses += n;
			continue;
		}
		t->remote += n;
		row.remote += n;
		if (n <= row.other_accesses)
			continue;
		row.other_accesses = n;
		row.other_tid = t->tid;
		row.other_node = t->node;
		row.other_insn = use->insn;
	}
	thread_of(r, &page->uses[page->first])->pages++;
	return row;
}

static bool copy(char **to, const char *text)
{
	*to = text ? strdup(text) : NULL;
	return *to || !text;
}

static bool find_place(struct pages_reading *r, uint64_t insn, struct pages_place *to)
{
	struct memplace *p = memwhere(r->where, insn);

	if (!p || !copy(&to->function, p->function) || !copy(&to->file, p->file))
		return false;
	to->line = p->line;
	to->address = p->addr;
	return true;
}

/* Globals, statics and blocks of the heap, as what was touched first is called. */
static bool find_name(struct pages_reading *r, const struct sh_page *page, char **name)
{
	const struct nm_when when = { page->pid, page->from, page->to, page->insn };
	struct nm *nm = memnames_nm(r->names);
	struct nm_place place;

	if (!nm_find_static(nm, page->at, 1, &place))
		return false;
	if (place.name->variable->kind == NM_UNKNOWN && !nm_find_block(nm, &when, page->at, 1, &place))
		return false;
	*name = sharing_whole(&place);
	if (!*name && *place.name->variable->name && asprintf(name, "[%s]", place.name->variable->name) < 0)
		*name = NULL;
	return true;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static struct pages_row *like(const struct pages_rows *rows, const struct pages_row *row)
{
	for (struct pages_row *o = rows->v; o < rows->v + rows->n; o++)
		if (o->rank == row->rank && o->pid == row->pid && o->first_tid == row->first_tid && o->insn == row->insn &&
		    o->other_tid == row->other_tid && o->other_insn == row->other_insn && same_text(o->variable, row->variable))
			return o;
	return NULL;
}

static bool add(struct pages_reading *r, const struct sh_page *page)
{
	struct pages_rows *rows = &r->rows;
	struct pages_row row = sum_up(r, page), *old;

	rows->pages++;
	rows->unsure += row.unsure;
	rows->accesses += row.accesses;
	rows->remote += row.remote;
	if (!row.remote && !r->o->all)
		return true;
	if (!find_name(r, page, &row.variable))
		return false;
	old = like(rows, &row);
	if (old) {
		free(row.variable);
		old->pages++;
		old->unsure += row.unsure;
		old->accesses += row.accesses;
		old->remote += row.remote;
		old->other_accesses += row.other_accesses;
		old->first_accesses += row.first_accesses;
		old->nodes = row.nodes > old->nodes ? row.nodes : old->nodes;
		return true;
	}
	if (!array_room(rows->v, rows->room, rows->n + 1)) {
		free(row.variable);
		return false;
	}
	rows->v[rows->n] = row;
	rows->n++;
	return find_place(r, row.insn, &rows->v[rows->n - 1].first) &&
	       (!row.other_tid || find_place(r, row.other_insn, &rows->v[rows->n - 1].other));
}

static int end_threads(void *arg)
{
	struct pages_reading *r = arg;
	const struct sh_page *page;

	if (!sh_pages_finish(r->pages))
		return no_memory();
	for (size_t i = 0; (page = sh_page(r->pages, i)); i++)
		if (!add(r, page))
			return no_memory();
	return 0;
}

static int by_remote(const void *a, const void *b)
{
	const struct pages_row *x = a, *y = b;

	if (x->remote != y->remote)
		return x->remote < y->remote ? 1 : -1;
	if (x->pages != y->pages)
		return x->pages < y->pages ? 1 : -1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static int print(void *arg, const struct sonde_trace *trace)
{
	struct pages_reading *r = arg;
	struct sonde_trace_sampled how;

	if (sampled_sum(trace, &how)) {
		sampled_tell(trace);
		msg_warn("only what happened in bursts was seen: pages may have been touched before");
	}
	if (r->rows.n)
		qsort(r->rows.v, r->rows.n, sizeof(r->rows.v[0]), by_remote);
	if (r->o->csv)
		pages_csv(&r->rows, r->o->limit, stdout);
	else if (!r->o->json)
		pages_table(&r->rows, r->o->limit, stdout);
	else if (!pages_json(&r->rows, r->o->limit, stdout))
		return no_memory();
	return 0;
}

int sharing_pages(const struct pages_options *o, const char *dir)
{
	struct pages_reading r = { .o = o, .rows = { .page = o->page } };
	const struct memtrace_visitor visitor = { .begin = begin_rank, .thread = visit_thread, .done = end_threads, .end = end_rank,
						  .arg = &r, .progress = "looking for first touches" };
	int status = find_nodes(&r);

	if (!status)
		status = sharing_read(dir, o->pick, &visitor, print, &r.damage);
	for (size_t i = 0; i < r.rows.n; i++) {
		free(r.rows.v[i].variable);
		free(r.rows.v[i].first.function);
		free(r.rows.v[i].first.file);
		free(r.rows.v[i].other.function);
		free(r.rows.v[i].other.file);
	}
	free(r.rows.v);
	free(r.rows.threads);
	sh_nodes_free(&r.rows.nodes);
	return status;
}
