/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: [SONDE_TEST_SEED=N] tracefmt_generate DIR EVENTS
 *
 * Writes a trace of two threads in which everything occurs that the format knows: for the
 * comparison of readers, and as the origin of the golden files.
 */
#include "tests/unit/tracefmt/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOP UINT64_C(0x7ffff0000000)

struct program {
	struct image image;
	struct tf_thread *thread;
	uint64_t now;
	uint64_t addr;
};

static void drain(struct program *p)
{
	drain_image(p->thread, &p->image, true, p->now);
	image_clear(&p->image);
}

static void put(struct program *p, const uint64_t *word, uint32_t n)
{
	if (image_put(&p->image, word, n))
		return;
	drain(p);
	assert_true(image_put(&p->image, word, n));
}

static uint32_t put_string(uint64_t *word)
{
	static const char *const texts[] = { "", "input.dat", "/tmp/a file with a long name",
					     "\xff", "caf\xc3\xa9", "line\nfeed" };
	const char *text = texts[random_below(6)];

	word[0] = strlen(text);
	memset(word + 1, 0, (word[0] + 7) / 8 * 8);
	memcpy(word + 1, text, word[0]);
	return 1 + (uint32_t)(word[0] + 7) / 8;
}

/* The payload of an event of RICH; @kind: 0 enter, 1 leave, 2 point. */
static uint32_t put_payload(uint64_t *word, uint32_t kind)
{
	uint32_t n = 0;
	double value = random_below(50) / 3.0;

	if (kind == 0) {
		word[n++] = (uint64_t)-(int64_t)random_below(20);
		n += put_string(word + n);
		word[n++] = 0x7f1234560000 + 64 * random_below(100);
	} else if (kind == 1) {
		memcpy(&word[n++], &value, 8);
		word[n++] = random_bits();
	} else {
		n += put_string(word + n);
		word[n++] = UINT64_C(1) << random_below(40);
		word[n++] = random_below(UINT32_MAX);
		word[n++] = random_below(3);
	}
	return n;
}

static void step(struct program *p)
{
	uint32_t r = random_below(100), f = random_below(6), n = 1;
	uint32_t kind = r < 48 ? 0 : r < 92 ? 1 : 2;
	uint64_t word[512];

	p->now += random_below(200) ? random_below(120) : UINT64_C(1) << random_below(34);
	if (r == 98 && random_below(2)) {
		drain(p);
		assert_int_equal(tf_thread_waited(p->thread, p->now, random_below(1000)), 0);
		return;
	}
	if (r == 99) {
		drain(p);
		assert_int_equal(tf_thread_lost(p->thread, p->now, 1 + random_below(50)), 0);
		return;
	}
	/* Addresses wander: now and then frames turn out to have been left. */
	p->addr += kind == 0 ? -(uint64_t)(16 * random_below(4)) : 16 * random_below(4);
	if (f >= 4 && kind != 2) { /* by probes */
		word[0] = p->now << RING_ID_BITS | (PROBE_ENTER(f) + kind);
		word[1] = p->addr + 16 * (kind * random_below(2));
		if (kind == 1 && random_below(2)) { /* by a jump, and mostly that is what comes next */
			uint64_t frame = word[1];

			word[1] |= RING_JUMP | RING_JUMP_TARGET(PROBE_ENTRY(4 + random_below(2)));
			put(p, word, 2);
			word[0] = (p->now + 1) << RING_ID_BITS | PROBE_ENTER(4);
			word[1] = frame;
		}
		put(p, word, 2);
		return;
	}
	word[0] = p->now << RING_ID_BITS | (ENTER(f) + kind);
	if (kind == 0)
		word[n++] = p->addr;
	if (f == RICH)
		n += put_payload(word + n, kind);
	put(p, word, n);
}

int main(int argc, char **argv)
{
	struct program p[2] = { 0 };
	struct tf_writer *w;
	int events;

	if (argc != 3) {
		fprintf(stderr, "usage: tracefmt_generate DIR EVENTS\n");
		return 99;
	}
	events = atoi(argv[2]);
	w = new_trace(argv[1], -1);
	for (int i = 0; i < 2; i++) {
		image_init(&p[i].image, 8192);
		p[i].thread = new_thread(w, 70, 70 + i);
		p[i].now = BASE_TSC + 10;
		p[i].addr = TOP;
	}
	for (int i = 0; i < events; i++) {
		struct program *one = &p[random_below(2)];

		step(one);
		if (random_below((uint32_t)events / 4 + 1) == 0) {
			drain(one);
			assert_int_equal(tf_thread_flush(one->thread), 0);
		}
	}
	for (int i = 0; i < 2; i++) {
		drain(&p[i]);
		end_thread(p[i].thread);
		image_free(&p[i].image);
	}
	end_trace(w);
	return 0;
}
