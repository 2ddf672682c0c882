/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list of edits, with memory of our own as the program: what is applied and undone in any order is, byte for
 * byte, what a plain copy of the memory says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injector/patch/edits.h"

#define PAGE 4096u
#define PAGES 200u
#define BYTES ((size_t)PAGES * PAGE)

struct memory {
	struct inj_target target;
	uint8_t *text, *model, *first;
	uint64_t dice;
};

static uint32_t dice(struct memory *m)
{
	m->dice = m->dice * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(m->dice >> 33);
}

static void open_memory(struct memory *m)
{
	*m = (struct memory){ .dice = 1 };
	assert_int_equal(inj_target_open(&m->target, getpid()), INJ_OK);
	m->text = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	m->model = malloc(BYTES);
	m->first = malloc(BYTES);
	assert_true(m->text != MAP_FAILED && m->model && m->first);
	for (size_t i = 0; i < BYTES; i++)
		m->text[i] = (uint8_t)dice(m);
	memcpy(m->model, m->text, BYTES);
	memcpy(m->first, m->text, BYTES);
	/* written to all the same, as code is */
	assert_int_equal(mprotect(m->text, BYTES, PROT_READ | PROT_EXEC), 0);
}

static void close_memory(struct memory *m)
{
	inj_target_close(&m->target);
	munmap(m->text, BYTES);
	free(m->model);
	free(m->first);
}

static void add(struct memory *m, struct inj_edits *batch, size_t at, size_t len, uint32_t object)
{
	struct inj_edit e = { .addr = (uint64_t)(uintptr_t)(m->text + at), .object = object,
			      .owner = INJ_EDIT_NONE, .len = (uint8_t)len };

	for (size_t i = 0; i < len; i++)
		e.bytes[i] = (uint8_t)dice(m);
	memcpy(e.was, m->model + at, len);
	memcpy(m->model + at, e.bytes, len);
	assert_int_equal(inj_edits_add(batch, &e), INJ_OK);
}

/* Edits that do not overlap, in descending order; some across pages, some pages without any. */
static void add_batch(struct memory *m, struct inj_edits *batch)
{
	for (size_t at = BYTES - 64; at > 64 + 12 * PAGE;) {
		size_t len = 1 + dice(m) % INJ_EDIT_MAX;

		add(m, batch, at, len, dice(m) % 3);
		at -= INJ_EDIT_MAX + dice(m) % (dice(m) % 8 ? 300 : 12 * PAGE);
	}
	add(m, batch, PAGE - 3, 7, 0);
}

static void apply(struct memory *m, struct inj_edits *placed, bool sorted)
{
	struct inj_edits batch = { 0 };

	add_batch(m, &batch);
	if (sorted)
		inj_edits_sort(&batch);
	assert_int_equal(inj_edits_apply(&m->target, placed, &batch), INJ_OK);
	assert_memory_equal(m->text, m->model, BYTES);
	inj_edits_free(&batch);
}

/* Batches lie over one another; each level is there again when what came after it is undone. */
static void batches(void **state)
{
	enum { LEVELS = 6 };
	static uint8_t *levels[LEVELS];
	struct inj_edits placed = { 0 };
	size_t n[LEVELS];
	struct memory m;

	(void)state;
	open_memory(&m);
	for (int i = 0; i < LEVELS; i++) {
		levels[i] = malloc(BYTES);
		assert_non_null(levels[i]);
		memcpy(levels[i], m.model, BYTES);
		n[i] = placed.n;
		apply(&m, &placed, i % 2);
	}
	for (int i = LEVELS; i-- > 0;) {
		uint8_t *copy = malloc(BYTES);

		assert_non_null(copy);
		memcpy(copy, m.text, BYTES);
		inj_edits_original(&placed, (uint64_t)(uintptr_t)m.text + 100, copy + 100, BYTES - 200);
		assert_memory_equal(copy + 100, m.first + 100, BYTES - 200);
		free(copy);
		inj_edits_undo(&m.target, &placed, n[i]);
		assert_int_equal(placed.n, n[i]);
		assert_memory_equal(m.text, levels[i], BYTES);
		free(levels[i]);
	}
	assert_memory_equal(m.text, m.first, BYTES);
	inj_edits_free(&placed);
	close_memory(&m);
}

/* One of many edits cannot be written: none is. */
static void all_or_nothing(void **state)
{
	struct inj_edits placed = { 0 }, batch = { 0 };
	struct memory m;
	uint8_t *before = malloc(BYTES);
	size_t n;

	(void)state;
	assert_non_null(before);
	open_memory(&m);
	apply(&m, &placed, true);
	n = placed.n;
	memcpy(before, m.text, BYTES);
	add_batch(&m, &batch);
	batch.v[batch.n / 2].addr = 4096;
	assert_int_equal(inj_edits_apply(&m.target, &placed, &batch), INJ_SYSTEM);
	assert_int_equal(placed.n, n);
	assert_memory_equal(m.text, before, BYTES);
	/* what is in the list is in place still */
	inj_edits_undo(&m.target, &placed, 0);
	assert_memory_equal(m.text, m.first, BYTES);
	inj_edits_free(&batch);
	inj_edits_free(&placed);
	free(before);
	close_memory(&m);
}

/* Part of the memory is gone: the rest is undone all the same. */
static void unmapped(void **state)
{
	struct inj_edits placed = { 0 };
	struct memory m;
	size_t gone = PAGES / 2 * PAGE;

	(void)state;
	open_memory(&m);
	apply(&m, &placed, true);
	assert_int_equal(munmap(m.text + gone, PAGE), 0);
	inj_edits_undo(&m.target, &placed, 0);
	/* the run of pages around it stays as it was */
	assert_memory_equal(m.text, m.first, gone - 64 * PAGE);
	assert_memory_equal(m.text + gone + 65 * PAGE, m.first + gone + 65 * PAGE, BYTES - gone - 65 * PAGE);
	inj_edits_free(&placed);
	close_memory(&m);
}

static void forgotten(void **state)
{
	struct inj_edits placed = { 0 }, batch = { 0 };
	struct memory m;

	(void)state;
	open_memory(&m);
	add(&m, &batch, 100, 5, 1);
	add(&m, &batch, 200, 5, 2);
	add(&m, &batch, 300, 5, INJ_EDIT_NONE);
	assert_int_equal(inj_edits_apply(&m.target, &placed, &batch), INJ_OK);
	inj_edits_forget(&placed, 2);
	assert_int_equal(placed.n, 2);
	inj_edits_undo(&m.target, &placed, 0);
	memcpy(m.first + 200, m.model + 200, 5);
	assert_memory_equal(m.text, m.first, BYTES);
	inj_edits_free(&batch);
	inj_edits_free(&placed);
	close_memory(&m);
}

static void count(void *arg, const struct inj_edit *e)
{
	uint64_t *sum = arg;

	*sum += e->addr;
}

static void checked(void **state)
{
	struct inj_edits batch = { 0 };
	struct memory m;
	uint64_t sum = 0;

	(void)state;
	open_memory(&m);
	add_batch(&m, &batch);
	inj_edits_sort(&batch);
	assert_int_equal(inj_edits_check(&m.target, &batch, count, &sum), INJ_OK);
	assert_int_equal(sum, 0);
	batch.v[batch.n / 3].was[0] ^= 1;
	assert_int_equal(inj_edits_check(&m.target, &batch, count, &sum), INJ_OK);
	assert_int_equal(sum, batch.v[batch.n / 3].addr);
	assert_memory_equal(m.text, m.first, BYTES);
	inj_edits_free(&batch);
	close_memory(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches),   cmocka_unit_test(all_or_nothing), cmocka_unit_test(unmapped),
		cmocka_unit_test(forgotten), cmocka_unit_test(checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
