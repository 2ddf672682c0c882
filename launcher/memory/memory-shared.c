// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What a rank sends, in words of 8 bytes: for each profile, struct entry, and what memkept_pack() has made.
 */
#include "launcher/memory/memory-shared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "launcher/ranks/ranks.h"
#include "tracefmt/buffer.h"

struct entry {
	uint64_t rank;	/* index of the program */
	uint64_t bytes; /* without what makes it whole words */
};

struct packed {
	const uint8_t *data; /* NULL: there is none */
	size_t bytes;
};

struct memory_shared {
	size_t n;	     /* programs of the trace */
	unsigned int *owner; /* of each, a rank */
	struct packed *packed; /* likewise */
	struct tf_buf own;
	void **received;     /* by rank */
};

/* Of a thread's stream, in bytes: it lies beside its file, with another ending. */
static uint64_t size_of_stream(const struct sonde_trace_thread *thread)
{
	const char *dot = strrchr(thread->file, '.');
	struct stat st;
	uint64_t size = 0;
	char *path;

	if (!dot || asprintf(&path, "%.*s.memory", (int)(dot - thread->file), thread->file) < 0)
		return 0;
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		size = (uint64_t)st.st_size;
	free(path);
	return size;
}

struct memory_shared *memory_shared_new(const struct memtrace *t)
{
	struct memory_shared *s = calloc(1, sizeof(*s));
	size_t n = sonde_trace_ranks(t->trace);
	uint64_t *bytes = calloc(n + 1, sizeof(*bytes));
	bool good = s && bytes;

	if (good) {
		s->n = n;
		s->owner = calloc(n + 1, sizeof(*s->owner));
		s->packed = calloc(n + 1, sizeof(*s->packed));
		s->received = calloc(ranks_count(), sizeof(*s->received));
		good = s->owner && s->packed && s->received;
	}
	for (size_t i = 0; good && i < sonde_trace_threads(t->trace); i++) {
		const struct sonde_trace_thread *thread = sonde_trace_thread(t->trace, i);

		bytes[thread->rank_index] += pick_thread(thread, t->pick) ? size_of_stream(thread) : 0;
	}
	good = good && ranks_share(bytes, n, s->owner);
	free(bytes);
	if (good)
		return s;
	memory_shared_free(s);
	return NULL;
}

void memory_shared_free(struct memory_shared *s)
{
	if (!s)
		return;
	for (unsigned int i = 0; s->received && i < ranks_count(); i++)
		free(s->received[i]);
	tf_buf_free(&s->own);
	free(s->received);
	free(s->packed);
	free(s->owner);
	free(s);
}

bool memory_shared_is_mine(const struct memory_shared *s, const struct sonde_trace_rank *rank)
{
	return s->owner[rank->index] == ranks_me();
}

void memory_shared_add(struct memory_shared *s, const struct sonde_trace_rank *rank, const struct kept_key *key, struct memprofile *p)
{
	static const char zeros[8];
	struct entry e = { .rank = rank->index };
	size_t bytes = 0;
	void *data = key->word[0] | key->word[1] ? memkept_pack(key, p, &bytes) : NULL;

	if (!data)
		return;
	e.bytes = bytes;
	tf_buf_put(&s->own, &e, sizeof(e));
	tf_buf_put(&s->own, data, bytes);
	tf_buf_put(&s->own, zeros, -bytes % 8);
	free(data);
}

/* Those of a rank. */
static void note(struct memory_shared *s, const void *data, size_t bytes)
{
	struct tf_cursor c = { .at = data, .left = bytes };
	const uint8_t *at;
	struct entry e;

	while (c.left && (at = tf_cursor_take(&c, sizeof(e)))) {
		memcpy(&e, at, sizeof(e));
		at = tf_cursor_take(&c, e.bytes);
		tf_cursor_take(&c, -e.bytes % 8);
		if (at && e.rank < s->n)
			s->packed[e.rank] = (struct packed){ at, e.bytes };
	}
}

void memory_shared_exchange(struct memory_shared *s)
{
	size_t bytes = s->own.failed ? 0 : s->own.size;

	if (ranks_me() != 0) {
		ranks_send(s->own.data, bytes);
		return;
	}
	note(s, s->own.data, bytes);
	for (unsigned int i = 1; i < ranks_count(); i++) {
		s->received[i] = ranks_receive(i, &bytes);
		if (s->received[i])
			note(s, s->received[i], bytes);
	}
}

struct memprofile *memory_shared_take(const struct memory_shared *s, const struct sonde_trace_rank *rank, const struct kept_key *key,
				      const struct memprofile_options *o)
{
	const struct packed *p = &s->packed[rank->index];

	return p->data ? memkept_unpack(p->data, p->bytes, key, o) : NULL;
}
