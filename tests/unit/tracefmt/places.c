/* SPDX-License-Identifier: GPL-3.0-or-later */
/* code.places: what is written is found again; what is damaged is left out, and said. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "memtrace/pack/places.h"
#include "tests/unit/tracefmt/support.h"

#define HIGH UINT64_C(0xffffffff80000000)

static void write_code(struct tf_writer *w, uint32_t object)
{
	struct mt_places p = { 0 };

	mt_places_function(&p, 0x1000, 0x100, "first");
	mt_places_function(&p, 0x1100, 0x10, "");
	mt_places_function(&p, HIGH, 0x1000, "_Z4lastv");
	mt_places_loop(&p, 0x1010, 1);
	mt_places_loop(&p, 0x1020, 2);
	mt_places_range(&p, 0x1010, 0);
	mt_places_range(&p, 0x1020, 1);
	mt_places_range(&p, 0x1030, 0);
	mt_places_range(&p, 0x1040, MT_NO_LOOP);
	assert_int_equal(mt_write_places(w, &p, object, false), SONDE_TRACE_OK);
	mt_places_free(&p);
}

static void write_lines(struct tf_writer *w, uint32_t object)
{
	const char *file[] = { "/src/a.c", "/src/b.h" };
	struct mt_places p = { 0 };
	char name[32];

	mt_places_line(&p, 0x1004, file[0], 10);
	mt_places_line(&p, 0x1010, file[0], 3);
	mt_places_line(&p, 0x1020, file[1], 2000000000);
	mt_places_line(&p, 0x1024, file[0], 1);
	mt_places_line(&p, 0x1030, NULL, 0);
	for (int i = 0; i < 100; i++) { /* the same names from elsewhere, and more than there is room for at first */
		snprintf(name, sizeof(name), "/src/%d.c", i);
		mt_places_line(&p, 0x1100 + (uint64_t)i, i & 1 ? name : file[i & 2 ? 1 : 0], i + 1);
		p.file = NULL;
	}
	assert_int_equal(mt_write_places(w, &p, object, true), SONDE_TRACE_OK);
	assert_int_equal(p.nfiles, 52);
	mt_places_free(&p);
}

static struct mt_placed *written(const char *dir, void (*write)(struct tf_writer *w))
{
	struct tf_end end = { .ending = SONDE_TRACE_EXITED, .complete = true };
	struct tf_writer *w = new_trace(dir, -1);
	struct mt_placed *p;

	write(w);
	assert_int_equal(tf_writer_close(w, &end), SONDE_TRACE_OK);
	p = mt_placed_open(dir, 0);
	assert_non_null(p);
	return p;
}

static struct sonde_trace_place find(const struct mt_placed *p, uint32_t object, uint64_t addr)
{
	struct sonde_trace_place place = { 0 };

	mt_placed_find(p, object, addr, &place);
	return place;
}

/* The id that the files carry. */
static uint64_t id_of(const char *dir)
{
	uint8_t header[64];
	char path[64];
	uint64_t id;
	FILE *f;

	snprintf(path, sizeof(path), "%s/code.places", dir);
	f = fopen(path, "rb");
	assert_non_null(f);
	assert_int_equal(fread(header, 1, sizeof(header), f), sizeof(header));
	fclose(f);
	memcpy(&id, header + 24, sizeof(id));
	return id;
}

static void write_both(struct tf_writer *w)
{
	write_code(w, 3);
	write_code(w, 7);
	write_lines(w, 7);
}

static void check_functions(const struct mt_placed *p)
{
	struct sonde_trace_place place = find(p, 3, 0x10ff);

	assert_string_equal(place.function, "first");
	assert_int_equal(place.entry, 0x1000);
	assert_int_equal(place.size, 0x100);
	assert_int_equal(place.loop, 0);
	assert_null(place.file);
	assert_null(find(p, 3, 0xfff).function);
	assert_string_equal(find(p, 3, 0x1100).function, "");
	assert_null(find(p, 3, 0x1110).function);
	assert_string_equal(find(p, 3, HIGH + 0xfff).function, "_Z4lastv");
	assert_null(find(p, 3, HIGH + 0x1000).function);
	assert_null(find(p, 4, 0x1000).function);
}

static void check_loops(const struct mt_placed *p)
{
	struct sonde_trace_place place = find(p, 7, 0x102f);

	assert_int_equal(place.loop, 0x1020);
	assert_int_equal(place.loop_depth, 2);
	assert_string_equal(place.loop_file, "/src/b.h");
	assert_int_equal(place.loop_line, 2000000000);
	assert_int_equal(find(p, 7, 0x100f).loop, 0);
	assert_int_equal(find(p, 7, 0x1010).loop, 0x1010);
	assert_int_equal(find(p, 7, 0x103f).loop, 0x1010);
	assert_int_equal(find(p, 7, 0x1040).loop, 0);
	assert_int_equal(find(p, 3, 0x1020).loop, 0x1020);
	assert_null(find(p, 3, 0x1020).loop_file);
}

static void check_lines(const struct mt_placed *p)
{
	assert_null(find(p, 7, 0x1003).file);
	assert_string_equal(find(p, 7, 0x1004).file, "/src/a.c");
	assert_int_equal(find(p, 7, 0x1004).line, 10);
	assert_int_equal(find(p, 7, 0x1018).line, 3);
	assert_string_equal(find(p, 7, 0x1024).file, "/src/a.c");
	assert_int_equal(find(p, 7, 0x1024).line, 1);
	assert_null(find(p, 7, 0x1030).file);
	assert_string_equal(find(p, 7, 0x1100 + 97).file, "/src/97.c");
	assert_string_equal(find(p, 7, 0x1100 + 98).file, "/src/b.h");
	assert_true(mt_placed_has_lines(p, 7));
	assert_false(mt_placed_has_lines(p, 3));
}

struct seen {
	uint64_t last;
	size_t n;
};

static void see_line(void *arg, uint64_t addr, const char *file, int line)
{
	struct seen *seen = arg;

	assert_true(addr > seen->last);
	if (seen->n == 2) {
		assert_int_equal(addr, 0x1020);
		assert_string_equal(file, "/src/b.h");
		assert_int_equal(line, 2000000000);
	}
	seen->last = addr;
	seen->n++;
}

/* Not where no line is known. */
static void check_each_line(const struct mt_placed *p)
{
	struct seen seen = { 0 };

	mt_placed_each_line(p, 3, 0, UINT64_MAX, see_line, &seen);
	assert_int_equal(seen.n, 0);
	mt_placed_each_line(p, 7, 0, UINT64_MAX, see_line, &seen);
	assert_int_equal(seen.n, 104);
	seen = (struct seen){ 0 };
	mt_placed_each_line(p, 7, 0x1004, 0x1024, see_line, &seen);
	assert_int_equal(seen.n, 4);
}

static void test_found_again(void **state)
{
	struct mt_placed *p = written("both", write_both);

	(void)state;
	assert_int_equal(mt_placed_damage(p), 1); /* of another trace */
	assert_null(find(p, 7, 0x1004).function);
	mt_placed_close(p);
	p = mt_placed_open("both", id_of("both"));
	assert_int_equal(mt_placed_damage(p), 0);
	check_functions(p);
	check_loops(p);
	check_lines(p);
	check_each_line(p);
	mt_placed_close(p);
}

/* One byte of the first piece is another: the others are whole. */
static void test_damage(void **state)
{
	struct mt_placed *p = written("damaged", write_both);
	FILE *f;

	(void)state;
	mt_placed_close(p);
	f = fopen("damaged/code.places", "r+b");
	assert_non_null(f);
	fseek(f, 64 + 48 + 4, SEEK_SET);
	fputc(0x55, f);
	fclose(f);
	p = mt_placed_open("damaged", id_of("damaged"));
	assert_int_equal(mt_placed_damage(p), 1);
	assert_null(find(p, 3, 0x1000).function);
	check_lines(p);
	mt_placed_close(p);
	p = mt_placed_open("nowhere", 0);
	assert_int_equal(mt_placed_damage(p), 1);
	mt_placed_close(p);
}

/* Nothing is written of what is not in order. */
static void test_order(void **state)
{
	struct tf_writer *w = new_trace("order", -1);
	struct mt_places p = { 0 };

	(void)state;
	mt_places_function(&p, 0x1000, 0x100, "first");
	mt_places_function(&p, 0x10ff, 0x10, "overlaps");
	assert_int_equal(mt_write_places(w, &p, 0, false), SONDE_TRACE_E_INVALID);
	mt_places_free(&p);
	mt_places_line(&p, 0x1000, "a", 1);
	mt_places_line(&p, 0xfff, "a", 2);
	assert_int_equal(mt_write_places(w, &p, 0, true), SONDE_TRACE_E_INVALID);
	mt_places_free(&p);
	tf_writer_abandon(w);
}

/* ---- bodies that no writer makes ---- */

#define BODY(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

static void test_hostile(void **state)
{
	struct mt_placed *p = mt_placed_open("nowhere", 0);

	(void)state;
	/* object, lines, functions (gap, size, name), loops (head, depth), ranges (gap, loop), files, lines (gap, file, line) */
	assert_true(mt_placed_add(p, BODY(1, 0, 0, 0, 0, 0, 0)));
	assert_true(mt_placed_add(p, BODY(1, 1, 1, 4, 2, 1, 1, 8, 1, 2, 4, 1, 9, 0, 1, 1, 1, 4, 1, 2, 'f', 'c')));
	assert_string_equal(find(p, 1, 5).function, "f");
	assert_int_equal(find(p, 1, 5).loop, 4);
	assert_string_equal(find(p, 1, 5).file, "c");
	assert_int_equal(find(p, 1, 5).line, 1);
	assert_false(mt_placed_add(p, BODY(1, 0, 0, 0, 0, 0)));	/* ends too early */
	assert_false(mt_placed_add(p, BODY(1, 0, 0, 0, 0, 0, 0, 0))); /* too late */
	assert_false(mt_placed_add(p, BODY(1, 2, 0, 0, 0, 0, 0))); /* lines are there or not */
	assert_false(mt_placed_add(p, BODY(0x80, 0x80, 0x80, 1, 0, 0, 0, 0, 0, 0))); /* object 2^21 */
	assert_false(mt_placed_add(p, BODY(1, 0, 1, 4, 2, 2, 0, 0, 0, 0, 'f'))); /* a longer name than there is text */
	assert_false(mt_placed_add(p, BODY(1, 0, 0xff, 0xff, 0xff, 0xff, 0xf, 0, 0, 0, 0))); /* 2^32 functions */
	assert_false(mt_placed_add(p, BODY(1, 0, 0, 1, 8, 1, 1, 4, 2, 0, 0))); /* the second of one loop */
	assert_false(mt_placed_add(p, BODY(1, 0, 0, 1, 8, 0x80, 0x80, 4, 0, 0, 0))); /* 65536 loops deep */
	assert_false(mt_placed_add(p, BODY(1, 0, 0, 0, 0, 1, 1, 1, 4, 2, 2, 'c'))); /* the second of one file */
	assert_false(mt_placed_add(p, BODY(1, 0, 0, 0, 0, 1, 1, 1, 4, 1, 0, 'c'))); /* line 0 */
	assert_false(mt_placed_add(p, BODY(1, 0, 0, 0, 0, 1, 1, 1, 4, 1, 1, 'c'))); /* line -1 */
	/* a function beyond the last address */
	assert_false(mt_placed_add(p, BODY(1, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 0, 0, 0,
					   0, 0)));
	mt_placed_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found_again),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
