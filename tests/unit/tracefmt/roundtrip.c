/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a program does, made up at random, goes through ring, encoder, file and reader; what
 * comes out must be what went in.  The model here knows which frames are open because it opens
 * and closes them.
 */
#include "tests/unit/tracefmt/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_TOP UINT64_C(0x7ffff0000000)

struct expected {
	enum sonde_trace_kind kind;
	uint32_t flags;
	uint32_t depth;
	uint32_t f;
	uint64_t ticks;
	uint64_t entered;
	uint64_t lost;
	uint64_t value[4]; /* of the rich function; a string's is its seed */
};

struct model {
	struct image image;
	struct tf_thread *thread;
	struct expected *event;
	size_t n, room;
	uint64_t now;
	struct {
		uint32_t f;
		uint64_t addr, ticks;
	} frame[4000];
	uint32_t depth;
};

static struct expected *expect(struct model *m, enum sonde_trace_kind kind, uint32_t f)
{
	struct expected *e;

	if (m->n == m->room) {
		m->room = m->room ? 2 * m->room : 1024;
		m->event = realloc(m->event, m->room * sizeof *m->event);
		assert_non_null(m->event);
	}
	e = &m->event[m->n++];
	*e = (struct expected){ .kind = kind, .f = f, .ticks = m->now, .entered = m->now,
				.depth = m->depth };
	return e;
}

static void expect_pop(struct model *m, uint32_t flags)
{
	struct expected *e;

	m->depth--;
	e = expect(m, SONDE_TRACE_LEAVE, m->frame[m->depth].f);
	e->flags = flags;
	e->entered = m->frame[m->depth].ticks;
}

/* --- strings, made from a number ----------------------------------------------------------- */

static uint32_t string_length(uint64_t seed)
{
	return seed % 11 == 0 ? 0 : seed % 13 == 0 ? 1024 : (uint32_t)(seed % 40);
}

static void make_string(uint64_t seed, char *s)
{
	uint32_t n = string_length(seed);

	for (uint32_t i = 0; i < n; i++)
		s[i] = (char)(seed * 31 + i * (seed % 5)); /* any byte, also 0 */
}

static uint32_t put_string(uint64_t *word, uint64_t seed)
{
	uint32_t n = string_length(seed);

	word[0] = n;
	memset(word + 1, 0, (n + 7) / 8 * 8);
	make_string(seed, (char *)(word + 1));
	return 1 + (n + 7) / 8;
}

/* --- records ------------------------------------------------------------------------------- */

static void drain(struct model *m, bool final)
{
	drain_image(m->thread, &m->image, final, m->now + random_below(1000));
	if (final)
		image_clear(&m->image);
}

static void put(struct model *m, const uint64_t *word, uint32_t n)
{
	if (image_put(&m->image, word, n))
		return;
	drain(m, true);
	assert_true(image_put(&m->image, word, n));
}

static uint64_t numbers(unsigned style)
{
	static uint64_t counter;

	switch (style) {
	case 0:
		return counter++;
	case 1:
		return random_bits();
	case 2:
		return (uint64_t)-(int64_t)random_below(1000);
	default:
		return 7;
	}
}

static uint32_t put_values(struct expected *e, uint64_t *word)
{
	uint32_t n = 0;
	double d = random_below(100) / 7.0;

	if (e->f != RICH)
		return 0;
	if (e->kind == SONDE_TRACE_ENTER) {
		word[n++] = e->value[0] = (uint64_t)(int64_t)(int32_t)numbers(random_below(4));
		e->value[1] = random_below(2000);
		n += put_string(word + n, e->value[1]);
		word[n++] = e->value[2] = 0x7f0000000000 + 4096 * random_below(1000);
	} else if (e->kind == SONDE_TRACE_LEAVE) {
		memcpy(&e->value[0], &d, 8);
		word[n++] = e->value[0];
		word[n++] = e->value[1] = numbers(2);
	} else {
		e->value[0] = random_bits() >> 40;
		n += put_string(word + n, e->value[0]);
		word[n++] = e->value[1] = numbers(random_below(4));
		word[n++] = e->value[2] = (uint32_t)numbers(1);
		word[n++] = e->value[3] = numbers(0);
	}
	return n;
}

static void enter(struct model *m, uint32_t f, uint64_t addr)
{
	uint64_t word[512] = { m->now << RING_ID_BITS | ENTER(f), addr };
	struct expected *e = expect(m, SONDE_TRACE_ENTER, f);

	put(m, word, 2 + put_values(e, word + 2));
	m->frame[m->depth].f = f;
	m->frame[m->depth].addr = addr;
	m->frame[m->depth++].ticks = m->now;
}

static void leave(struct model *m)
{
	uint64_t word[512];

	expect_pop(m, 0);
	word[0] = m->now << RING_ID_BITS | LEAVE(m->frame[m->depth].f);
	put(m, word, 1 + put_values(&m->event[m->n - 1], word + 1));
}

static void point(struct model *m, uint32_t f)
{
	uint64_t word[512] = { m->now << RING_ID_BITS | POINT(f) };

	put(m, word, 1 + put_values(expect(m, SONDE_TRACE_POINT, f), word + 1));
}

/* A leave of a function that is not open. */
static void orphan(struct model *m)
{
	uint32_t f = NFUNCTIONS - 1;
	uint64_t word = m->now << RING_ID_BITS | LEAVE(f);

	expect(m, SONDE_TRACE_LEAVE, f)->flags = SONDE_TRACE_ORPHAN;
	put(m, &word, 1);
}

static uint64_t address_below(const struct model *m)
{
	uint64_t top = m->depth ? m->frame[m->depth - 1].addr : STACK_TOP;

	return top - 16 - 8 * random_below(20);
}

/* Some frames go without a leave; an enter on top of what remains shows it. */
static void jump_and_enter(struct model *m)
{
	uint64_t addr;

	if (m->depth < 2)
		return;
	/* As high as a frame that is gone, or a little lower. */
	addr = m->frame[m->depth - 1 - random_below(m->depth < 5 ? m->depth : 5)].addr;
	while (m->depth && m->frame[m->depth - 1].addr <= addr)
		expect_pop(m, SONDE_TRACE_UNWOUND);
	enter(m, random_below(NFUNCTIONS - 1), addr);
}

/* The same, shown by a leave further out. */
static void jump_and_leave(struct model *m)
{
	uint32_t out, f;

	if (m->depth < 3)
		return;
	out = m->depth - 1 - random_below(m->depth < 4 ? m->depth : 4);
	f = m->frame[out].f;
	/* The innermost frame of that function is meant. */
	while (m->frame[m->depth - 1].f != f)
		expect_pop(m, SONDE_TRACE_UNWOUND);
	leave(m);
}

static void lose(struct model *m)
{
	drain(m, true);
	expect(m, SONDE_TRACE_LOST, 0)->lost = 1 + random_below(1000);
	assert_int_equal(tf_thread_lost(m->thread, m->now, m->event[m->n - 1].lost), 0);
}

static void pass_time(struct model *m)
{
	uint32_t r = random_below(1000);

	m->now += r < 900 ? random_below(300) : r < 999 ? random_below(100000) : 0;
	if (random_below(20000) == 0)
		m->now += UINT64_C(1) << 33; /* more than 32 bits hold */
}

/* One thing that a program does. */
static void step(struct model *m)
{
	uint32_t r = random_below(1000), limit = sizeof m->frame / sizeof m->frame[0];

	pass_time(m);
	if (r < 3)
		jump_and_enter(m);
	else if (r < 6)
		jump_and_leave(m);
	else if (r < 8)
		orphan(m);
	else if (r == 8)
		lose(m);
	else if (r < 50)
		point(m, random_below(NFUNCTIONS));
	else if (m->depth && (r % 2 || m->depth >= limit - 1))
		leave(m);
	else
		enter(m, random_below(4) ? random_below(3) : random_below(NFUNCTIONS - 1),
		      address_below(m));
}

/* --- checking ------------------------------------------------------------------------------ */

static void check_string(const struct sonde_trace_value *v, uint64_t seed)
{
	char s[1024];

	assert_int_equal(v->type, SONDE_TRACE_STR);
	assert_int_equal(v->u, string_length(seed));
	make_string(seed, s);
	assert_memory_equal(v->str, s, v->u);
	assert_int_equal(v->str[v->u], 0);
}

static void check_values(const struct sonde_trace_event *ev, const struct expected *e)
{
	bool bare = e->f != RICH || (e->flags & SONDE_TRACE_UNWOUND);

	if (bare || e->kind == SONDE_TRACE_LOST) {
		assert_int_equal(ev->nvalues, 0);
		return;
	}
	assert_int_equal(ev->nvalues, ev->site->nfields);
	for (size_t i = 0; i < ev->nvalues; i++) {
		const struct sonde_trace_value *v = &ev->values[i];

		assert_string_equal(v->name, ev->site->fields[i].name);
		if (v->type == SONDE_TRACE_STR)
			check_string(v, e->value[i]);
		else
			assert_int_equal(v->u, e->value[i]);
	}
}

static void check_event(const struct sonde_trace *trace, const struct sonde_trace_event *ev,
			const struct expected *e)
{
	assert_int_equal(ev->kind, e->kind);
	assert_int_equal(ev->ticks, e->ticks);
	assert_int_equal(ev->time, e->ticks - BASE_TSC); /* the test's clock ticks at 1 GHz */
	assert_int_equal(ev->entered, e->entered - BASE_TSC);
	assert_int_equal(ev->depth, e->depth);
	assert_int_equal(ev->flags, e->flags);
	assert_int_equal(ev->lost, e->lost);
	if (e->kind == SONDE_TRACE_LOST)
		assert_null(ev->function);
	else
		assert_ptr_equal(ev->function, sonde_trace_function(trace, e->f));
	check_values(ev, e);
}

static void check_all(const char *name, const struct model *m, size_t thread)
{
	struct sonde_trace *trace = open_trace(name);
	struct sonde_trace_iter *it;
	const struct sonde_trace_event *ev;
	size_t n = 0;

	assert_int_equal(sonde_trace_thread(trace, thread)->events, m->n);
	assert_int_equal(sonde_trace_iterate(trace, thread, &it), SONDE_TRACE_OK);
	while (sonde_trace_next(it, &ev) == SONDE_TRACE_OK) {
		assert_true(n < m->n);
		check_event(trace, ev, &m->event[n++]);
	}
	assert_int_equal(n, m->n);
	assert_int_equal(sonde_trace_next(it, &ev), SONDE_TRACE_END);
	assert_int_equal(sonde_trace_damage(it, NULL), 0);
	sonde_trace_iter_free(it);
	sonde_trace_close(trace);
}

/* --- tests --------------------------------------------------------------------------------- */

static void model_init(struct model *m, struct tf_thread *t)
{
	*m = (struct model){ .thread = t, .now = BASE_TSC + 1 };
	image_init(&m->image, 65536);
}

static void model_free(struct model *m)
{
	image_free(&m->image);
	free(m->event);
}

static void random_program(void **state)
{
	struct tf_writer *w = new_trace("random", -1);
	static struct model m;

	(void)state;
	model_init(&m, new_thread(w, 7, 7));
	for (int i = 0; i < 600000; i++) {
		step(&m);
		if (random_below(30000) == 0)
			assert_int_equal(tf_thread_flush(m.thread), SONDE_TRACE_OK);
	}
	drain(&m, true);
	end_thread(m.thread);
	end_trace(w);
	check_all("random", &m, 0);
	model_free(&m);
}

/* Threads share a writer's memory, but nothing else. */
static void threads_in_turns(void **state)
{
	struct tf_writer *w = new_trace("turns", -1);
	static struct model m[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		model_init(&m[i], new_thread(w, 7, 7 + i));
	for (int i = 0; i < 60000; i++)
		step(&m[random_below(3)]);
	for (int i = 0; i < 3; i++) {
		drain(&m[i], true);
		end_thread(m[i].thread);
	}
	end_trace(w);
	for (size_t i = 0; i < 3; i++) {
		check_all("turns", &m[i], i);
		model_free(&m[i]);
	}
}

/* A thousand functions: operations need two bytes. */
static void many_functions(void **state)
{
	struct tf_writer *w = new_trace("many", -1);
	struct tf_thread *t = new_thread(w, 7, 7);
	struct sonde_trace_iter *it;
	const struct sonde_trace_event *ev;
	struct sonde_trace *trace;
	struct image im;
	uint32_t n = 0;

	(void)state;
	image_init(&im, 1 << 16);
	for (uint32_t i = 0; i < 1000; i++) {
		char name[16];
		struct tf_function f = { .id = 1000 + i, .name = name };
		struct tf_event e = { .id = 5000 + i, .kind = SONDE_TRACE_ENTER,
				      .function = 1000 + i };
		uint64_t addr = STACK_TOP - 16 * i;

		snprintf(name, sizeof name, "g%u", i);
		assert_int_equal(tf_writer_function(w, &f), SONDE_TRACE_OK);
		assert_int_equal(tf_writer_event(w, &e), SONDE_TRACE_OK);
		assert_true(image_put(&im, (uint64_t[]){ (BASE_TSC + i) << 20 | e.id, addr }, 2));
	}
	drain_image(t, &im, true, BASE_TSC + 5000);
	end_thread(t);
	end_trace(w);
	trace = open_trace("many");
	assert_int_equal(sonde_trace_iterate(trace, 0, &it), SONDE_TRACE_OK);
	for (; sonde_trace_next(it, &ev) == SONDE_TRACE_OK; n++) {
		assert_int_equal(ev->site->id, 5000 + n);
		assert_int_equal(ev->depth, n);
	}
	assert_int_equal(n, 1000);
	sonde_trace_iter_free(it);
	sonde_trace_close(trace);
	image_free(&im);
}

/*
 * All kinds of start: the events from there on are those of the whole, but for when frames were
 * entered.
 */
static void seek(void **state)
{
	struct sonde_trace *trace = open_trace("random");
	struct sonde_trace_iter *all, *from;
	const struct sonde_trace_event *a, *b;
	uint64_t last = sonde_trace_thread(trace, 0)->last;

	(void)state;
	for (int i = 0; i < 20; i++) {
		uint64_t time = i == 19 ? last : i ? random_bits() % last : 0;
		size_t n = 0;

		assert_int_equal(sonde_trace_iterate(trace, 0, &all), SONDE_TRACE_OK);
		assert_int_equal(sonde_trace_iterate(trace, 0, &from), SONDE_TRACE_OK);
		assert_int_equal(sonde_trace_seek(from, time), SONDE_TRACE_OK);
		do
			assert_int_equal(sonde_trace_next(from, &b), SONDE_TRACE_OK);
		while (b->time < time);
		do
			assert_int_equal(sonde_trace_next(all, &a), SONDE_TRACE_OK);
		while (a->time < time);
		for (; n < 100000; n++) {
			assert_int_equal(a->ticks, b->ticks);
			assert_int_equal(a->kind, b->kind);
			assert_int_equal(a->depth, b->depth);
			assert_ptr_equal(a->function, b->function);
			assert_int_equal(a->nvalues, b->nvalues);
			if (sonde_trace_next(all, &a) || sonde_trace_next(from, &b))
				break;
		}
		assert_true(n > 0 || time == last);
		sonde_trace_iter_free(all);
		sonde_trace_iter_free(from);
	}
	sonde_trace_close(trace);
}

static void merged(void **state)
{
	struct sonde_trace *trace = open_trace("turns");
	struct sonde_trace_iter *it;
	const struct sonde_trace_event *ev;
	uint64_t before = 0, n = 0, sum = 0;
	size_t thread = 0;

	(void)state;
	assert_int_equal(sonde_trace_merge(trace, NULL, NULL, &it), SONDE_TRACE_OK);
	for (; sonde_trace_next(it, &ev) == SONDE_TRACE_OK; n++) {
		assert_true(ev->time >= before);
		if (n && ev->time == before)
			assert_true(ev->thread->index >= thread);
		before = ev->time;
		thread = ev->thread->index;
	}
	for (size_t i = 0; i < 3; i++)
		sum += sonde_trace_thread(trace, i)->events;
	assert_int_equal(n, sum);
	sonde_trace_iter_free(it);
	sonde_trace_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_program), cmocka_unit_test(threads_in_turns),
		cmocka_unit_test(many_functions), cmocka_unit_test(seek),
		cmocka_unit_test(merged),
	};

	return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
