// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/array.h"
#include "base/path.h"
#include "injector/signatures/signatures.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	char **folders;
	char *cache;
	void (*complain)(const char *path, const char *problem);
	bool listed, read;
	char **paths;		/* of files that look like some */
	size_t npaths, paths_room;
	struct inj_sig_file *files;
	size_t n, room;
	uint64_t key;
} set;

static void free_all(char **v)
{
	for (char **s = v; s && *s; s++)
		free(*s);
	free(v);
}

static char **copy_of(const char *const *folders)
{
	size_t n = 0;
	char **copy;

	while (folders[n])
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++)
		if (!(copy[i] = strdup(folders[i]))) {
			free_all(copy);
			return NULL;
		}
	return copy;
}

bool inj_signatures_use(const struct inj_signatures_where *where)
{
	char **folders = copy_of(where->folders), *cache = where->cache ? strdup(where->cache) : NULL;
	bool good = folders && (cache || !where->cache);

	pthread_mutex_lock(&lock);
	if (good && !set.listed) {
		free_all(set.folders);
		free(set.cache);
		set.folders = folders;
		set.cache = cache;
		set.complain = where->complain;
		folders = NULL;
		cache = NULL;
	}
	pthread_mutex_unlock(&lock);
	free_all(folders);
	free(cache);
	return good;
}

/* ---- which there are ---- */

static bool is_wanted(const char *name)
{
	size_t len = strlen(name), end = strlen(SIG_SUFFIX);

	if (len <= end || name[0] == '.' || strcmp(name + len - end, SIG_SUFFIX) != 0)
		return false;
	for (size_t i = 0; i < set.npaths; i++)
		if (strcmp(path_basename(set.paths[i]), name) == 0)
			return false;
	return true;
}

/* Its checksum is in its head. */
static void note_file(const char *path)
{
	const char *problem;
	uint64_t sum;
	char *copy;

	if (!inj_sig_sum(path, &sum, &problem)) {
		if (set.complain)
			set.complain(path, problem);
		return;
	}
	copy = array_room(set.paths, set.paths_room, set.npaths + 1) ? strdup(path) : NULL;
	if (!copy)
		return;
	set.paths[set.npaths++] = copy;
	set.key = XXH3_64bits_withSeed(&sum, sizeof(sum), set.key + 1);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	char **names = NULL;
	size_t n = 0, room = 0;
	struct dirent *e;
	char path[4096];

	if (!dir && errno == ENOTDIR)
		note_file(folder);
	while (dir && (e = readdir(dir)))
		if (is_wanted(e->d_name) && array_room(names, room, n + 1) && (names[n] = strdup(e->d_name)))
			n++;
	if (n)
		qsort(names, n, sizeof(*names), by_name);
	for (size_t i = 0; i < n; i++) {
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, names[i]) < sizeof(path))
			note_file(path);
		free(names[i]);
	}
	free(names);
	if (dir)
		closedir(dir);
}

/* With the lock. */
static void list_all(void)
{
	for (char **f = set.folders; f && *f && !set.listed; f++)
		list_folder(*f);
	set.listed = true;
}

uint64_t inj_signatures_key(void)
{
	uint64_t key;

	pthread_mutex_lock(&lock);
	list_all();
	key = set.key;
	pthread_mutex_unlock(&lock);
	return key;
}

const char *inj_signatures_cache(void)
{
	(void)inj_signatures_key(); /* from now on it stays */
	return set.cache;
}

/* ---- reading them ---- */

static void read_file(const char *path)
{
	struct inj_sig_file file = { 0 };
	const char *problem;

	if (!inj_sig_open(&file, path, &problem)) {
		if (set.complain)
			set.complain(path, problem);
		inj_sig_close(&file);
	} else if (array_room(set.files, set.room, set.n + 1)) {
		set.files[set.n++] = file;
	} else {
		inj_sig_close(&file);
	}
}

const struct inj_sig_file *inj_signatures(size_t *n)
{
	pthread_mutex_lock(&lock);
	list_all();
	for (size_t i = 0; i < set.npaths && !set.read; i++)
		read_file(set.paths[i]);
	set.read = true;
	pthread_mutex_unlock(&lock);
	*n = set.n;
	return set.files;
}
