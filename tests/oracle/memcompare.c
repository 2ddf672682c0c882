// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: memcompare [-S] [-s SYMBOLS] STEPS TRACE
 *	  memcompare -c TRACE
 *	  memcompare -p TRACE
 *
 * Compares a trace's memory accesses with what memsteps saw (STEPS), thread by thread in the order of their ids,
 * access by access: kind, size, address, instruction.  -S: the trace was recorded with --mem-stack=no.  Prints the
 * first difference of each thread, or how much agrees and in which functions nothing was recorded (no node is in
 * them), in one line.
 *
 * Both are run without address space randomization and with the same environment, so that the program, its
 * heap and its stack are at the same addresses.  Libraries and other mappings are not, since there are some
 * more in a program under Sonde: of those each page has to be moved by the same multiple of 4096 throughout, no
 * two to the same place, and all by few different distances.
 *
 * -c: only reads the trace, which must not have gaps, and compares what can be listed with what can be counted.
 * -p: the same, after lines KIND SIZE ADDRESS INSTRUCTION for all accesses.
 */
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memtrace/read/read.h"
#include "tests/oracle/oracle.h"

enum { MAX_DISTANCES = 12, CONTEXT = 8, PAGE = 4096, UNPROVEN = 4 };

/* Below are the program and its heap, above its first thread's stack. */
#define MAPPINGS_LOW UINT64_C(0x600000000000)
#define MAPPINGS_HIGH UINT64_C(0x7ffffff00000)

struct record {
	uint64_t addr, insn, fn;
	uint32_t size;
	uint32_t file; /* into files[] */
	uint8_t kind;  /* enum md_kind, with MD_STACK */
};

struct recorded {
	int pid, tid;
	struct record *v;
	size_t n;
};

static char *files[64];
static uint32_t nfiles;
static struct recorded *steps; /* by memsteps */
static size_t nsteps;
static bool no_stack, prints;
static bool differs;

static void *grow(void *v, size_t n, size_t each)
{
	if (n & (n - 1))
		return v;
	v = realloc(v, (n ? 2 * n : 1) * each);
	if (!v)
		die("no memory");
	return v;
}

static uint32_t file_number(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	for (uint32_t i = 0; i < nfiles; i++)
		if (strcmp(files[i], name) == 0)
			return i;
	if (nfiles == sizeof(files) / sizeof(files[0]))
		die("too many files");
	files[nfiles] = strdup(name);
	return nfiles++;
}

/* ---- functions with nodes ---- */

struct instrumented {
	uint32_t file;
	uint64_t fn;
};

static void *instrumented; /* tsearch(3) */

static int by_function(const void *a, const void *b)
{
	const struct instrumented *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->fn < y->fn ? -1 : x->fn > y->fn;
}

static void note_function(uint32_t file, uint64_t fn)
{
	struct instrumented *i = malloc(sizeof(*i));

	if (!i)
		die("no memory");
	*i = (struct instrumented){ file, fn };
	if (*(struct instrumented **)tsearch(i, &instrumented, by_function) != i)
		free(i);
}

static bool is_instrumented(const struct record *r)
{
	return tfind(&(struct instrumented){ r->file, r->fn }, &instrumented, by_function) != NULL;
}

/* Of an object, which may come in several parts. */
static struct object *functions_of(const char *path, const char *symbols)
{
	static struct { char *path; struct object o; } known[64];
	size_t i = 0;

	while (i < 63 && known[i].path && strcmp(known[i].path, path) != 0)
		i++;
	if (!known[i].path) {
		known[i].path = strdup(path);
		object_read(&known[i].o, path, symbols);
	}
	return &known[i].o;
}

static void read_objects(const char *trace, const char *symbols)
{
	struct sonde_trace_message why;
	struct mt_files_object o;
	struct mt_files *m;

	if (mt_files_open(trace, &m, &why) != SONDE_TRACE_OK)
		die("%s: %s", trace, why.text);
	for (size_t i = 0; mt_files_object(m, i, &o); i++) {
		const struct object *object = functions_of(o.path, symbols);
		const struct md_node *nodes = o.nodes;

		for (uint32_t k = 0; k < o.nnodes; k++) {
			uint64_t addr = o.base + nodes[k].start - o.load;
			const struct function *f = object_function(object, addr);

			/* else memsteps has nothing of it either */
			if (f)
				note_function(file_number(o.path), f->addr);
		}
	}
	mt_files_close(m);
}

/* ---- the oracle's ---- */

static uint8_t kind_number(const char *name)
{
	static const char *const names[] = { "load", "store", "modify", "prefetch" };

	for (uint8_t i = 0; i < 4; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	die("an access of kind %s", name);
}

static struct recorded *thread_of(int pid, int tid)
{
	static size_t last;

	if (last < nsteps && steps[last].tid == tid && steps[last].pid == pid)
		return &steps[last];
	for (last = 0; last < nsteps; last++)
		if (steps[last].tid == tid && steps[last].pid == pid)
			return &steps[last];
	steps = grow(steps, nsteps, sizeof(*steps));
	steps[nsteps] = (struct recorded){ .pid = pid, .tid = tid };
	return &steps[nsteps++];
}

/* Accesses in functions of which nothing is recorded. */
static struct record *alone;
static size_t nalone;

static void note_alone(const struct record *r)
{
	for (size_t i = 0; i < nalone; i++)
		if (by_function(&(struct instrumented){ alone[i].file, alone[i].fn },
				&(struct instrumented){ r->file, r->fn }) == 0) {
			alone[i].size++; /* counts */
			return;
		}
	alone = grow(alone, nalone, sizeof(*alone));
	alone[nalone] = *r;
	alone[nalone++].size = 1;
}

static void read_steps(const char *path)
{
	char line[512], kind[16], file[256];
	FILE *f = fopen(path, "re");
	struct record r;
	int pid, tid, stack;

	while (f && fgets(line, sizeof(line), f)) {
		struct recorded *t;

		if (sscanf(line, "%d.%d %15s %" SCNu32 " %" SCNx64 " %d %255s %" SCNx64 " %" SCNx64, &pid, &tid, kind,
			   &r.size, &r.addr, &stack, file, &r.insn, &r.fn) != 9)
			die("%s: %s", path, line);
		r.kind = (uint8_t)(kind_number(kind) | (stack ? MD_STACK : 0));
		r.file = file_number(file);
		if (!is_instrumented(&r)) {
			note_alone(&r);
			continue;
		}
		if (no_stack && stack)
			continue;
		t = thread_of(pid, tid);
		t->v = grow(t->v, t->n, sizeof(*t->v));
		t->v[t->n++] = r;
	}
	if (!f)
		die("%s: %s", path, strerror(errno));
	fclose(f);
}

/* A thread with a smaller number than its process came when the numbers had begun anew. */
static int64_t rank(const struct recorded *r)
{
	return r->tid < r->pid ? (int64_t)r->tid + INT32_MAX : r->tid;
}

static int by_id(const void *a, const void *b)
{
	const struct recorded *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return rank(x) < rank(y) ? -1 : rank(x) > rank(y);
}

/* ---- pages ---- */

struct page {
	uint64_t from, to;
};

static void *pages_from, *pages_to;
static uint64_t distances[MAX_DISTANCES];
static size_t ndistances;

static int by_from(const void *a, const void *b)
{
	const struct page *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static int by_to(const void *a, const void *b)
{
	const struct page *x = a, *y = b;

	return x->to < y->to ? -1 : x->to > y->to;
}

static void forget_pages(void)
{
	tdestroy(pages_from, free);
	pages_from = NULL;
	while (pages_to)
		tdelete(*(void **)pages_to, &pages_to, by_to);
	ndistances = 0;
}

static bool may_move(uint64_t distance)
{
	size_t i = 0;

	while (i < ndistances && distances[i] != distance)
		i++;
	if (i == MAX_DISTANCES)
		return false;
	distances[i] = distance;
	ndistances += i == ndistances;
	return true;
}

static bool note_page(uint64_t from, uint64_t to)
{
	struct page *p = malloc(sizeof(*p));

	if (!p)
		die("no memory");
	*p = (struct page){ from, to };
	if (*(struct page **)tsearch(p, &pages_from, by_from) != p) {
		free(p);
		return (*(struct page **)tfind(&(struct page){ from, 0 }, &pages_from, by_from))->to == to;
	}
	return *(struct page **)tsearch(p, &pages_to, by_to) == p;
}

/* @a: the oracle's. */
static bool same_place(uint64_t a, uint64_t b)
{
	if (a == b && (a < MAPPINGS_LOW || a >= MAPPINGS_HIGH))
		return true;
	if (a < MAPPINGS_LOW || a >= MAPPINGS_HIGH || b < MAPPINGS_LOW || b >= MAPPINGS_HIGH || (a - b) % PAGE)
		return false;
	return may_move(b - a) && note_page(a / PAGE, b / PAGE);
}

/* ---- comparing ---- */

static const char *name_of(const struct record *r)
{
	static const char *const names[] = { "load", "store", "modify", "prefetch", "?", "?", "?", "?" };

	return names[r->kind & MD_KIND];
}

static void print(const char *what, size_t i, const struct record *r)
{
	printf("  %s %zu: %s %u %" PRIx64 "%s %s+0x%" PRIx64 "\n", what, i, name_of(r), r->size, r->addr,
	       r->kind & MD_STACK ? " stack" : "", files[r->file], r->insn);
}

static struct record record_of(const struct mt_read *m, const struct mt_access *a)
{
	struct record r = { .addr = a->addr, .size = a->size, .kind = a->kind, .insn = a->insn };
	const char *path = mt_read_place(m, a->insn, &r.insn);

	r.file = file_number(path ? path : "?");
	return r;
}

static bool same(const struct record *a, const struct record *b)
{
	return a->kind == b->kind && a->size == b->size && a->insn == b->insn && a->file == b->file &&
	       same_place(a->addr, b->addr);
}

/* A thread's accesses, in both. */
struct cursor {
	const char *trace;
	size_t thread;
	struct mt_read *m;
	struct mt_read_thread *t;
	const struct mt_access *v;
	size_t n, at, total;
	uint64_t gaps;
	struct mt_counts counts;
};

static const struct mt_access *next(struct cursor *c)
{
	if (c->at == c->n) {
		c->n = mt_read_next(c->t, &c->v, &c->gaps);
		c->at = 0;
	}
	if (!c->n)
		return NULL;
	c->total++;
	c->counts.accesses[c->v[c->at].kind & 3]++;
	c->counts.bytes[c->v[c->at].kind & 3] += c->v[c->at].size;
	return &c->v[c->at++];
}

static void show(const struct recorded *t, size_t at, struct cursor *c, const struct mt_access *a)
{
	differs = true;
	printf("thread %d.%d differs at access %zu of %zu (%" PRIu64 " gaps)\n", t->pid, t->tid, at, t->n, c->gaps);
	for (size_t i = at > CONTEXT ? at - CONTEXT : 0; i < at + CONTEXT && i < t->n; i++)
		print(i < at ? "both  " : "oracle", i, &t->v[i]);
	for (size_t i = at; a && i < at + CONTEXT; i++, a = next(c)) {
		struct record r = record_of(c->m, a);

		print("trace ", i, &r);
	}
}

/* Does its stream say that it came to its end?  Not if it was killed, and that is known. */
static bool is_ended(const struct cursor *c)
{
	struct sonde_trace_message why;
	struct mt_stream *s;
	const void *chunk;
	uint32_t kind = 0;
	struct mt_files *m;
	size_t bytes;

	if (mt_files_open(c->trace, &m, &why) || mt_stream_open(m, c->thread, &s))
		die("%s: cannot be read", c->trace);
	while (mt_stream_next(s, &chunk, &bytes) == SONDE_TRACE_OK) {
		if (bytes >= sizeof(kind))
			memcpy(&kind, chunk, sizeof(kind));
	}
	mt_stream_close(s);
	mt_files_close(m);
	return kind == MD_CHUNK_END;
}

/* Of a thread that was killed, what follows its last word is not known. */
static bool may_stop(const struct recorded *t, size_t at, const struct cursor *c)
{
	return t->n - at <= UNPROVEN && !c->gaps && !is_ended(c);
}

static void compare(const struct recorded *t, struct cursor *c)
{
	for (size_t i = 0;; i++) {
		const struct mt_access *a = next(c);
		struct record r;

		if (!a && (i == t->n || may_stop(t, i, c)))
			break;
		if (a)
			r = record_of(c->m, a);
		if (!a || i == t->n || !same(&t->v[i], &r)) {
			show(t, i, c, a);
			return;
		}
	}
	if (c->gaps) {
		printf("thread %d.%d: %" PRIu64 " gaps\n", t->pid, t->tid, c->gaps);
		differs = true;
	}
}

/* What mt_count() says is what mt_next() said. */
static void compare_counts(struct mt_read *m, size_t thread, const struct cursor *c)
{
	enum sonde_trace_status status;
	struct mt_read_thread *t = mt_read_start(m, thread, &status);
	struct mt_counts counts = { 0 };
	uint64_t gaps = 0;

	if (!t)
		die("a thread that cannot be read");
	mt_read_count(t, true, &counts, &gaps);
	mt_read_stop(t);
	if (memcmp(&counts, &c->counts, sizeof(counts)) == 0)
		return;
	differs = true;
	for (int i = 0; i < 4; i++)
		printf("  kind %d: %" PRIu64 " (%" PRIu64 " bytes) one by one, %" PRIu64 " (%" PRIu64 ") counted\n", i,
		       c->counts.accesses[i], c->counts.bytes[i], counts.accesses[i], counts.bytes[i]);
}

struct place {
	struct recorded id;
	size_t thread;
};

static size_t compare_all(const char *trace)
{
	struct mt_files_thread thread;
	struct place *v = NULL;
	size_t n = 0, next_step = 0, all = 0;
	struct mt_read *m;
	enum sonde_trace_status status;
	struct sonde_trace_message why;

	m = mt_read_open(trace, &status, &why);
	if (!m)
		die("%s: cannot be read", trace);
	for (size_t i = 0; mt_read_thread(m, i, &thread); i++) {
		v = grow(v, n, sizeof(*v));
		v[n++] = (struct place){ .id = { .pid = thread.pid, .tid = thread.tid }, .thread = i };
	}
	qsort(v, n, sizeof(*v), by_id);
	for (size_t i = 0; i < n; i++) {
		static const struct recorded nothing;
		struct cursor c = {
			.trace = trace, .thread = v[i].thread, .m = m, .t = mt_read_start(m, v[i].thread, &status),
		};

		if (!c.t)
			die("a thread that cannot be read");
		if (i == 0 || v[i - 1].id.pid != v[i].id.pid)
			forget_pages();
		if (next(&c)) {
			c.at = c.total = 0;
			c.counts = (struct mt_counts){ 0 };
			compare(next_step < nsteps ? &steps[next_step] : &nothing, &c);
			next_step++;
		}
		while (next(&c))
			;
		all += c.total;
		mt_read_stop(c.t);
		compare_counts(m, v[i].thread, &c);
	}
	for (; next_step < nsteps; next_step++) {
		printf("thread %d.%d is missing\n", steps[next_step].pid, steps[next_step].tid);
		differs = true;
	}
	mt_read_close(m);
	return all;
}

/* -c */
static void check_trace(const char *trace)
{
	struct mt_files_thread thread;
	size_t all = 0, i = 0;
	struct mt_read *m;
	enum sonde_trace_status status;
	struct sonde_trace_message why;

	m = mt_read_open(trace, &status, &why);
	if (!m)
		die("%s: cannot be read", trace);
	for (; mt_read_thread(m, i, &thread); i++) {
		struct cursor c = { .m = m, .t = mt_read_start(m, i, &status) };

		uint64_t gaps = 0;

		if (!c.t)
			die("a thread that cannot be read");
		for (const struct mt_access *a; (a = next(&c));) {
			struct record r = record_of(m, a);

			if (c.gaps > gaps)
				printf("a gap in front of access %zu\n", c.total - 1);
			gaps = c.gaps;
			if (prints)
				printf("%s %u %" PRIx64 " %" PRIx64 "\n", name_of(&r), r.size, r.addr, r.insn);
		}
		if (c.gaps || thread.bad || thread.lost) {
			printf("thread %d.%d: %" PRIu64 " gaps, %zu accesses, %" PRIu64 " bad and %" PRIu64
			       " lost chunks\n", thread.pid, thread.tid, c.gaps, c.total, thread.bad, thread.lost);
			differs = true;
		}
		all += c.total;
		mt_read_stop(c.t);
		compare_counts(m, i, &c);
	}
	mt_read_close(m);
	printf("%zu accesses of %zu threads\n", all, i);
}

static void print_alone(const char *program_symbols, const char *trace)
{
	struct sonde_trace_message why;
	struct mt_files_object o;
	struct mt_files *m;

	printf("; left alone:");
	if (mt_files_open(trace, &m, &why) != SONDE_TRACE_OK)
		die("%s: %s", trace, why.text);
	for (size_t i = 0; i < nalone; i++) {
		const struct function *f = NULL;

		for (size_t k = 0; !f && mt_files_object(m, k, &o); k++)
			if (file_number(o.path) == alone[i].file)
				f = object_function(functions_of(o.path, program_symbols), alone[i].fn);
		printf(" %s(%u)", f ? f->names : "?", alone[i].size);
	}
	mt_files_close(m);
}

int main(int argc, char **argv)
{
	const char *symbols = NULL;
	bool only = false;
	size_t n;
	int c;

	while ((c = getopt(argc, argv, "cpSs:")) != -1) {
		if (c == 'S')
			no_stack = true;
		else if (c == 'c')
			only = true;
		else if (c == 'p')
			only = prints = true;
		else if (c == 's')
			symbols = optarg;
		else
			die("usage: memcompare [-S] [-s SYMBOLS] STEPS TRACE");
	}
	if (only && argc - optind == 1) {
		check_trace(argv[optind]);
		return differs;
	}
	if (argc - optind != 2)
		die("usage: memcompare [-S] [-s SYMBOLS] STEPS TRACE");
	read_objects(argv[optind + 1], symbols);
	read_steps(argv[optind]);
	qsort(steps, nsteps, sizeof(*steps), by_id);
	n = compare_all(argv[optind + 1]);
	if (differs)
		return 1;
	printf("%zu accesses of %zu threads agree", n, nsteps);
	if (nalone)
		print_alone(symbols, argv[optind + 1]);
	putchar('\n');
	return 0;
}
