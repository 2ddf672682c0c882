// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injector/process/maps.h"
#include "injector/image/text.h"

#define MAX_TEXT (UINT64_C(256) << 20)

/* The file's own bytes, as long as they are what is mapped. */
static uint8_t *map_file(const struct inj_map *m)
{
	int fd = m->path[0] == '/' ? open(m->path, O_RDONLY | O_CLOEXEC) : -1;
	struct stat st;
	void *p = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_ino == m->inode &&
	    (uint64_t)st.st_size >= m->offset + (m->end - m->start))
		p = mmap(NULL, m->end - m->start, PROT_READ, MAP_PRIVATE, fd,
			 (off_t)m->offset);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

/* The last page of a file's mapping goes past the file's end. */
static uint8_t *read_memory(struct inj_session *s, const struct inj_map *m)
{
	size_t len = m->end - m->start;
	uint8_t *bytes = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (bytes == MAP_FAILED)
		return NULL;
	(void)inj_read_some(s->target, m->start, bytes, len);
	inj_edits_original(&s->edits, m->start, bytes, len);
	return bytes;
}

static enum inj_status map_code(struct inj_session *s, uint64_t addr, struct inj_text *text)
{
	struct inj_maps maps;
	enum inj_status status = inj_maps_read(s->target->pid, &maps);
	const struct inj_map *m;

	if (status != INJ_OK)
		return status;
	m = inj_maps_find(&maps, addr);
	if (m && m->executable && m->end - m->start <= MAX_TEXT) {
		text->bytes = map_file(m);
		text->from_file = text->bytes != NULL;
		if (!text->bytes)
			text->bytes = read_memory(s, m);
		status = text->bytes ? INJ_OK : INJ_MEMORY;
		text->code.addr = m->start;
		text->code.len = m->end - m->start;
		text->code.code = text->bytes;
	}
	inj_maps_free(&maps);
	return status;
}

/* ---- where functions are ---- */

static int by_start(const void *a, const void *b)
{
	const struct tramp_extent *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* From symbols, and from the unwind table: libraries are stripped of most of their symbols. */
struct tramp_extent *inj_text_functions(struct inj_session *s, size_t object, size_t *n)
{
	struct inj_object *o = &s->objects[object];
	const struct inj_symbol *syms = NULL;
	struct tramp_extent *v;
	size_t nsyms = 0, nunwind;

	if (inj_object_symbols(o))
		syms = inj_symtab_all(o->symtab, &nsyms);
	nunwind = inj_unwind_functions(s, o, nsyms, &v);
	if (!v)
		return NULL;
	for (size_t i = 0; i < nsyms; i++) {
		v[nunwind + i].addr = o->base + syms[i].addr;
		v[nunwind + i].size = syms[i].size;
	}
	*n = nunwind + nsyms;
	qsort(v, *n, sizeof(*v), by_start);
	return v;
}

enum inj_status inj_text_read(struct inj_session *s, uint64_t addr, struct inj_text *text)
{
	memset(text, 0, sizeof(*text));
	return map_code(s, addr, text);
}

void inj_text_free(struct inj_text *text)
{
	if (text->bytes)
		munmap(text->bytes, text->code.len);
	memset(text, 0, sizeof(*text));
}
