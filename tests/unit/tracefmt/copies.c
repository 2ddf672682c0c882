/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chunks as copies of what was in a window: there and back, on streams of many kinds, and with lists that are wrong. */
#include "tests/unit/tracefmt/support.h"

#include <stdlib.h>
#include <string.h>

#include "memtrace/pack/far.h"
#include "memtrace/pack/match.h"

enum {
	LOG = 16,		/* of the window's bytes */
	WINDOW = (1 << LOG) / 4,
	MAX = 6000,		/* words of a chunk */
	CHUNKS = 150,
};

static struct tf_copy copy[MAX];
static uint32_t masks[MAX], changes[MAX], words[MAX + 1];
static uint8_t list[8 * TF_COPY_MOST * MAX], rest[4 * MAX + 4], back[4 * MAX + 4];

/* ---- streams: word @i of each ---- */

static uint32_t mix(uint64_t i)
{
	i *= UINT64_C(0x9e3779b97f4a7c15);
	i ^= i >> 29;
	i *= UINT64_C(0xbf58476d1ce4e5b9);
	return (uint32_t)(i >> 32);
}

static uint32_t noise(uint64_t i)
{
	return mix(i);
}

static uint32_t same_word(uint64_t i)
{
	(void)i;
	return 0xdeadbeef;
}

/* Of few words, in an order that does not repeat. */
static uint32_t few_words(uint64_t i)
{
	return mix(i) & 3;
}

static uint32_t periodic(uint64_t i)
{
	return mix(i % 7001);
}

/* A third of the words are one more in each period, of some of the time. */
static uint32_t counting(uint64_t i)
{
	uint64_t k = i % 9000, n = i / 9000;

	return mix(k) + (k % 3 == 1 && k / 1000 % 3 != n % 3 ? (uint32_t)n : 0);
}

/* A word in 40 is new. */
static uint32_t mutated(uint64_t i)
{
	return mix(i + 12345) % 40 ? mix(i % 7777) : mix(i);
}

/* Periods that are longer now and then: words go in, and are left out. */
static uint32_t shifted(uint64_t i)
{
	return mix((i + i / 5000 * 3) % 6000);
}

/* Two loops in turn. */
static uint32_t in_turn(uint64_t i)
{
	return i / 2500 % 2 ? mix(i % 5000) : mix(i % 2500 + 100000);
}

/* As long as the window, and a little longer. */
static uint32_t as_window(uint64_t i)
{
	return mix(i % WINDOW);
}

static uint32_t longer(uint64_t i)
{
	return mix(i % (WINDOW + 1));
}

static const struct stream {
	const char *name;
	uint32_t (*word)(uint64_t i);
	int most;	/* percent of all words that are left at most, of the later half; -1: all */
} streams[] = {
	{ "noise", noise, -1 },		{ "same word", same_word, -1 }, { "few words", few_words, -1 },
	{ "periodic", periodic, 4 },	{ "counting", counting, 36 },	{ "mutated", mutated, 8 },
	{ "shifted", shifted, 8 },	{ "in turn", in_turn, 8 },	{ "as window", as_window, 35 },
	{ "longer", longer, -1 },
};

/* ---- there and back ---- */

static struct tf_copies find(struct tf_match *m, size_t n)
{
	struct tf_copies c = { .copy = copy, .masks = masks, .changes = changes };

	tf_match_find(m, words, n, &c);
	assert_in_range(c.n, 0, tf_match_most(n));
	assert_in_range(c.nmasks, 0, c.n + n / TF_COPY_MASK);
	assert_in_range(c.nchanges, 0, n);
	return c;
}

/* Says how many bytes were left of the second half. */
static size_t there_and_back(const struct stream *s, size_t most, size_t *all)
{
	struct tf_match m;
	struct tf_window reader;
	size_t left = 0;
	uint64_t at = 0;

	*all = 0;
	assert_true(tf_match_open(&m, LOG, 0) && tf_window_open(&reader, LOG, 0));
	for (int k = 0; k < CHUNKS; k++) {
		size_t n = random_below((uint32_t)most + 1), bytes = 4 * n + random_below(4), size, nrest, front;
		struct tf_copies c;

		for (size_t i = 0; i <= n; i++)
			words[i] = s->word(at + i);
		c = find(&m, n);
		size = tf_copies_write(list, &c, &front);
		assert_in_range(size, front, tf_copies_room(&c));
		assert_in_range(size, 0, tf_far_list_room(bytes));
		nrest = tf_copies_rest(rest, (const uint8_t *)words, bytes, &c);
		memset(back, 0x55, sizeof back);
		if (!tf_copies_undo(back, bytes, &reader, list, size, c.n, rest, nrest) ||
		    memcmp(back, words, bytes) != 0)
			fail_msg("%s, chunk %d", s->name, k);
		assert_int_equal(back[bytes], 0x55);
		tf_window_add(&reader, back, n);
		at += n;
		left += k >= CHUNKS / 2 ? nrest : 0;
		*all += k >= CHUNKS / 2 ? bytes : 0;
	}
	tf_match_close(&m);
	tf_window_close(&reader);
	return left;
}

static void test_there_and_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(streams) / sizeof(*streams); i++) {
		static const size_t most[] = { MAX, 100, 1500 };

		for (size_t k = 0; k < 3; k++) {
			size_t all, left = there_and_back(&streams[i], most[k], &all);

			if (k == 0 && streams[i].most >= 0 && left > all / 100 * (size_t)streams[i].most)
				fail_msg("%s: %zu of %zu bytes are left", streams[i].name, left, all);
		}
	}
}

/* ---- wrong lists ---- */

/* As any bytes, they are refused, or make some chunk; nothing else is touched. */
static void test_wrong(void **state)
{
	struct tf_match m;
	struct tf_window reader;
	unsigned int refused = 0, tries = 20000;
	struct tf_copies c;
	size_t size, nrest, front;

	(void)state;
	assert_true(tf_match_open(&m, LOG, 0) && tf_window_open(&reader, LOG, 0));
	for (uint64_t at = 0; at < 5 * MAX; at += MAX) {
		for (size_t i = 0; i < MAX; i++)
			words[i] = shifted(at + i);
		c = find(&m, MAX);
		if (at < 4 * MAX)
			tf_window_add(&reader, words, MAX);
	}
	size = tf_copies_write(list, &c, &front);
	nrest = tf_copies_rest(rest, (const uint8_t *)words, 4 * MAX, &c);
	assert_true(c.n > 1);
	assert_true(tf_copies_undo(back, 4 * MAX, &reader, list, size, c.n, rest, nrest));
	for (unsigned int i = 0; i < tries; i++) {
		uint8_t *wrong = malloc(size + 1), *less = malloc(nrest + 4), *to = malloc(4 * MAX);
		size_t at = random_below((uint32_t)(i % 2 ? front : size)), off = i % 3 ? 0 : random_below(9);
		size_t n = c.n + (i % 5 ? 0 : random_below(3)), bytes = 4 * MAX - (i % 7 ? 0 : random_below(9));

		memcpy(wrong, list, size);
		memcpy(less, rest, nrest);
		wrong[at] = (uint8_t)random_bits();
		refused += !tf_copies_undo(to, bytes, &reader, wrong, size - off, n, less, nrest - off % 4);
		free(wrong);
		free(less);
		free(to);
	}
	assert_in_range(refused, tries / 4, tries - 1);
	tf_match_close(&m);
	tf_window_close(&reader);
}

/* ---- windows ---- */

static bool has(const struct tf_window *w, uint64_t position, size_t n)
{
	static uint32_t read[WINDOW];
	bool good = tf_window_read(w, read, position, n);

	for (size_t i = 0; good && i < n; i++)
		assert_int_equal(read[i], mix(position + i));
	return good;
}

static void add(struct tf_window *w, size_t n)
{
	uint32_t *v = malloc(4 * n + 1);

	for (size_t i = 0; i < n; i++)
		v[i] = mix(w->end + i);
	tf_window_add(w, v, n);
	free(v);
}

static void test_window(void **state)
{
	struct tf_window w;

	(void)state;
	assert_false(tf_window_open(&w, TF_WINDOW_MIN - 1, 0));
	assert_false(tf_window_open(&w, TF_WINDOW_MAX + 1, 0));
	assert_true(tf_window_open(&w, LOG, 1000));
	assert_true(has(&w, 1000, 0) && !has(&w, 999, 1) && !has(&w, 1000, 1));
	add(&w, 5000);
	assert_true(has(&w, 1000, 5000) && !has(&w, 1000, 5001) && !has(&w, 6001, 0));
	add(&w, WINDOW - 100);
	assert_true(has(&w, 5900, WINDOW) && !has(&w, 5899, 1));
	add(&w, 3 * WINDOW + 7);
	assert_true(has(&w, w.end - WINDOW, WINDOW) && !has(&w, w.end - WINDOW - 1, 2));
	assert_true(!has(&w, w.end - 1, 2) && !has(&w, UINT64_MAX, 2) && !has(&w, w.end - 1, SIZE_MAX));
	tf_window_close(&w);
}

/* What was skipped is not there, and nothing else is lost. */
static void test_gaps(void **state)
{
	struct tf_window w;
	uint64_t from[3];

	(void)state;
	assert_true(tf_window_open(&w, LOG, 0));
	add(&w, 100);
	for (int i = 0; i < 3; i++) {
		from[i] = w.end;
		tf_window_skip(&w, w.end);
		tf_window_skip(&w, w.end + 10);
		add(&w, 100);
	}
	for (int i = 0; i < 3; i++) {
		assert_true(has(&w, from[i] - 100, 100) && !has(&w, from[i] - 100, 101));
		assert_true(has(&w, from[i] + 10, 100) && !has(&w, from[i] + 9, 2) && !has(&w, from[i], 10));
	}
	add(&w, WINDOW - 200);
	assert_int_equal(w.gaps, 1);
	assert_true(has(&w, w.end - WINDOW, 90) && !has(&w, w.end - WINDOW, 91));
	for (int i = 0; i < 2 * TF_WINDOW_GAPS; i++) {
		tf_window_skip(&w, w.end + 1);
		add(&w, 1);
		assert_true(has(&w, w.end - 1, 1) && !has(&w, w.end - 2, 1));
	}
	assert_int_equal(w.gaps, TF_WINDOW_GAPS);
	tf_window_skip(&w, w.end + WINDOW);
	assert_true(!has(&w, w.end - 1, 1) && has(&w, w.end, 0));
	add(&w, 5);
	assert_true(has(&w, w.end - 5, 5));
	tf_window_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
