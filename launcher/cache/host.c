/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * This machine's caches, and which cores have them together, as the kernel tells: sysfs-devices-system-cpu in the kernel's
 * Documentation/ABI.  Processors that share the first cache are one core.  Where the kernel says nothing, the C library does, of a core alone.
 */
#include "launcher/cache/cache.h"
#include "launcher/common/caches.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX 4096

struct cpus {
	cpu_set_t set; /* those beyond CPU_SETSIZE are left out */
};

/* "0-3,8". */
static bool parse_list(const char *text, struct cpus *cpus)
{
	CPU_ZERO(&cpus->set);
	for (;; text++) {
		char *end;
		unsigned long from = strtoul(text, &end, 10), to = from;

		if (end == text)
			return false;
		if (*end == '-') {
			text = end + 1;
			to = strtoul(text, &end, 10);
			if (end == text)
				return false;
		}
		for (; from <= to && from < CPU_SETSIZE; from++)
			CPU_SET(from, &cpus->set);
		if (*end != ',')
			return !*end;
		text = end;
	}
}

struct level {
	unsigned int index;	/* the kernel's */
	char level[16], size[32], ways[32], line[32];
	unsigned int shared;	/* processors, then cores */
};

/* The data caches of the first processor. */
static unsigned int read_levels(const char *cpus, struct level v[static CACHE_CACHES])
{
	unsigned int n = 0;
	char type[32];

	for (unsigned int i = 0; n < CACHE_CACHES && caches_word(cpus, 0, i, "type", type, sizeof(type)); i++) {
		struct level *l = &v[n];

		l->index = i;
		if (strcmp(type, "Instruction") == 0 || !caches_word(cpus, 0, i, "level", l->level, sizeof(l->level)) ||
		    !caches_word(cpus, 0, i, "size", l->size, sizeof(l->size)) ||
		    !caches_word(cpus, 0, i, "coherency_line_size", l->line, sizeof(l->line)))
			continue;
		/* 0: fully associative; a virtual machine may leave it out */
		if (!caches_word(cpus, 0, i, "ways_of_associativity", l->ways, sizeof(l->ways)) || strcmp(l->ways, "0") == 0)
			strcpy(l->ways, "full");
		n++;
	}
	return n;
}

/* How many processors have a processor's cache together; 0: it is not said. */
static unsigned int count_sharing(const char *cpus, unsigned int cpu, unsigned int index)
{
	char text[LIST_MAX];
	struct cpus sharing;

	if (!caches_word(cpus, cpu, index, "shared_cpu_list", text, sizeof(text)) || !parse_list(text, &sharing))
		return 0;
	return (unsigned int)CPU_COUNT(&sharing.set);
}

/* How many processors there are, if all of them share their caches as the first one does; else 0. */
static unsigned int count_alike(const char *cpus, const struct level *v, unsigned int n)
{
	char path[256], text[LIST_MAX];
	struct cpus online;

	snprintf(path, sizeof(path), "%s/online", cpus);
	if (!caches_line(path, text, sizeof(text)) || !parse_list(text, &online))
		return 0;
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		for (unsigned int k = 0; k < n && CPU_ISSET(cpu, &online.set); k++)
			if (count_sharing(cpus, cpu, v[k].index) != v[k].shared)
				return 0;
	return (unsigned int)CPU_COUNT(&online.set);
}

/*
 * How many cores there are, all alike, and in v[].shared how many have each cache together: as many as a description may have.  0: they
 * are not alike, or cannot be described.
 */
static unsigned int find_cores(const char *cpus, struct level *v, unsigned int n)
{
	unsigned int cores, threads;

	for (unsigned int k = 0; k < n; k++) {
		v[k].shared = count_sharing(cpus, 0, v[k].index);
		if (!v[k].shared || strcmp(v[k].line, v[0].line) != 0 || (k && v[k].shared % v[k - 1].shared))
			return 0;
	}
	threads = v[0].shared;
	cores = count_alike(cpus, v, n) / threads;
	for (unsigned int k = 0; k < n; k++)
		v[k].shared /= threads;
	cores = cores < CACHE_CORES ? cores : CACHE_CORES;
	return cores - cores % v[n - 1].shared;
}

static char *describe(const char *source, const struct level *v, unsigned int n, unsigned int cores)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = n ? open_memstream(&text, &bytes) : NULL;

	if (!out)
		return NULL;
	fprintf(out, "name: host\nabout: this machine\nsource: %s\n", source);
	if (cores)
		fprintf(out, "cores: %u\n", cores);
	fputs("caches:\n", out);
	for (unsigned int k = 0; k < n; k++) {
		fprintf(out, "  - { name: L%s, size: %s, ways: %s, line: %s", v[k].level, v[k].size, v[k].ways, v[k].line);
		if (cores)
			fprintf(out, ", shared: %u", v[k].shared);
		fputs(" }\n", out);
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

char *host_describe(const char *cpus)
{
	struct level v[CACHE_CACHES] = { 0 };
	const unsigned int n = read_levels(cpus, v);

	return describe(cpus, v, n, n ? find_cores(cpus, v, n) : 0);
}

/* What the C library knows says nothing of cores. */
static char *describe_library(void)
{
	struct level v[CACHE_CACHES] = { 0 };
	struct caches_level l;
	unsigned int n = 0;

	for (; n < CACHE_CACHES && caches_library(n + 1, &l); n++) {
		snprintf(v[n].level, sizeof(v[n].level), "%u", n + 1);
		snprintf(v[n].size, sizeof(v[n].size), "%" PRIu64, l.bytes);
		snprintf(v[n].ways, sizeof(v[n].ways), "%" PRIu64, l.ways);
		snprintf(v[n].line, sizeof(v[n].line), "%" PRIu64, l.line);
	}
	return describe("the C library", v, n, 0);
}

char *host_here(void)
{
	char *text = host_describe(CACHES_CPUS);

	return text ? text : describe_library();
}
