// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Writing: what has been found out about a file's code, one part after the other.  Several processes may do so for one file at the
 * same time: each writes a file of its own, and renames it.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "injector/facts/analysis.h"
#include "injector/facts/kept.h"
#include "injector/facts/store.h"

#define ALIGN UINT64_C(64)
#define BATCH 512	    /* functions that a thread takes at once */
#define MAX_THREADS 8
#define NAP 5000000 /* ns, between looks at the lock */
#define NAPS 1000
#define YOUNG 100000000 /* ns: a file that has been written within the last may be written again at the same time by its clock */

/* ---- which functions can wait ---- */

struct waiting {
	const struct tramp_code *code;
	uint8_t *waits;
	uint32_t next;		/* function */
	bool failed;
};

/*
 * Its entry is planned later by its first bytes alone: the rest of it, and who comes into it from elsewhere, as a part of it that
 * leads back, must not matter to the plan.
 */
static bool plan_is_sure(const struct tramp_code *code, const struct tramp_fn *fn, struct tramp_checker *checker)
{
	uint64_t entries[INJ_MAX_ENTRIES];
	struct tramp_branch branches[INJ_MAX_ENTRIES];
	struct tramp_function f = { .addr = fn->addr, .size = fn->size, .avail = fn->size, .branches = branches };
	struct tramp_plan plan = { 0 }, alone = { 0 };
	size_t offset, left;

	f.code = tramp_code_at(code, fn->addr, &left);
	if (!f.code || left < fn->size)
		return false;
	f.nbranches = tramp_code_entries(code, fn->addr, TRAMP_DISPLACED_MAX + 4, entries, INJ_MAX_ENTRIES);
	if (f.nbranches == INJ_MAX_ENTRIES)
		return false;
	for (size_t i = 0; i < f.nbranches; i++)
		branches[i] = (struct tramp_branch){ .to = entries[i] };
	if (tramp_plan_entry(&f, &plan) != TRAMP_OK || plan.patch_addr + TRAMP_JUMP_SIZE > fn->addr + fn->size)
		return false;
	f.scanned = true;
	return tramp_plan_entry(&f, &alone) == TRAMP_OK && memcmp(&plan, &alone, sizeof(plan)) == 0 &&
	       tramp_check_boundaries(checker, &plan, &offset) != TRAMP_DISAGREE;
}

static void *find_waiting(void *arg)
{
	struct waiting *w = arg;
	const struct tramp_facts *facts = tramp_code_facts(w->code);
	struct tramp_checker *checker = tramp_checker_new();
	struct tramp_flow flow = { 0 };
	uint32_t first;

	while (checker && (first = __atomic_fetch_add(&w->next, BATCH, __ATOMIC_RELAXED)) < facts->nfns)
		for (uint32_t i = first; i < first + BATCH && i < facts->nfns; i++)
			w->waits[i] = tramp_code_owner(w->code, i) == i && tramp_code_one_entry(w->code, i, &flow) &&
				      plan_is_sure(w->code, &facts->fns[i], checker);
	if (!checker)
		__atomic_store_n(&w->failed, true, __ATOMIC_RELAXED);
	tramp_flow_free(&flow);
	tramp_checker_free(checker);
	return NULL;
}

/* Malloc'ed; NULL: no memory.  Signals are for the threads that know what to do with them. */
static uint8_t *waiting_of(const struct tramp_code *code, unsigned int threads)
{
	size_t worth = tramp_code_facts(code)->nfns / BATCH, n = 0;
	struct waiting w = { .code = code, .waits = calloc(tramp_code_facts(code)->nfns + 1, 1) };
	pthread_t thread[MAX_THREADS];
	sigset_t all, old;

	if (!w.waits)
		return NULL;
	worth = worth < threads ? worth : threads;
	worth = worth < MAX_THREADS ? worth : MAX_THREADS;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (n + 1 < worth && pthread_create(&thread[n], NULL, find_waiting, &w) == 0)
		n++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	find_waiting(&w);
	while (n)
		pthread_join(thread[--n], NULL);
	if (!w.failed)
		return w.waits;
	free(w.waits);
	return NULL;
}

/* ---- the arrays ---- */

struct parts {
	const void *at[INJ_KEPT_PARTS];
	size_t bytes[INJ_KEPT_PARTS];
	struct inj_kept_piece *pieces;
	struct inj_kept_name *names;
	char *text;
	uint8_t *waits;
};

static void put(struct parts *p, int part, const void *at, size_t bytes)
{
	p->at[part] = at;
	p->bytes[part] = bytes;
}

static bool put_pieces(struct parts *p, const struct inj_codefacts *facts)
{
	const struct tramp_facts *f = &facts->facts;

	p->pieces = calloc(f->nbytes + 1, sizeof(*p->pieces));
	for (size_t i = 0; p->pieces && i < f->nbytes; i++) {
		const struct tramp_bytes *b = &f->bytes[i];

		p->pieces[i] = (struct inj_kept_piece){ b->addr, inj_codefacts_offset(facts, b->bytes), b->len, b->code };
	}
	put(p, INJ_KEPT_PIECES, p->pieces, f->nbytes * sizeof(*p->pieces));
	return p->pieces != NULL;
}

static bool put_names(struct parts *p, const struct inj_codefacts *f)
{
	size_t n = f->facts.nfns, bytes = 0, at = 0;

	for (size_t i = 0; i < n; i++)
		bytes += strlen(f->fn[i].name) + 1;
	p->names = calloc(n + 1, sizeof(*p->names));
	p->text = malloc(bytes + 1);
	if (!p->names || !p->text || bytes > UINT32_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(f->fn[i].name) + 1;

		memcpy(p->text + at, f->fn[i].name, len);
		p->names[i] = (struct inj_kept_name){ (uint32_t)at, f->fn[i].flags };
		at += len;
	}
	put(p, INJ_KEPT_NAMES, p->names, n * sizeof(*p->names));
	put(p, INJ_KEPT_TEXT, p->text, bytes);
	return true;
}

static void put_code(struct parts *p, const struct tramp_code *code, struct inj_kept_head *h)
{
	struct tramp_code_arrays a;

	tramp_code_arrays(code, &a);
	h->large_model = a.large_model;
	put(p, INJ_KEPT_OWNER, a.at[TRAMP_CODE_OWNER], a.bytes[TRAMP_CODE_OWNER]);
	for (int i = TRAMP_CODE_OWNER + 1; i < TRAMP_CODE_PARTS; i++)
		put(p, INJ_KEPT_FLOW + i - TRAMP_CODE_OWNER - 1, a.at[i], a.bytes[i]);
}

static bool gather(struct parts *p, const struct inj_codefacts *f, const struct tramp_code *code, unsigned int threads,
		   struct inj_kept_head *h)
{
	const struct tramp_facts *t = &f->facts;

	h->text_lo = f->text_lo;
	h->text_hi = f->text_hi;
	h->code = f->code;
	h->uncovered = f->uncovered;
	h->guessed = f->guessed;
	h->go = f->go;
	h->no_relocations = f->no_relocations;
	put_code(p, code, h);
	put(p, INJ_KEPT_FNS, t->fns, t->nfns * sizeof(*t->fns));
	put(p, INJ_KEPT_SIGACTION, f->sigaction, f->nsigaction * sizeof(uint64_t));
	put(p, INJ_KEPT_NORETURN, t->noreturn, t->nnoreturn * sizeof(uint64_t));
	put(p, INJ_KEPT_OWN, t->own, t->nown * sizeof(uint64_t));
	put(p, INJ_KEPT_SYNC, t->sync, t->nsync * sizeof(uint64_t));
	put(p, INJ_KEPT_TAKEN, t->taken, t->ntaken * sizeof(uint64_t));
	p->waits = waiting_of(code, threads);
	put(p, INJ_KEPT_WAITS, p->waits, t->nfns);
	return p->waits && put_pieces(p, f) && put_names(p, f);
}

static void release(struct parts *p)
{
	free(p->pieces);
	free(p->names);
	free(p->text);
	free(p->waits);
}

/* ---- one part after the other ---- */

static uint8_t *lay_out(const struct parts *p, struct inj_kept_head *h)
{
	uint64_t at = (sizeof(*h) + ALIGN - 1) & ~(ALIGN - 1);
	uint8_t *map;

	for (int i = 0; i < INJ_KEPT_PARTS; i++) {
		h->off[i] = at;
		h->bytes[i] = p->bytes[i];
		at = (at + p->bytes[i] + ALIGN - 1) & ~(ALIGN - 1);
	}
	h->len = at;
	map = mmap(NULL, at, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	for (int i = 0; i < INJ_KEPT_PARTS; i++)
		if (p->bytes[i])
			memcpy(map + h->off[i], p->at[i], p->bytes[i]);
	h->rest = inj_kept_sum_rest(h, map);
	h->first = inj_kept_sum_first(h, map);
	memcpy(map, h, sizeof(*h));
	return map;
}

/* False: it is not kept, which is nobody's concern. */
static bool store(const struct inj_kept_source *source, const uint8_t *map, const struct inj_kept_head *h)
{
	char name[4096];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (!inj_kept_name(source, name, sizeof(name)) ||
	    h->file.ctime + YOUNG > (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec)
		return false;
	return inj_store(name, map, h->len, NULL, 0);
}

/* ---- all ---- */

/* Has it been the same file all the time? */
static bool is_same(const struct inj_kept_source *source, const struct inj_kept_head *before)
{
	int fd = open(source->path, O_RDONLY | O_CLOEXEC);
	struct inj_kept_head h;
	bool same = fd >= 0 && inj_kept_describe(source, fd, &h) && memcmp(&h.file, &before->file, sizeof(h.file)) == 0;

	if (fd >= 0)
		close(fd);
	return same;
}

static bool begin(const struct inj_kept_source *source, struct inj_kept_head *h)
{
	int fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool good = fd >= 0 && inj_kept_describe(source, fd, h);

	if (fd >= 0)
		close(fd);
	return good;
}

static struct inj_kept *make(const struct inj_kept_source *source, const struct inj_codefacts *facts, struct inj_kept_head *h)
{
	struct parts p = { 0 };
	struct tramp_code *code = NULL;
	struct inj_kept *kept = NULL;
	uint8_t *map = NULL;

	inj_codefacts_identity(facts, &h->identity);
	inj_codefacts_link(facts, h->link, sizeof(h->link));
	inj_kept_debug(source->path, h);
	if (tramp_code_new(&facts->facts, &code) != TRAMP_CODE_OK)
		return NULL;
	if (gather(&p, facts, code, source->threads, h))
		map = lay_out(&p, h);
	release(&p);
	tramp_code_free(code);
	if (!map)
		return NULL;
	if (is_same(source, h) && store(source, map, h))
		kept = inj_kept_open(source);
	if (!kept)
		return inj_kept_adopt(source, map, h->len);
	munmap(map, h->len);
	return kept;
}

static struct inj_kept *look(const struct inj_kept_source *source)
{
	struct inj_symtab *tab;
	struct inj_kept *kept = NULL;
	struct inj_kept_head h;
	struct inj_codefacts facts;

	if (!begin(source, &h) || inj_symtab_open(source->path, source->debug_file ? INJ_SYMTAB_DEBUG_FILE : 0, &tab) != INJ_OK)
		return NULL;
	if (inj_codefacts_read(source->path, tab, &facts) == INJ_OK) {
		facts.facts.threads = source->threads;
		kept = make(source, &facts, &h);
		inj_codefacts_free(&facts);
	}
	inj_symtab_close(tab);
	return kept;
}

/*
 * The byte of the folder's lock file that stands for the file.  Who has it may be stopped: after a while it is looked at all the same.
 * -1: no lock, or it could not be had.
 */
static int lock_file(const struct inj_kept_source *source)
{
	const struct timespec nap = { .tv_nsec = NAP };
	struct flock byte = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	char name[4096];
	int fd, error;

	if (!inj_kept_name(source, name, sizeof(name)))
		return -1;
	byte.l_start = (off_t)(strtoull(strrchr(name, '-') + 1, NULL, 16) >> 2);
	snprintf(strrchr(name, '/') + 1, 5, "lock");
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	for (int i = 0; fd >= 0 && i < NAPS; i++) {
		error = fcntl(fd, F_OFD_SETLK, &byte) < 0 ? errno : 0;
		if (error != EAGAIN && error != EACCES)
			break;
		nanosleep(&nap, NULL);
	}
	return fd;
}

struct inj_kept *inj_kept_look(const struct inj_kept_source *source)
{
	struct inj_kept *kept = inj_kept_open(source);
	int fd;

	if (kept)
		return kept;
	fd = lock_file(source);
	kept = fd >= 0 ? inj_kept_open(source) : NULL;
	if (!kept)
		kept = look(source);
	if (fd >= 0)
		close(fd);
	return kept;
}
