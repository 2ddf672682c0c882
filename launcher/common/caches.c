/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/common/caches.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST (UINT64_C(1) << 40)

/* Bytes; *@end: what follows.  0: it is no size. */
static uint64_t parse_size(const char *text, const char **end)
{
	static const char units[] = "KMG";
	uint64_t v = 0;
	const char *unit;

	for (; *text >= '0' && *text <= '9' && v < MOST; text++)
		v = 10 * v + (uint64_t)(*text - '0');
	unit = *text ? strchr(units, *text) : NULL;
	if (unit)
		text++;
	*end = text;
	for (ptrdiff_t k = unit ? unit - units + 1 : 0; k > 0 && v < MOST; k--)
		v *= 1024;
	return v <= MOST ? v : 0;
}

struct caches caches_from(const uint64_t *bytes)
{
	struct caches c = { 0 };

	for (unsigned int i = 0; i < CACHES_MAX && bytes[i]; i++) {
		if (bytes[i] > MOST || bytes[i] < (i ? bytes[i - 1] + CACHES_LINE : CACHES_LINE))
			return (struct caches){ 0 };
		c.bytes[i] = bytes[i];
	}
	return c;
}

bool caches_parse(const char *text, struct caches *c)
{
	uint64_t bytes[CACHES_MAX] = { 0 };
	unsigned int n = 0;

	do {
		text += n > 0;
		if (n == CACHES_MAX)
			return false;
		bytes[n++] = parse_size(text, &text);
	} while (*text == ',');
	*c = caches_from(bytes);
	return !*text && c->bytes[n - 1];
}

bool cache_sets_parse(const char *text, uint64_t *one_in)
{
	static const char *const words[] = { "1/2", "1/4", "1/8", "1/16", "1/32", "1/64" };

	for (unsigned int i = 0; i < sizeof(words) / sizeof(*words); i++) {
		*one_in = UINT64_C(2) << i;
		if (strcmp(text, words[i]) == 0)
			return true;
	}
	return false;
}

/* ---- the kernel: sysfs-devices-system-cpu in its Documentation/ABI ---- */

bool caches_line(const char *path, char *text, size_t room)
{
	FILE *f = fopen(path, "re");
	bool good = f && fgets(text, (int)room, f);

	if (f)
		fclose(f);
	if (!good)
		return false;
	/* what does not fit has no end */
	good = strlen(text) + 1 < room || text[room - 2] == '\n';
	text[strcspn(text, "\n")] = '\0';
	return good && *text;
}

bool caches_word(const char *cpus, unsigned int cpu, unsigned int index, const char *name, char *word, size_t room)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/cpu%u/cache/index%u/%s", cpus, cpu, index, name);
	return caches_line(path, word, room);
}

bool caches_library(unsigned int level, struct caches_level *l)
{
	static const int names[][3] = {
		{ _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL1_DCACHE_ASSOC, _SC_LEVEL1_DCACHE_LINESIZE },
		{ _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL2_CACHE_ASSOC, _SC_LEVEL2_CACHE_LINESIZE },
		{ _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL3_CACHE_ASSOC, _SC_LEVEL3_CACHE_LINESIZE },
	};
	long v[3];

	if (!level || level > sizeof(names) / sizeof(*names))
		return false;
	for (unsigned int i = 0; i < 3; i++) {
		v[i] = sysconf(names[level - 1][i]);
		if (v[i] <= 0)
			return false;
	}
	*l = (struct caches_level){ (uint64_t)v[0], (uint64_t)v[1], (uint64_t)v[2] };
	return !(l->line & (l->line - 1)) && l->bytes <= MOST && l->bytes % (l->ways * l->line) == 0;
}

/* Up to the first level that is not known. */
static struct caches ask_library(void)
{
	uint64_t bytes[CACHES_MAX] = { 0 };
	struct caches_level l;

	for (unsigned int i = 0; i < CACHES_MAX && caches_library(i + 1, &l); i++)
		bytes[i] = l.bytes;
	return caches_from(bytes);
}

static struct caches read_caches(void)
{
	uint64_t bytes[CACHES_MAX] = { 0 };
	char type[32], level[32], size[32];
	const char *end;

	for (unsigned int i = 0; caches_word(CACHES_CPUS, 0, i, "type", type, sizeof(type)); i++) {
		unsigned long at;

		if (strcmp(type, "Instruction") == 0 || !caches_word(CACHES_CPUS, 0, i, "level", level, sizeof(level)) ||
		    !caches_word(CACHES_CPUS, 0, i, "size", size, sizeof(size)))
			continue;
		at = strtoul(level, NULL, 10);
		if (at >= 1 && at <= CACHES_MAX)
			bytes[at - 1] = parse_size(size, &end);
	}
	return caches_from(bytes);
}

static struct caches here;

static void read_here(void)
{
	here = read_caches();
	if (!here.bytes[0])
		here = ask_library();
}

struct caches caches_here(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_here);
	return here;
}
