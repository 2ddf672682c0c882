// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/search.h"
#include "injector/process/maps.h"
#include "injector/process/procpath.h"

#define PAGE UINT64_C(4096)
#define REACH (UINT64_C(1) << 31)
#define SLACK (UINT64_C(1) << 20)	  /* for what lies around a jump and its target */
#define LOWEST UINT64_C(0x10000)	  /* vm.mmap_min_addr */
#define HIGHEST UINT64_C(0x7ffffffff000)
#define STACK_ROOM (UINT64_C(64) << 20)	  /* below a stack, at least */
#define HEAP_ROOM (UINT64_C(1) << 30)	  /* above an executable's data, if it can be had */

static bool parse_line(const char *line, struct inj_map *m)
{
	char perms[5];
	int at = 0;

	memset(m, 0, sizeof(*m));
	if (sscanf(line, "%lx-%lx %4s %lx %*s %lu %n", &m->start, &m->end, perms, &m->offset,
		   &m->inode, &at) < 5)
		return false;
	m->readable = perms[0] == 'r';
	m->writable = perms[1] == 'w';
	m->executable = perms[2] == 'x';
	m->shared = perms[3] == 's';
	if (at > 0)
		snprintf(m->path, sizeof(m->path), "%.*s", (int)strcspn(line + at, "\n"),
			 line + at);
	m->grows = strncmp(m->path, "[stack", 6) == 0;
	return true;
}

enum inj_status inj_maps_read(pid_t pid, struct inj_maps *maps)
{
	char path[INJ_PROC_PATH], *line = NULL;
	enum inj_status status = INJ_OK;
	size_t size = 0;
	struct inj_map m;
	FILE *f;

	*maps = (struct inj_maps){ 0 };
	inj_proc_path(path, pid, "maps");
	f = fopen(path, "re");
	if (!f)
		return errno == ENOENT || errno == ESRCH ? INJ_GONE : INJ_SYSTEM;
	while (status == INJ_OK && getline(&line, &size, f) > 0) {
		if (!parse_line(line, &m))
			continue;
		status = array_room(maps->v, maps->room, maps->n + 1) ? INJ_OK : INJ_MEMORY;
		if (status == INJ_OK)
			maps->v[maps->n++] = m;
	}
	free(line);
	fclose(f);
	if (status == INJ_OK && maps->n == 0)
		status = INJ_GONE; /* dead, but not waited for: it has no memory any more */
	if (status != INJ_OK)
		inj_maps_free(maps);
	return status;
}

enum inj_status inj_maps_add(struct inj_maps *maps, uint64_t start, uint64_t len)
{
	size_t at = search_first(i, maps->n, maps->v[i].start >= start);

	if (!array_room(maps->v, maps->room, maps->n + 1))
		return INJ_MEMORY;
	memmove(&maps->v[at + 1], &maps->v[at], (maps->n - at) * sizeof(*maps->v));
	maps->n++;
	maps->v[at] = (struct inj_map){ .start = start, .end = start + len };
	return INJ_OK;
}

void inj_maps_free(struct inj_maps *maps)
{
	free(maps->v);
	*maps = (struct inj_maps){ 0 };
}

const struct inj_map *inj_maps_find(const struct inj_maps *maps, uint64_t addr)
{
	size_t at = search_first(i, maps->n, maps->v[i].end > addr);

	return at < maps->n && addr >= maps->v[at].start ? &maps->v[at] : NULL;
}

struct gap_search {
	uint64_t lo, hi, len;
	uint64_t least, most; /* the range may lie in [least, most) */
	uint64_t below, above;
};

static void try_gap(struct gap_search *g, uint64_t start, uint64_t end, bool under_stack)
{
	if (under_stack)
		end = end > STACK_ROOM ? end - STACK_ROOM : 0;
	start = start < g->least ? g->least : start;
	end = end > g->most ? g->most : end;
	if (start >= end || end - start < g->len)
		return;
	if (end <= g->lo + PAGE) {
		g->below = end - g->len; /* gaps come in ascending order: the last is the nearest */
	} else if (start >= g->hi && !g->above) {
		uint64_t roomy = start + HEAP_ROOM;

		g->above = roomy + g->len <= end ? roomy : end - g->len;
	}
}

uint64_t inj_maps_gap(const struct inj_maps *maps, uint64_t lo, uint64_t hi, uint64_t len)
{
	struct gap_search g = { .lo = lo, .hi = hi, .len = len };
	uint64_t at = LOWEST;

	g.least = hi > REACH - SLACK ? hi - (REACH - SLACK) : 0;
	g.most = lo + (REACH - SLACK);
	g.least = g.least < LOWEST ? LOWEST : (g.least + PAGE - 1) & ~(PAGE - 1);
	g.most = g.most > HIGHEST ? HIGHEST : g.most & ~(PAGE - 1);
	for (size_t i = 0; i < maps->n; i++) {
		if (maps->v[i].start > at)
			try_gap(&g, at, maps->v[i].start, maps->v[i].grows);
		at = maps->v[i].end > at ? maps->v[i].end : at;
	}
	try_gap(&g, at, HIGHEST, false);
	return g.below ? g.below : g.above;
}

uint64_t inj_auxv(pid_t pid, uint64_t type)
{
	enum { MOST = 64 }; /* the kernel has about 20 */
	uint64_t v[2 * MOST], value = 0;
	char path[INJ_PROC_PATH];
	ssize_t n;
	int fd;

	inj_proc_path(path, pid, "auxv");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, v, sizeof(v));
	close(fd);
	for (ssize_t i = 0; (i + 2) * (ssize_t)sizeof(*v) <= n && v[i] != AT_NULL; i += 2) {
		if (v[i] == type) {
			value = v[i + 1];
			break;
		}
	}
	return value;
}
