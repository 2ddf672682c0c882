/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>
#include <sys/mman.h>

#include "memtrace/pack/window.h"

bool tf_window_open(struct tf_window *w, unsigned int log, uint64_t position)
{
	size_t bytes;
	void *at;

	*w = (struct tf_window){ .log = log, .begin = position, .end = position };
	if (log < TF_WINDOW_MIN || log > TF_WINDOW_MAX)
		return false;
	bytes = (size_t)1 << log;
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return false;
	madvise(at, bytes, MADV_HUGEPAGE);	/* copies come from all over it */
	w->words = at;
	return true;
}

void tf_window_close(struct tf_window *w)
{
	if (w->words)
		munmap(w->words, (size_t)1 << w->log);
	*w = (struct tf_window){ 0 };
}

/* So many words at the end of it. */
static void put(struct tf_window *w, const uint8_t *from, size_t n)
{
	size_t size = tf_window_size(w), at = w->end & (size - 1);
	size_t first = n < size - at ? n : size - at;

	memcpy(w->words + at, from, 4 * first);
	memcpy(w->words, from + 4 * first, 4 * (n - first));
}

/* What is too old is gone. */
static void move_on(struct tf_window *w, uint64_t end)
{
	uint64_t size = tf_window_size(w);

	w->end = end;
	if (w->end - w->begin > size)
		w->begin = w->end - size;
	while (w->gaps && w->gap[0].to <= w->begin) {
		w->gaps--;
		memmove(w->gap, w->gap + 1, w->gaps * sizeof(*w->gap));
	}
}

void tf_window_add(struct tf_window *w, const void *words, size_t n)
{
	const uint8_t *from = words;
	size_t size = tf_window_size(w), old = n > size ? n - size : 0;

	move_on(w, w->end + old);
	put(w, from + 4 * old, n - old);
	move_on(w, w->end + n - old);
}

void tf_window_skip(struct tf_window *w, uint64_t position)
{
	uint64_t from = w->end;

	if (position == from)
		return;
	if (position - from >= tf_window_size(w)) {
		tf_window_empty(w, position);
		return;
	}
	move_on(w, position);
	if (w->gaps < TF_WINDOW_GAPS)
		w->gap[w->gaps++] = (struct tf_window_gap){ .from = from, .to = position };
	else
		w->gap[w->gaps - 1].to = position;
}

static bool has(const struct tf_window *w, uint64_t from, size_t n)
{
	if (from < w->begin || from > w->end || n > w->end - from)
		return false;
	for (unsigned int i = 0; i < w->gaps; i++) {
		if (from < w->gap[i].to && from + n > w->gap[i].from)
			return false;
	}
	return true;
}

bool tf_window_read(const struct tf_window *w, void *to, uint64_t position, size_t n)
{
	const uint32_t *from;
	size_t run;

	if (!has(w, position, n))
		return false;
	from = tf_window_at(w, position, &run);
	run = n < run ? n : run;
	memcpy(to, from, 4 * run);
	memcpy((uint8_t *)to + 4 * run, w->words, 4 * (n - run));
	return true;
}
