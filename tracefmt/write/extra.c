/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "tracefmt/format.h"
#include "tracefmt/write/extra.h"
#include "tracefmt/write/writer-internal.h"

struct tf_extra *tf_writer_extra(struct tf_writer *w)
{
	return &w->extra;
}

struct tf_extra *tf_thread_extra(struct tf_thread *t)
{
	return &t->extra;
}

struct tf_writer *tf_thread_writer(const struct tf_thread *t)
{
	return t->w;
}

static void create(struct tf_writer *w, struct tf_extra_file *f, const char *name, const char *magic, uint32_t version,
		   int pid, int tid)
{
	uint8_t header[TF_HEADER_SIZE] = { 0 };

	f->tried = true;
	memcpy(header, magic, TF_MAGIC_SIZE);
	tf_put32(header + 8, version);
	tf_put32(header + 12, (uint32_t)pid);
	tf_put32(header + 16, (uint32_t)tid);
	tf_put32(header + 20, (uint32_t)w->rank);
	tf_put64(header + 24, w->id);
	tf_put64(header + 56, XXH64(header, 56, 0));
	if (tf_outfile_create(&f->file, w->dirfd, name) && tf_outfile_append(&f->file, header, sizeof header))
		return;
	tf_writer_failed(w, "create", name);
	f->broken = true;
}

void tf_writer_extra_file(struct tf_writer *w, struct tf_extra_file *f, const char *name, const char *magic,
			  uint32_t version)
{
	create(w, f, name, magic, version, 0, 0);
}

void tf_thread_extra_file(struct tf_thread *t, struct tf_extra_file *f, const char *ending, const char *magic,
			  uint32_t version)
{
	char name[sizeof t->out.file.name + 16];
	size_t n = strlen(t->out.file.name);

	if (!n)
		return;
	snprintf(name, sizeof name, "%.*s%s", n > 6 ? (int)n - 6 : 0, t->out.file.name, ending);
	create(t->w, f, name, magic, version, t->pid, t->tid);
}

bool tf_extra_append(struct tf_writer *w, struct tf_extra_file *f, const void *data, size_t n)
{
	if (tf_outfile_append(&f->file, data, n))
		return true;
	tf_writer_failed(w, "write", f->file.name);
	f->broken = true;
	return false;
}
