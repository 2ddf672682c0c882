/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tracefmt/write/threadout.h"

#include <errno.h>
#include <stdio.h>
#include <xxhash.h>

#include "tracefmt/write/pack.h"

static bool put_header(struct tf_threadout *o, const struct tf_thread_id *id)
{
	uint8_t header[TF_HEADER_SIZE] = { 0 };

	memcpy(header, TF_MAGIC_THREAD, TF_MAGIC_SIZE);
	tf_put32(header + 8, TF_FILE_VERSION);
	tf_put32(header + 12, (uint32_t)id->pid);
	tf_put32(header + 16, (uint32_t)id->tid);
	tf_put32(header + 20, (uint32_t)id->rank);
	tf_put64(header + 24, id->trace);
	tf_put64(header + 32, id->tsc);
	tf_put64(header + 56, XXH64(header, 56, 0));
	return tf_outfile_append(&o->file, header, sizeof header);
}

bool tf_threadout_create(struct tf_threadout *o, int dirfd, const struct tf_thread_id *id)
{
	char name[64];

	*o = (struct tf_threadout){ 0 };
	snprintf(name, sizeof name, "%d.%d.sonde", id->pid, id->tid);
	for (unsigned n = 2; !tf_outfile_create(&o->file, dirfd, name); n++) {
		if (errno != EEXIST)
			return false;
		snprintf(name, sizeof name, "%d.%d.%u.sonde", id->pid, id->tid, n);
	}
	return put_header(o, id);
}

bool tf_threadout_chunk(struct tf_threadout *o, const uint8_t *chunk, size_t size)
{
	uint8_t *entry = tf_buf_need(&o->index, TF_INDEX_ENTRY);
	uint64_t offset = o->file.size;

	if (!tf_outfile_append(&o->file, chunk, size))
		return false;
	o->chunks++;
	if (!entry) /* the index is not needed for reading */
		return true;
	tf_put64(entry, offset);
	tf_put32(entry + 8, (uint32_t)size);
	memcpy(entry + 12, chunk + 20, 4);
	memcpy(entry + 16, chunk + 32, 24);
	tf_put64(entry + 40, 0);
	o->index.size += TF_INDEX_ENTRY;
	return true;
}

bool tf_threadout_next(struct tf_threadout *o, uint8_t *chunk, size_t size)
{
	struct tf_chunk_info info;

	if (tf_chunk_get(chunk, &info) == SONDE_TRACE_OK) {
		info.seq = o->chunks;
		tf_chunk_put(chunk, &info);
	}
	return tf_threadout_chunk(o, chunk, size);
}

bool tf_threadout_finish(struct tf_threadout *o)
{
	struct tf_buf all = { 0 };
	uint64_t offset = o->file.size, size = TF_INDEX_HEAD + o->index.size + TF_INDEX_TAIL;
	uint8_t *at;
	bool good;

	if (o->index.failed)
		return true;
	at = tf_buf_extend(&all, size + TF_TRAILER_SIZE);
	if (!at)
		return true;
	memcpy(at, TF_MAGIC_INDEX, TF_MAGIC_SIZE);
	tf_put32(at + 8, o->chunks);
	tf_put32(at + 12, 0);
	if (o->index.size)
		memcpy(at + TF_INDEX_HEAD, o->index.data, o->index.size);
	tf_put64(at + size - 8, XXH64(at, size - 8, 0));
	at += size;
	memcpy(at, TF_MAGIC_END, TF_MAGIC_SIZE);
	tf_put64(at + 8, offset);
	tf_put64(at + 16, size);
	tf_put64(at + 24, XXH64(at, 24, 0));
	good = tf_outfile_append(&o->file, all.data, all.size);
	tf_buf_free(&all);
	return good;
}

void tf_threadout_free(struct tf_threadout *o)
{
	tf_buf_free(&o->index);
}
