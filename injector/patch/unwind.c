// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Where the unwind tables of the program's files are in its memory, for the runtime, which reads stacks by them.  The list only grows, but for
 * files that are gone: threads read it meanwhile.
 */
#include "config.h"

#include "injector/image/elffile.h"
#include "injector/patch/session.h"

/* Code from the first segment's to the last one's. */
static void cover_code(const struct inj_elf *file, uint64_t base, struct rt_unwind_file *f)
{
	for (size_t i = 0; i < file->nsegs; i++) {
		const struct inj_elf_segment *seg = &file->segs[i];

		if (!(seg->flags & PF_X))
			continue;
		f->begin = f->end ? f->begin : base + seg->addr;
		f->end = base + seg->addr + seg->len;
	}
}

/* The header, and the segment that it is in. */
static bool find_header(const struct inj_elf *file, uint64_t base, struct rt_unwind_file *f)
{
	for (size_t i = 0; i < file->nsegs && file->eh_frame_hdr_size; i++) {
		const struct inj_elf_segment *seg = &file->segs[i];

		if (!(seg->flags & PF_R) || file->eh_frame_hdr_size > seg->len || file->eh_frame_hdr - seg->addr > seg->len - file->eh_frame_hdr_size)
			continue;
		f->tables = base + seg->addr;
		f->tables_end = f->tables + seg->len;
		f->header = base + file->eh_frame_hdr;
		f->header_end = f->header + file->eh_frame_hdr_size;
	}
	return f->header;
}

/* As GCC links static programs. */
static bool find_section(const struct inj_elf *file, uint64_t base, struct rt_unwind_file *f)
{
	const struct inj_elf_section *sec = inj_elf_section(file, ".eh_frame");

	if (!sec || !(sec->flags & SHF_ALLOC) || !inj_elf_get(file, sec->addr, sec->size))
		return false;
	f->tables = base + sec->addr;
	f->tables_end = f->tables + sec->size;
	return true;
}

static bool find_tables(const struct inj_elf *file, uint64_t base, struct rt_unwind_file *f)
{
	*f = (struct rt_unwind_file){ 0 };
	cover_code(file, base, f);
	return f->end && (find_header(file, base, f) || find_section(file, base, f));
}

/* One that we have mapped. */
static bool find_ours(const struct inj_module *m, struct rt_unwind_file *f)
{
	const uint64_t end = m->base + m->image.size, header = m->base + m->image.eh_frame_hdr;

	*f = (struct rt_unwind_file){ m->base, end, m->base, end, header, header + m->image.eh_frame_hdr_size };
	return m->image.eh_frame_hdr_size;
}

static bool is_same(const struct rt_unwind_file *a, const struct rt_unwind_file *b)
{
	return a->begin == b->begin && a->tables == b->tables && a->header == b->header && a->header_end == b->header_end && a->tables_end == b->tables_end;
}

static void add(struct rt_unwind *u, const struct rt_unwind_file *f)
{
	uint64_t n = u->n;

	for (uint64_t i = 0; i < n; i++)
		if (is_same(&u->v[i], f)) {
			__atomic_store_n(&u->v[i].end, f->end, __ATOMIC_RELEASE);
			return;
		}
	if (n == RT_UNWIND_FILES)
		return;
	u->v[n] = *f;
	__atomic_store_n(&u->n, n + 1, __ATOMIC_RELEASE);
}

static void add_object(struct inj_session *s, struct inj_object *o)
{
	struct rt_unwind_file f;
	struct inj_elf file;

	if (inj_elf_open(o->path, &file) != INJ_OK)
		return;
	if (find_tables(&file, o->base, &f)) {
		o->unwind = f.tables;
		add(s->unwind, &f);
	}
	inj_elf_close(&file);
}

static void drop(struct rt_unwind *u, uint64_t tables)
{
	for (uint64_t i = 0; i < u->n; i++)
		if (u->v[i].tables == tables)
			__atomic_store_n(&u->v[i].end, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&u->serial, u->serial + 1, __ATOMIC_RELEASE);
}

/* Of those that are gone first: others may be where they were. */
static void add_all(struct inj_session *s)
{
	struct rt_unwind_file f;

	for (size_t i = 0; i < s->nobjects; i++) {
		if (s->objects[i].path[0] || !s->objects[i].unwind)
			continue;
		drop(s->unwind, s->objects[i].unwind);
		s->objects[i].unwind = 0;
	}
	for (size_t i = 0; i < s->nobjects; i++)
		if (s->objects[i].path[0] && !s->objects[i].unwind)
			add_object(s, &s->objects[i]);
	for (size_t i = 0; i < s->nmodules; i++)
		if (s->modules[i].ours && s->modules[i].active && find_ours(&s->modules[i], &f))
			add(s->unwind, &f);
}

enum inj_status inj_unwind_files(struct inj_session *s)
{
	enum inj_status status = INJ_OK;
	uint8_t *mem;

	if (s->opt.frames < 2)
		return INJ_OK;
	if (!s->unwind) {
		status = inj_code_alloc_pages(&s->code, s->target, sizeof(*s->unwind), &s->config.unwind, &mem);
		if (status != INJ_OK)
			return status;
		s->unwind = (struct rt_unwind *)(void *)mem;
		status = inj_write(s->target, s->rt_config, &s->config, sizeof(s->config));
	}
	add_all(s);
	if (status == INJ_OK)
		status = inj_write(s->target, s->rt_api + offsetof(struct sonde_api, frames), &s->opt.frames, sizeof(s->opt.frames));
	return status;
}
