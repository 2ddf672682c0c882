// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/search.h"
#include "injector/facts/known.h"

/* Of files that nobody wants now: */
#define MAX_KEPT 64
#define MAX_KEPT_SYMBOLS 300000

struct inj_known {
	struct inj_known *next;
	struct stat file;
	unsigned int users;
	uint64_t left; /* when the last one did: a count */
	struct {
		bool read;
		struct inj_symtab *tab;
	} symbols[2]; /* without those of a debug file, with them */
	struct known_code {
		bool read, busy;
		struct inj_kept *kept;
	} code[2]; /* likewise */
	bool identified, identifiable;
	struct inj_identity identity;
	struct inj_image image; /* as in the file; all zero: not read */
	struct inj_known_plan *plans; /* ascending */
	size_t nplans, plan_room;
	bool scanned;
	struct inj_known_exec *execs;
	size_t nexecs;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t looked = PTHREAD_COND_INITIALIZER;
static struct inj_known *all;
static uint64_t departures;

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_file(const struct inj_known *k, const struct stat *st)
{
	return k->file.st_ino == st->st_ino && k->file.st_dev == st->st_dev && k->file.st_size == st->st_size &&
	       same_time(&k->file.st_mtim, &st->st_mtim) && same_time(&k->file.st_ctim, &st->st_ctim);
}

static size_t symbols_of(const struct inj_known *k)
{
	size_t n, sum = 0;

	for (int i = 0; i < 2; i++) {
		if (k->symbols[i].tab) {
			(void)inj_symtab_all(k->symbols[i].tab, &n);
			sum += n;
		}
	}
	return sum;
}

static void forget(struct inj_known *k)
{
	struct inj_known **at = &all;

	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
	inj_symtab_close(k->symbols[0].tab);
	inj_symtab_close(k->symbols[1].tab);
	inj_kept_free(k->code[0].kept);
	inj_kept_free(k->code[1].kept);
	inj_image_close(&k->image);
	free(k->plans);
	free(k->execs);
	free(k);
}

/* The one that was left first; NULL: there is room for all. */
static struct inj_known *superfluous(void)
{
	struct inj_known *oldest = NULL;
	size_t n = 0, symbols = 0;

	for (struct inj_known *k = all; k; k = k->next) {
		if (k->users)
			continue;
		n++;
		symbols += symbols_of(k);
		if (!oldest || k->left < oldest->left)
			oldest = k;
	}
	return n > MAX_KEPT || symbols > MAX_KEPT_SYMBOLS ? oldest : NULL;
}

struct inj_known *inj_known_file(const char *path)
{
	struct inj_known *k;
	struct stat st;

	if (stat(path, &st) < 0)
		return NULL;
	pthread_mutex_lock(&lock);
	for (k = all; k && !is_file(k, &st);)
		k = k->next;
	if (!k && (k = calloc(1, sizeof(*k)))) {
		k->file = st;
		k->next = all;
		all = k;
	}
	if (k)
		k->users++;
	pthread_mutex_unlock(&lock);
	return k;
}

void inj_known_leave(struct inj_known *k)
{
	struct inj_known *old;

	if (!k)
		return;
	pthread_mutex_lock(&lock);
	k->left = ++departures;
	k->users--;
	while ((old = superfluous()))
		forget(old);
	pthread_mutex_unlock(&lock);
}

/* What was read may be of a file that has been written meanwhile: it is for those who want it now, and nobody else. */
static void look_again(struct inj_known *k, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || !is_file(k, &st))
		k->file = (struct stat){ .st_size = -1 };
}

struct inj_symtab *inj_known_symbols(struct inj_known *k, const char *path, bool debug_file)
{
	struct inj_symtab *tab;

	pthread_mutex_lock(&lock);
	if (!k->symbols[debug_file].read) {
		k->symbols[debug_file].read = true;
		if (inj_symtab_open(path, debug_file ? INJ_SYMTAB_DEBUG_FILE : 0, &k->symbols[debug_file].tab) != INJ_OK)
			k->symbols[debug_file].tab = NULL;
		look_again(k, path);
	}
	tab = k->symbols[debug_file].tab;
	pthread_mutex_unlock(&lock);
	return tab;
}

/* It may take seconds, and other files are looked at meanwhile. */
struct inj_kept *inj_known_code(struct inj_known *k, const struct inj_kept_source *source)
{
	struct known_code *c = &k->code[source->debug_file];
	struct inj_kept *kept;

	pthread_mutex_lock(&lock);
	while (c->busy)
		pthread_cond_wait(&looked, &lock);
	if (!c->read) {
		c->busy = true;
		pthread_mutex_unlock(&lock);
		kept = inj_kept_look(source);
		pthread_mutex_lock(&lock);
		c->kept = kept;
		c->read = true;
		c->busy = false;
		look_again(k, source->path);
		pthread_cond_broadcast(&looked);
	}
	kept = c->kept;
	pthread_mutex_unlock(&lock);
	return kept;
}

bool inj_known_identity(struct inj_known *k, const char *path, struct inj_identity *id)
{
	bool known;

	pthread_mutex_lock(&lock);
	if (!k->identified) {
		k->identified = true;
		k->identifiable = inj_identity_read(path, &k->identity) == INJ_OK;
		look_again(k, path);
	}
	known = k->identifiable;
	*id = k->identity;
	pthread_mutex_unlock(&lock);
	return known;
}

enum inj_image_status inj_known_image(struct inj_known *k, const char *path, struct inj_image *img)
{
	enum inj_image_status status = INJ_IMAGE_OK;

	*img = (struct inj_image){ 0 };
	pthread_mutex_lock(&lock);
	if (!k->image.mem) {
		status = inj_image_open(path, &k->image);
		look_again(k, path);
	}
	if (status == INJ_IMAGE_OK)
		status = inj_image_copy(&k->image, img);
	pthread_mutex_unlock(&lock);
	return status;
}

static size_t place_of(const struct inj_known *k, uint64_t addr)
{
	return search_first(i, k->nplans, k->plans[i].facts.addr >= addr);
}

bool inj_known_plan(struct inj_known *k, uint64_t addr, struct inj_known_plan *plan)
{
	bool known;
	size_t at;

	pthread_mutex_lock(&lock);
	at = place_of(k, addr);
	known = at < k->nplans && k->plans[at].facts.addr == addr;
	if (known)
		*plan = k->plans[at];
	pthread_mutex_unlock(&lock);
	return known;
}

void inj_known_keep_plan(struct inj_known *k, const struct inj_known_plan *plan)
{
	size_t at;

	pthread_mutex_lock(&lock);
	at = place_of(k, plan->facts.addr);
	if ((at == k->nplans || k->plans[at].facts.addr != plan->facts.addr) &&
	    array_room(k->plans, k->plan_room, k->nplans + 1)) {
		memmove(&k->plans[at + 1], &k->plans[at], (k->nplans - at) * sizeof(*k->plans));
		k->plans[at] = *plan;
		k->nplans++;
	}
	pthread_mutex_unlock(&lock);
}

const struct inj_known_exec *inj_known_execs(struct inj_known *k, const char *path,
					     struct inj_known_exec *(*scan)(const struct inj_elf *file, size_t *n), size_t *n)
{
	struct inj_elf file;

	pthread_mutex_lock(&lock);
	if (!k->scanned && inj_elf_open(path, &file) == INJ_OK) {
		k->scanned = true;
		k->execs = scan(&file, &k->nexecs);
		inj_elf_close(&file);
		look_again(k, path);
	}
	*n = k->nexecs;
	pthread_mutex_unlock(&lock);
	return k->execs;
}
