/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Drains a sub-buffer of arbitrary words.  Whatever is in there, no byte outside is touched,
 * and what was taken as events comes out of the chunks again: as many events, at the same
 * times.
 *
 * Input: steps (1 byte), gaps (1 byte), gap offsets (2 bytes each), the sub-buffer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/require.h"
#include "tracefmt/write/drain.h"
#include "tracefmt/write/pack.h"
#include "tracefmt/read/unpack.h"

#define NOW ((UINT64_C(5) << 44) + (UINT64_C(3) << 40))
#define INPUT_MAX 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct state {
	struct tf_sites sites;
	struct tf_pack pack;
	struct tf_unpacked chunk;
	uint64_t events; /* that came back */
	uint64_t last;
};

static void add(struct tf_sites *s, uint32_t id, enum sonde_trace_kind kind, uint32_t *head,
		const uint8_t *types, unsigned n)
{
	REQUIRE(!tf_sites_add(s, id, kind, id / 4, 0, types, n, head));
}

/* Ids 16..31: four functions with enter, leave, point and a second leave. */
static void init(struct state *st)
{
	static const uint8_t types[] = { SONDE_TRACE_STR, SONDE_TRACE_F64, SONDE_TRACE_I32,
					 SONDE_TRACE_STR };

	REQUIRE(!tf_sites_init(&st->sites) && !tf_pack_init(&st->pack));
	for (uint32_t id = 16; id < 32; id += 4) {
		uint32_t head = 0;
		unsigned n = id == 20 ? 4 : id == 24 ? 1 : 0;

		add(&st->sites, id, SONDE_TRACE_ENTER, &head, types, n);
		add(&st->sites, id + 1, SONDE_TRACE_LEAVE, &head, types + 1, n ? 2 : 0);
		add(&st->sites, id + 2, SONDE_TRACE_POINT, &head, types, n);
		add(&st->sites, id + 3, SONDE_TRACE_LEAVE, &head, types, 0);
	}
}

static void emit(void *arg, struct tf_enc *e)
{
	struct state *st = arg;
	struct tf_chunk_info info;
	const uint8_t *out;

	if (!e->batch.n)
		return;
	tf_enc_count(e, &e->stats);
	REQUIRE(!tf_pack(&st->pack, &st->sites, &e->batch, 0, e->last));
	out = st->pack.out.data;
	REQUIRE(!tf_chunk_get(out, &info));
	REQUIRE(!tf_unpack(&st->chunk, &info, out + TF_CHUNK_SIZE));
	REQUIRE(info.events == e->batch.n && info.last == e->last && info.first >= st->last);
	st->events += info.events;
	st->last = info.last;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct state st;
	struct ring_sub ring = { 0 };
	struct tf_enc enc;
	struct tf_sub sub = { .sub = &ring, .now_tsc = NOW };
	uint64_t damaged = 0, *words;
	uint32_t pos = 0, steps;

	if (!st.sites.room)
		init(&st);
	st.events = st.last = 0;
	if (size < 2 || size > INPUT_MAX)
		return 0;
	steps = data[0] % 8;
	ring.ngaps = data[1];
	data += 2;
	size -= 2;
	for (uint32_t i = 0; i < ring.ngaps && i < RING_MAX_GAPS && size >= 2; i++) {
		ring.gap[i] = 8 * (data[0] | (uint32_t)data[1] << 8);
		data += 2;
		size -= 2;
	}
	size &= ~(size_t)7;
	words = malloc(size + 1);
	REQUIRE(words && tf_enc_init(&enc, &st.sites, emit, &st));
	memcpy(words, data, size);
	sub.base = words;
	sub.bytes = sub.used = (uint32_t)size;
	for (uint32_t i = 0; i < steps; i++) {
		uint32_t before = pos;

		sub.bytes = (uint32_t)(size / steps * (i + 1)) & ~7u;
		pos = tf_drain(&enc, &sub, pos, &damaged);
		REQUIRE(pos >= before && pos % 8 == 0 && pos <= size + RING_GAP);
	}
	sub.bytes = (uint32_t)size;
	sub.final = true;
	REQUIRE(tf_drain(&enc, &sub, pos, &damaged) == size);
	emit(&st, &enc);
	REQUIRE(st.events == enc.stats.events);
	tf_enc_free(&enc);
	free(words);
	return 0;
}
