/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From events: imbalance in OpenMP, calls, and allocations by where they are made. */
#include "launcher/advise/advise.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "injector/image/symbols.h"
#include "launcher/common/message.h"
#include "launcher/common/units.h"
#include "launcher/memory/names/memblocks.h"
#include "launcher/report/omp/omp.h"
#include "launcher/report/report.h"

/* ---- OpenMP ---- */

#define IMBALANCED 0.1
#define SAVES 0.9 /* of a loop's time */
#define SHORT_NS 50000

static bool wants(const struct sonde_trace_thread *thread, void *arg)
{
	return pick_thread(thread, arg);
}

/* Another schedule that would have taken clearly less; OMP_SCHEDULES: none. */
static enum omp_schedule better(const struct omp_row *row)
{
	enum omp_schedule best = OMP_SCHEDULES;
	double least = SAVES * (double)row->compared_time;

	for (unsigned int s = 0; row->compared && s < OMP_SCHEDULES; s++) {
		if (row->would[s] >= least)
			continue;
		least = row->would[s];
		best = (enum omp_schedule)s;
	}
	return best;
}

static char *schedule_advice(const struct omp_row *row)
{
	const enum omp_schedule best = better(row);
	char now[UNITS_MAX], then[UNITS_MAX];

	units_time(row->time / row->count, now);
	if (best == OMP_SCHEDULES && row->time / row->count < SHORT_NS)
		return advise_text("it takes %s each time, which is hardly worth the threads: join it with others, or let one thread do it "
				   "(clause if)", now);
	if (best == OMP_SCHEDULES)
		return advise_text("share the work out more evenly: %s; if it is another thread each time, they were not running (--blocked shows "
				   "that)", row->kind == OMP_LOOP ? "smaller chunks (schedule(dynamic) or guided), or iterations that cost the same" :
							      "schedule(dynamic) for its loops, tasks, or parts of equal cost for each thread");
	units_time(row->compared_time, now);
	units_time((uint64_t)row->would[best], then);
	return advise_text("with schedule(%s), k = %" PRId64 ", its chunks as they were recorded would take %s in place of %s", omp_schedule_name(best),
			   row->chunk > 0 ? row->chunk : 1, then, now);
}

static struct advice of_construct(const struct omp_row *row, double amount)
{
	return (struct advice){
		.kind = ADVICE_IMBALANCE, .of = ADVICE_OF_TEAMS, .amount = amount,
		.place = { .function = *row->place.function ? row->place.function : NULL, .path = *row->place.path ? row->place.path : NULL,
			   .file = *row->place.file ? row->place.file : NULL, .line = row->place.line, .address = row->place.offset,
			   .loop = row->kind == OMP_LOOP },
	};
}

static void look_at_construct(struct advise *a, const struct omp_row *row)
{
	const double imbalance = omp_imbalance(row);
	struct advice like = of_construct(row, (double)(row->wait[OMP_BARRIERS] + row->idle));
	char name[OMP_NAME_MAX], time[UNITS_MAX], waits[UNITS_MAX];

	if (row->kind == OMP_TASK || row->threads < 2 || !row->count)
		return;
	omp_name(row, name);
	units_time(row->time, time);
	units_time(row->wait[OMP_BARRIERS] + row->idle, waits);
	if (imbalance >= IMBALANCED)
		advise_add(a, &like,
			   advise_text("%s ran %" PRIu64 " time%s in %s on %" PRIu32 " threads, and the one that worked longest did so %.0f%% longer than "
				       "they did on average, while the others waited for %s in all", name, row->count, row->count == 1 ? "" : "s", time, row->threads,
				       100 * imbalance, waits),
			   schedule_advice(row));
	like = of_construct(row, (double)row->wait[OMP_LOCKS]);
	units_time(row->wait[OMP_LOCKS], waits);
	if (row->kind == OMP_REGION && 10 * row->wait[OMP_LOCKS] >= row->team)
		advise_add(a, &like, advise_text("in %s threads waited for locks and critical sections for %s in all", name, waits),
			   advise_text("do less in critical sections, let each thread have its own result (reduction), or take several locks in place of "
				       "one"));
}

int advise_openmp(struct advise *a)
{
	struct omp_request request = { wants, a->t.pick };
	struct omp_report r;
	int status;

	if (!omp_recorded(a->t.trace))
		return 0;
	status = omp_read(&r, a->t.trace, a->dir, &request);
	for (size_t i = 0; !status && i < r.rows.n; i++)
		if (r.rows.v[i].kind == OMP_REGION)
			a->whole[ADVICE_OF_TEAMS] += (double)r.rows.v[i].team;
	for (size_t i = 0; !status && i < r.rows.n; i++)
		look_at_construct(a, &r.rows.v[i]);
	a->damage += r.damaged;
	omp_report_free(&r);
	return status;
}

/* ---- calls ---- */

#define LEAST_CALLS 10000
#define SMALL_NS 50

static bool is_program(const struct sonde_trace *trace, const char *path)
{
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++)
		if (strcmp(sonde_trace_rank(trace, i)->program, path) == 0)
			return true;
	return false;
}

/* Nothing that it called took a part of its time. */
static void look_at_calls(struct advise *a, const struct report *r, const struct report_line *line)
{
	const struct report_row *row = &r->rows.row[line->row];
	const struct report_stats *s = &line->stats;
	struct advice like = { .kind = ADVICE_CALLS, .of = ADVICE_OF_TIME, .amount = (double)s->self };

	if (row->kind != REPORT_FUNCTION || row->module || !row->function || s->calls < LEAST_CALLS || !s->total || s->self < s->total ||
	    s->self / s->calls > SMALL_NS || !is_program(r->trace, row->function->path))
		return;
	like.place = (struct advice_place){ .function = a->o->mangled ? row->function->name : row->function->demangled,
					    .path = row->function->path, .address = row->function->address };
	advise_add(a, &like,
		   advise_text("it was called %" PRIu64 " times, for %" PRIu64 " ns each, and called nothing that was recorded", s->calls,
			       s->self / s->calls),
		   advise_text("let the compiler put it into its callers (static inline in a header, or -flto), or do several of its calls' work in one"));
}

int advise_calls(struct advise *a)
{
	const struct report_request q = { .rank = a->t.pick->rank, .limit = UINT64_MAX, .mangled = true };
	struct report r;
	int status;

	status = report_make(&r, a->t.trace, a->dir, &q);
	for (size_t g = 0; !status && g < r.ngroups; g++) {
		a->whole[ADVICE_OF_TIME] += (double)r.groups[g].whole;
		for (size_t i = 0; i < r.groups[g].nlines; i++)
			look_at_calls(a, &r, &r.groups[g].lines[i]);
	}
	if (!status)
		a->damage += report_is_damaged(&r);
	report_free(&r);
	return status;
}

/* ---- allocations ---- */

#define LEAST_BLOCKS 1000
#define REUSE 100 /* so many allocations for each block that is there at a time */

/* Where blocks are allocated. */
struct site {
	const struct sonde_trace_function *function; /* NULL: free slot */
	size_t rank;
	uint64_t code;
	uint64_t n, bytes, most_bytes, time; /* ns: of the calls, and of those that free what they gave */
	uint64_t live, most;
};

/* A block that has not been freed. */
struct block {
	uint64_t addr; /* 0: free slot, or it was freed: site is NULL then */
	int pid;
	uint32_t site; /* index + 1; 0: it was freed */
};

struct heap {
	struct site *sites;
	size_t nsites, room_sites; /* room: hashed */
	struct block *blocks;
	size_t nblocks, room_blocks;
	const struct advise *a;
};

static size_t slot_of_site(const struct heap *h, const struct site *like)
{
	return hash_slot(i, h->room_sites, hash_word(like->code ^ hash_word(like->function->index ^ like->rank << 32)),
			 !h->sites[i].function || (h->sites[i].function == like->function && h->sites[i].code == like->code &&
						   h->sites[i].rank == like->rank));
}

static struct block *slot_of_block(const struct heap *h, int pid, uint64_t addr)
{
	return &h->blocks[hash_slot(i, h->room_blocks, hash_word(addr ^ (uint64_t)(unsigned int)pid << 40),
				    !h->blocks[i].addr || (h->blocks[i].addr == addr && h->blocks[i].pid == pid))];
}

static struct site *site_of(struct heap *h, const struct memblocks_call *c)
{
	const struct site like = { .function = c->function, .rank = c->thread->rank_index, .code = c->code };
	size_t at;

	/* indices of slots are kept by blocks: so there is room for all from the beginning */
	if (!h->sites) {
		h->room_sites = 1 << 16;
		h->sites = calloc(h->room_sites, sizeof(*h->sites));
	}
	if (!h->sites || 2 * h->nsites >= h->room_sites)
		return NULL;
	at = slot_of_site(h, &like);
	if (!h->sites[at].function) {
		h->sites[at] = like;
		h->nsites++;
	}
	return &h->sites[at];
}

static void note_freed(struct heap *h, const struct memblocks_call *c)
{
	struct block *b = h->blocks ? slot_of_block(h, c->thread->pid, c->freed) : NULL;

	if (!b || !b->addr || !b->site)
		return;
	h->sites[b->site - 1].live--;
	h->sites[b->site - 1].time += c->gives ? 0 : c->to - c->from;
	b->site = 0;
}

static bool note_given(struct heap *h, const struct memblocks_call *c)
{
	struct site *s = site_of(h, c);
	struct block *b;

	if (!s)
		return h->sites != NULL; /* too many: what is further is not looked at */
	if (!hash_grow(h->blocks, h->room_blocks, h->nblocks + 1, old, old->addr, slot_of_block(h, old->pid, old->addr)))
		return false;
	b = slot_of_block(h, c->thread->pid, c->address);
	h->nblocks += !b->addr;
	/* its free was not seen */
	if (b->addr && b->site)
		h->sites[b->site - 1].live--;
	*b = (struct block){ c->address, c->thread->pid, (uint32_t)(s - h->sites) + 1 };
	s->n++;
	s->bytes += c->bytes;
	s->most_bytes = c->bytes > s->most_bytes ? c->bytes : s->most_bytes;
	s->time += c->to - c->from;
	s->live++;
	s->most = s->live > s->most ? s->live : s->most;
	return true;
}

static bool take_call(void *arg, const struct memblocks_call *c)
{
	struct heap *h = arg;

	if (!pick_thread(c->thread, h->a->t.pick))
		return true;
	if (c->frees)
		note_freed(h, c);
	return !c->gives || note_given(h, c);
}

static void look_at_site(struct advise *a, const struct site *s)
{
	const struct sonde_trace_code *code = s->code ? sonde_trace_code(a->t.trace, s->rank, s->code) : NULL;
	struct advice like = { .kind = ADVICE_ALLOCATION, .of = ADVICE_OF_TIME, .amount = (double)s->time };
	char *caller, size[UNITS_MAX], time[UNITS_MAX], most[UNITS_MAX];

	if (!s->function || !code || s->n < LEAST_BLOCKS || s->most * REUSE > s->n)
		return;
	a->round = s->rank;
	caller = *code->function && !a->o->mangled ? inj_demangle(code->function) : NULL;
	like.place = (struct advice_place){ .function = caller ? caller : *code->function ? code->function : NULL, .path = code->path,
					    .file = *code->file ? code->file : NULL, .line = code->line, .address = code->offset };
	units_bytes(s->bytes / s->n, size);
	units_bytes(s->most_bytes, most);
	units_time(s->time, time);
	advise_add(a, &like,
		   advise_text("%.*s was called here %" PRIu64 " times for %s on average (%s at most), which took %s together with the calls that freed "
			       "them, as recorded, but no more than %" PRIu64 " of these blocks %s there at a time",
			       (int)strcspn(s->function->demangled, "("), s->function->demangled, s->n, size, most, time, s->most,
			       s->most == 1 ? "was" : "were"),
		   s->most == 1 ? advise_text("allocate it once before the loop and use it again, or take an array on the stack if it is small") :
				  advise_text("keep those that are free in a list and use them again, or allocate them together"));
	free(caller);
}

int advise_allocations(struct advise *a)
{
	struct heap h = { .a = a };
	bool damaged, good;

	if (!memblocks_recorded(a->t.trace))
		return 0;
	good = memblocks_each(a->t.trace, take_call, &h, &damaged);
	a->damage += damaged;
	for (size_t i = 0; good && i < h.room_sites; i++)
		look_at_site(a, &h.sites[i]);
	free(h.sites);
	free(h.blocks);
	if (good)
		return 0;
	msg_error("no memory");
	return EXIT_USAGE;
}
