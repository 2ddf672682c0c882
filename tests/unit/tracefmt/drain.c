/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taking records out of sub-buffers: live, with gaps, unfinished, damaged, hostile. */
#include "tests/unit/tracefmt/support.h"

#include <string.h>

#include "tracefmt/buffer.h"
#include "tracefmt/write/drain.h"

#define TOP UINT64_C(0x7ffff0000000)
#define NOW (BASE_TSC + 1000000)

/* An encoder whose batch is looked at instead of being written. */
struct fixture {
	struct tf_sites sites;
	struct tf_enc enc;
	struct image im;
	struct ring_sub sub;
	uint64_t damaged;
	uint64_t emitted; /* events in batches before */
};

static void count_batch(void *arg, struct tf_enc *enc)
{
	struct fixture *x = arg;

	x->emitted += enc->batch.n;
	tf_enc_count(enc, &enc->stats);
}

static void add_site(struct tf_sites *s, uint32_t id, enum sonde_trace_kind kind, uint32_t f,
		     const uint8_t *types, unsigned n)
{
	static uint32_t head[NFUNCTIONS];

	if (!f && id == ENTER(0))
		memset(head, 0, sizeof head);
	assert_int_equal(tf_sites_add(s, id, kind, f, 0, types, n, &head[f]), SONDE_TRACE_OK);
}

static void fixture_init(struct fixture *x, uint32_t room)
{
	static const uint8_t text[] = { SONDE_TRACE_U64, SONDE_TRACE_STR, SONDE_TRACE_U64 };

	*x = (struct fixture){ .damaged = 0 };
	assert_int_equal(tf_sites_init(&x->sites), SONDE_TRACE_OK);
	for (uint32_t f = 0; f < 8; f++) {
		add_site(&x->sites, ENTER(f), SONDE_TRACE_ENTER, f, text, f == RICH ? 3 : 0);
		add_site(&x->sites, LEAVE(f), SONDE_TRACE_LEAVE, f, text, f == RICH ? 1 : 0);
		add_site(&x->sites, POINT(f), SONDE_TRACE_POINT, f, text, f == RICH ? 2 : 0);
	}
	assert_true(tf_enc_init(&x->enc, &x->sites, count_batch, x));
	image_init(&x->im, room);
}

static void fixture_free(struct fixture *x)
{
	tf_enc_free(&x->enc);
	tf_sites_free(&x->sites);
	image_free(&x->im);
}

static uint32_t drain_sub(struct fixture *x, uint32_t pos, bool final, uint32_t used)
{
	struct tf_sub sub = { .base = x->im.word, .bytes = x->im.room, .used = used,
			      .sub = &x->sub, .final = final, .now_tsc = NOW };

	return tf_drain(&x->enc, &sub, pos, &x->damaged);
}

static uint64_t events(const struct fixture *x)
{
	return x->emitted + x->enc.batch.n;
}

/* Sets a word at a byte offset. */
static void set(struct fixture *x, uint32_t at, uint64_t word)
{
	x->im.word[at / 8] = word;
}

static uint64_t leave_word(uint64_t tsc, uint32_t f)
{
	return tsc << RING_ID_BITS | LEAVE(f);
}

/* A live sub-buffer is drained word by word as it is written. */
static void live(void **state)
{
	struct fixture x;
	uint32_t pos = 0;

	(void)state;
	fixture_init(&x, 4096);
	assert_int_equal(drain_sub(&x, 0, false, 0), 0);
	for (uint32_t i = 0; i < 170; i++) {
		/* Payload first, as the program does: nothing is there yet. */
		set(&x, pos + 8, TOP - 16 * i);
		assert_int_equal(drain_sub(&x, pos, false, 0), pos);
		set(&x, pos, (BASE_TSC + i) << RING_ID_BITS | ENTER(2));
		assert_int_equal(drain_sub(&x, pos, false, 0), pos + 16);
		pos += 16;
		set(&x, pos, leave_word(BASE_TSC + i, 2));
		pos = drain_sub(&x, pos, false, 0);
		assert_int_equal(pos, 24 * (i + 1));
	}
	assert_int_equal(events(&x), 340);
	assert_int_equal(drain_sub(&x, pos, true, pos), 4096);
	assert_int_equal(events(&x), 340);
	assert_int_equal(x.damaged, 0);
	fixture_free(&x);
}

/* The thread died between the payload and the first word of a record. */
static void unfinished_record(void **state)
{
	struct fixture x;

	(void)state;
	fixture_init(&x, 4096);
	image_enter(&x.im, BASE_TSC, 2, TOP);
	set(&x, 24, TOP - 16); /* word 1 of an enter that never was */
	assert_int_equal(drain_sub(&x, 0, true, 4096), 4096);
	assert_int_equal(events(&x), 1);
	assert_int_equal(x.damaged, 0);
	fixture_free(&x);
}

/*
 * A handler interrupts a record at byte 16: it steps over RING_GAP bytes and records behind;
 * then the record is finished, and the pointer moves on once more by its size.
 */
static void gap(void **state)
{
	struct fixture x;
	uint32_t pos;

	(void)state;
	fixture_init(&x, 3 * RING_GAP);
	image_enter(&x.im, BASE_TSC, 2, TOP);
	pos = drain_sub(&x, 0, false, 0);
	assert_int_equal(pos, 16);
	x.sub.gap[0] = 16;
	x.sub.ngaps = 1;
	set(&x, 16 + RING_GAP, leave_word(BASE_TSC + 20, 4));
	set(&x, 16 + RING_GAP + 8, leave_word(BASE_TSC + 30, 4));
	assert_int_equal(drain_sub(&x, pos, false, 0), 16); /* may still be filled in */
	set(&x, 24, TOP - 32);
	set(&x, 16, (BASE_TSC + 10) << RING_ID_BITS | ENTER(3));
	/* 16 bytes stay zero where the pointer has been moved over. */
	set(&x, 16 + RING_GAP + 32, leave_word(BASE_TSC + 40, 3));
	pos = drain_sub(&x, pos, false, 0);
	assert_int_equal(pos, 16 + RING_GAP + 16);
	assert_int_equal(events(&x), 4);
	assert_int_equal(drain_sub(&x, pos, true, 16 + RING_GAP + 40), 3 * RING_GAP);
	assert_int_equal(events(&x), 5);
	assert_int_equal(x.damaged, 0);
	fixture_free(&x);
}

/* The same, but the interrupted record is never finished: siglongjmp. */
static void abandoned_gap(void **state)
{
	struct fixture x;

	(void)state;
	fixture_init(&x, 4 * RING_GAP);
	image_enter(&x.im, BASE_TSC, 2, TOP);
	x.sub.gap[0] = 16;
	x.sub.gap[1] = 16 + RING_GAP + 8; /* and one within the handler */
	x.sub.ngaps = 2;
	set(&x, 24, UINT64_MAX);
	set(&x, 16 + RING_GAP, leave_word(BASE_TSC + 20, 4));
	set(&x, 24 + 2 * RING_GAP, leave_word(BASE_TSC + 30, 2));
	assert_int_equal(drain_sub(&x, 0, true, 32 + 2 * RING_GAP), 4 * RING_GAP);
	assert_int_equal(events(&x), 3);
	assert_int_equal(x.enc.stats.backward, 0);
	assert_int_equal(x.damaged, 0);
	fixture_free(&x);
}

/* Words that are no record in between: they are counted once, what follows is found again. */
static void damaged_words(void **state)
{
	struct fixture x;

	(void)state;
	fixture_init(&x, 4096);
	image_enter(&x.im, BASE_TSC, 2, TOP);
	for (int i = 0; i < 10; i++)
		assert_true(image_put(&x.im, (uint64_t[]){ UINT64_MAX - 77 }, 1));
	image_leave(&x.im, BASE_TSC + 50, 2);
	assert_true(image_put(&x.im, (uint64_t[]){ leave_word(NOW + (UINT64_C(1) << 40), 2) }, 1));
	image_leave(&x.im, BASE_TSC + 60, 3);
	assert_int_equal(drain_sub(&x, 0, true, x.im.used), 4096);
	assert_int_equal(events(&x), 3);
	assert_int_equal(x.damaged, 2);
	fixture_free(&x);
}

/* Records that do not fit in what is left, at every distance from the end. */
static void cut_off(void **state)
{
	(void)state;
	for (uint32_t words = 1; words < 12; words++) {
		struct fixture x;
		uint64_t record[] = { (BASE_TSC + 1) << RING_ID_BITS | ENTER(RICH), TOP, 7, 20,
				      1, 2, 3, 8 };

		fixture_init(&x, 8 * words);
		memcpy(x.im.word, record, words < 8 ? 8 * words : sizeof record);
		assert_int_equal(drain_sub(&x, 0, true, 8 * words), 8 * words);
		assert_int_equal(events(&x), words >= 8);
		assert_int_equal(x.damaged > 0, words < 8);
		fixture_free(&x);
	}
}

static void string_lengths(void **state)
{
	static const uint64_t bad[] = { 4097, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX,
					UINT64_MAX - 7, INT64_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct fixture x;

		fixture_init(&x, 8192);
		set(&x, 0, BASE_TSC << RING_ID_BITS | ENTER(RICH));
		set(&x, 24, bad[i]);
		set(&x, 4096, leave_word(BASE_TSC + 5, 2));
		assert_int_equal(drain_sub(&x, 0, true, 8000), 8192);
		assert_int_equal(events(&x), 1);
		assert_true(x.damaged > 0);
		fixture_free(&x);
	}
}

/* What the program says about its own sub-buffer is not true. */
static void lies(void **state)
{
	struct fixture x;

	(void)state;
	fixture_init(&x, 8192);
	image_enter(&x.im, BASE_TSC, 2, TOP);
	assert_int_equal(drain_sub(&x, 0, true, UINT32_MAX), 8192);
	assert_int_equal(events(&x), 1);
	assert_int_equal(x.damaged, 1);
	x.sub.ngaps = UINT32_MAX;
	for (int i = 0; i < RING_MAX_GAPS; i++)
		x.sub.gap[i] = UINT32_MAX - 4096 * (uint32_t)i - (i % 2 ? 7 : 8);
	assert_int_equal(drain_sub(&x, 0, true, 8192), 8192);
	for (int i = 0; i < RING_MAX_GAPS; i++)
		x.sub.gap[i] = 8 * (uint32_t)i; /* they overlap */
	assert_int_equal(drain_sub(&x, 0, true, 8192), 8192);
	assert_int_equal(drain_sub(&x, 8200, true, 8192), 8192);
	fixture_free(&x);
}

/* Clocks that differ between processors: time stands still for a moment, it does not wrap. */
static void backward(void **state)
{
	struct fixture x;

	(void)state;
	fixture_init(&x, 4096);
	image_enter(&x.im, BASE_TSC + 100, 2, TOP);
	image_leave(&x.im, BASE_TSC + 90, 2);
	image_enter(&x.im, BASE_TSC + 120, 2, TOP);
	drain_sub(&x, 0, true, x.im.used);
	assert_int_equal(x.enc.stats.backward, 1);
	assert_int_equal(x.enc.last, BASE_TSC + 120);
	assert_int_equal(x.enc.batch.delta[1], 0);
	assert_int_equal(x.enc.batch.delta[2], 20);
	fixture_free(&x);
}

/* The 44 bits of a record wrap around between two events. */
static void wrap(void **state)
{
	struct fixture x;
	uint64_t border = UINT64_C(6) << RING_TSC_BITS;
	struct tf_sub sub = { .final = true, .now_tsc = border + 1000 };

	(void)state;
	fixture_init(&x, 4096);
	image_enter(&x.im, border - 10, 2, TOP);
	image_leave(&x.im, border + 10, 2);
	sub.base = x.im.word;
	sub.bytes = sub.used = x.im.used;
	tf_drain(&x.enc, &sub, 0, &x.damaged);
	assert_int_equal(x.enc.last, border + 10);
	assert_int_equal(x.enc.batch.start, border - 10);
	assert_int_equal(x.enc.batch.delta[1], 20);
	fixture_free(&x);
}

/* What goes on in its caller does not end what else the caller is in, but what the caller has called. */
static void goes_on(void **state)
{
	struct fixture x;

	(void)state;
	fixture_init(&x, 4096);
	image_enter(&x.im, BASE_TSC, 2, TOP + 1);
	image_enter(&x.im, BASE_TSC + 1, 3, TOP + 1);
	image_enter(&x.im, BASE_TSC + 2, 4, TOP - 8);
	drain_sub(&x, 0, true, x.im.used);
	assert_int_equal(x.enc.stack.n, 3);
	x.im.used = 0;
	image_enter(&x.im, BASE_TSC + 3, 5, TOP + 1);
	drain_sub(&x, 0, true, x.im.used);
	assert_int_equal(x.enc.stack.n, 3);
	assert_int_equal(x.enc.stack.frame[2].enter, ENTER(5));
	x.im.used = 0;
	image_enter(&x.im, BASE_TSC + 4, 6, TOP + 16);
	drain_sub(&x, 0, true, x.im.used);
	assert_int_equal(x.enc.stack.n, 1);
	fixture_free(&x);
}

/* Anything at all. */
static void random_words(void **state)
{
	(void)state;
	for (int round = 0; round < 3000; round++) {
		struct fixture x;
		uint32_t room = 8 * (1 + random_below(1000)), pos = 0;

		fixture_init(&x, room);
		for (uint32_t i = 0; i < room / 8; i++) {
			uint64_t r = random_bits();

			x.im.word[i] = r % 8 == 0 ? 0 :
				       r % 8 == 1 ? r :
						    (BASE_TSC + i) << RING_ID_BITS |
							    (16 + (r >> 8) % 30);
		}
		x.sub.ngaps = random_below(16);
		for (int i = 0; i < RING_MAX_GAPS; i++)
			x.sub.gap[i] = random_below(room * 2);
		pos = drain_sub(&x, 0, false, 0);
		assert_true(pos <= room);
		assert_int_equal(drain_sub(&x, pos, true, room), room);
		fixture_free(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(live),		  cmocka_unit_test(unfinished_record),
		cmocka_unit_test(gap),		  cmocka_unit_test(abandoned_gap),
		cmocka_unit_test(damaged_words),  cmocka_unit_test(cut_off),
		cmocka_unit_test(string_lengths), cmocka_unit_test(lies),
		cmocka_unit_test(backward),	  cmocka_unit_test(wrap),
		cmocka_unit_test(goes_on),	  cmocka_unit_test(random_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
