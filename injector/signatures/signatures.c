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
#include "injector/signatures/signatures.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	char **folders;
	void (*complain)(const char *path, const char *problem);
	bool read;
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

bool inj_signatures_use(const char *const *folders, void (*complain)(const char *path, const char *problem))
{
	size_t n = 0;
	char **copy;

	while (folders[n])
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++)
		if (!(copy[i] = strdup(folders[i]))) {
			free_all(copy);
			return false;
		}
	pthread_mutex_lock(&lock);
	free_all(set.read ? copy : set.folders);
	if (!set.read) {
		set.folders = copy;
		set.complain = complain;
	}
	pthread_mutex_unlock(&lock);
	return copy != NULL;
}

static bool is_wanted(const char *name)
{
	size_t len = strlen(name), end = strlen(SIG_SUFFIX);

	if (len <= end || name[0] == '.' || strcmp(name + len - end, SIG_SUFFIX) != 0)
		return false;
	for (size_t i = 0; i < set.n; i++)
		if (strcmp(set.files[i].name, name) == 0)
			return false;
	return true;
}

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

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void read_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	char **names = NULL;
	size_t n = 0, room = 0;
	struct dirent *e;
	char path[4096];

	if (!dir && errno == ENOTDIR)
		read_file(folder);
	while (dir && (e = readdir(dir)))
		if (is_wanted(e->d_name) && array_room(names, room, n + 1) && (names[n] = strdup(e->d_name)))
			n++;
	if (n)
		qsort(names, n, sizeof(*names), by_name);
	for (size_t i = 0; i < n; i++) {
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, names[i]) < sizeof(path))
			read_file(path);
		free(names[i]);
	}
	free(names);
	if (dir)
		closedir(dir);
}

static void read_all(void)
{
	for (char **f = set.folders; f && *f; f++)
		read_folder(*f);
	for (size_t i = 0; i < set.n; i++)
		set.key = XXH3_64bits_withSeed(&set.files[i].head->sum, sizeof(uint64_t), set.key + 1);
	set.read = true;
}

const struct inj_sig_file *inj_signatures(size_t *n)
{
	pthread_mutex_lock(&lock);
	if (!set.read)
		read_all();
	pthread_mutex_unlock(&lock);
	*n = set.n;
	return set.files;
}

uint64_t inj_signatures_key(void)
{
	size_t n;

	(void)inj_signatures(&n);
	return set.key;
}
