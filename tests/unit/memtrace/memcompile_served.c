// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/memtrace/memcompile_served.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *map(int fd, off_t at, size_t bytes, int how)
{
	void *p = mmap(NULL, bytes, how, MAP_SHARED | MAP_NORESERVE, fd, at);

	if (p == MAP_FAILED)
		err(1, "mmap");
	return p;
}

static bool prepare(struct mt_runner *r, enum mt_mode mode)
{
	const struct served *s = (const struct served *)r;

	r->gates = s->head->gates;
	r->tables[mode] = mt_table(s->head);
	r->ids = s->head->ids;
	return r->ids && mode == s->head->mode;
}

/* As another process would, in between. */
static bool warm(struct mt_runner *r, enum mt_mode mode, uint32_t id, const struct mt_node *node)
{
	struct served *s = (struct served *)r;

	(void)mode;
	(void)node;
	if (s->asks->heat[id] < MT_HOT)
		s->asks->heat[id] = MT_HOT;
	mt_warm(s->asks, id);
	return r->interpreted % 3 == 0 && mt_serve(s->server);
}

static void nothing(struct mt_engine *engine)
{
	(void)engine;
}

struct served *served_begin(struct mt_code *reader, struct mt_code *code, bool counts)
{
	struct served *s = calloc(1, sizeof(*s));
	int fd = memfd_create("served", MFD_CLOEXEC);

	if (!s || fd < 0 || ftruncate(fd, MT_BYTES) < 0)
		err(1, "memory");
	s->written = map(fd, 0, MT_BYTES, PROT_READ | PROT_WRITE);
	s->head = map(fd, 0, MT_CODE, PROT_READ);
	s->run = map(fd, MT_CODE, MT_CODE_BYTES, PROT_READ | PROT_EXEC);
	s->asks = map(fd, MT_ASKS, MT_ASKS_BYTES, PROT_READ | PROT_WRITE);
	close(fd);
	s->code = code;
	s->server = mt_serve_begin(code, s->written, counts, (uint64_t)(uintptr_t)s->run);
	if (!s->server)
		err(1, "memory");
	s->runner = (struct mt_runner){
		.engine = { .run = mt_run, .free = nothing }, .prepare = prepare, .warm = warm,
	};
	reader->engine = &s->runner.engine;
	served_objects(s);
	return s;
}

void served_objects(struct served *s)
{
	mt_serve_objects(s->server);
}

void served_end(struct served *s)
{
	mt_serve_end(s->server);
	mt_code_free(s->code);
	munmap(s->written, MT_BYTES);
	munmap((void *)(uintptr_t)s->head, MT_CODE);
	munmap(s->run, MT_CODE_BYTES);
	munmap(s->asks, MT_ASKS_BYTES);
	free(s);
}
