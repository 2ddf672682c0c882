// SPDX-License-Identifier: GPL-3.0-or-later
/* `sonde dump --mem`: memory accesses, one thread after the other. */
#include "launcher/dump.h"
#include "launcher/memread.h"
#include "launcher/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *kind_name(uint8_t kind)
{
	static const char *const names[] = { "load", "store", "modify", "prefetch" };
	unsigned int k = kind & MD_KIND;

	return k < sizeof(names) / sizeof(names[0]) ? names[k] : "?";
}

static void put_place(struct tf_buf *line, const struct memread *r, uint64_t insn)
{
	char text[32];
	uint64_t addr;
	const char *path = memread_place(r, insn, &addr);
	const char *name = path ? strrchr(path, '/') : NULL;

	if (!path) {
		snprintf(text, sizeof text, "0x%" PRIx64, insn);
		tf_buf_str(line, text);
		return;
	}
	dump_put_name(line, name ? name + 1 : path);
	snprintf(text, sizeof text, "+0x%" PRIx64, addr);
	tf_buf_str(line, text);
}

static bool put_access(struct tf_buf *line, const struct memread *r,
		       const struct tf_memory_thread *thread, const struct mx_access *a)
{
	char text[128];

	tf_buf_clear(line);
	snprintf(text, sizeof text, "%d.%d %-8s %5" PRIu32 " 0x%016" PRIx64 "%s ", thread->pid,
		 thread->tid, kind_name(a->kind), a->size, a->addr,
		 a->kind & MD_STACK ? " stack" : "");
	tf_buf_str(line, text);
	put_place(line, r, a->insn);
	tf_buf_byte(line, '\n');
	return !line->failed && fwrite(line->data, 1, line->size, stdout) == line->size;
}

static int dump_thread(struct tf_buf *line, struct memread *r, size_t i,
		       const struct tf_memory_thread *thread)
{
	struct memread_thread *t = memread_start(r, i);
	const struct mx_access *v;
	uint64_t gaps = 0;
	bool good = true;
	size_t n;

	if (!t)
		return EXIT_USAGE;
	while (good && (n = memread_next(t, &v, &gaps)))
		for (size_t k = 0; k < n && good; k++)
			good = put_access(line, r, thread, &v[k]);
	if (gaps)
		msg_warn("thread %d.%d: %" PRIu64 " parts of its memory accesses are missing",
			 thread->pid, thread->tid, gaps);
	memread_stop(t);
	return good ? 0 : EXIT_USAGE; /* main() says that stdout failed */
}

int dump_memory(const char *dir)
{
	struct tf_memory_thread thread;
	struct tf_buf line = { 0 };
	struct memread *r;
	bool none;
	int result = 0;

	r = memread_open(dir, &none);
	if (none)
		msg_error("%s: no memory accesses were recorded; sonde record --mem does", dir);
	if (!r)
		return EXIT_USAGE;
	for (size_t i = 0; !result && memread_thread(r, i, &thread); i++)
		result = dump_thread(&line, r, i, &thread);
	tf_buf_free(&line);
	memread_close(r);
	return result;
}
