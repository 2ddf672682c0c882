/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Unwind tables, as linkers write them and as nobody does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "injector/image/ehframe.h"
#include "injector/patch/session.h"

#define AT 0x1000u /* where tables are, in the file's addresses */

struct table {
	uint8_t bytes[256];
	size_t len;
};

static void put(struct table *t, uint64_t value, size_t bytes)
{
	assert_true(t->len + bytes <= sizeof(t->bytes));
	memcpy(t->bytes + t->len, &value, bytes);
	t->len += bytes;
}

/* "zR", pcrel sdata4; CFA is rsp + 8, the return address is at CFA - 8. */
static size_t put_cie(struct table *t)
{
	static const uint8_t cie[] = { 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0 };
	size_t at = t->len;

	put(t, 4 + sizeof(cie), 4);
	put(t, 0, 4);
	for (size_t i = 0; i < sizeof(cie); i++)
		put(t, cie[i], 1);
	return at;
}

static void put_fde(struct table *t, size_t cie, uint64_t addr, uint32_t size, bool extended)
{
	if (extended)
		put(t, UINT32_MAX, 4);
	put(t, 16, extended ? 8 : 4);
	put(t, t->len - cie, 4);
	put(t, addr - (AT + t->len), 4);
	put(t, size, 4);
	put(t, 0, 4);
}

static struct inj_cursor cursor(const struct table *t)
{
	return (struct inj_cursor){ .at = t->bytes, .end = t->bytes + t->len, .addr = AT };
}

/* How many entries there are, the first one's in *@fde. */
static size_t count(const struct table *t, bool whole, struct inj_fde *fde)
{
	struct inj_eh eh = { .left = cursor(t), .start = t->bytes, .whole = whole };
	struct inj_fde next;
	size_t n = 0;

	while (inj_eh_next(&eh, &next))
		if (n++ == 0)
			*fde = next;
	return n;
}

static void entries(void **state)
{
	struct table t = { .len = 0 };
	struct inj_fde fde;
	size_t cie = put_cie(&t);

	(void)state;
	put_fde(&t, cie, 0x400, 0x50, false);
	put_fde(&t, cie, 0x500, 0x60, true);
	put(&t, 0, 4);
	assert_true(count(&t, false, &fde) == 2);
	assert_true(fde.addr == 0x400 && fde.size == 0x50 && fde.lsda == 0 && fde.flags == 0);
	/* a table after the table */
	cie = put_cie(&t);
	put_fde(&t, cie, 0x600, 0x70, false);
	assert_true(count(&t, false, &fde) == 2);
	assert_true(count(&t, true, &fde) == 3);
}

static void lengths(void **state)
{
	static const uint64_t crafted[] = { 0xfffffffc, 0xfffffff8, 0xfffffffe, 0x7fffffff, 0xffffff00 };
	struct inj_fde fde;

	(void)state;
	for (size_t i = 0; i < sizeof(crafted) / sizeof(crafted[0]); i++) {
		struct table t = { .len = 0 };
		size_t cie = put_cie(&t);

		put_fde(&t, cie, 0x400, 0x50, false);
		put(&t, crafted[i], 4);
		put_fde(&t, cie, 0x500, 0x50, false);
		put(&t, 0, 4);
		assert_true(count(&t, true, &fde) == 1);
		assert_false(inj_eh_ends(cursor(&t)));
		/* the same in eight bytes, with all their bits */
		t.len = 0;
		put(&t, UINT32_MAX, 4);
		put(&t, crafted[i] | UINT64_MAX << 32, 8);
		put(&t, 0, 4);
		assert_true(count(&t, true, &fde) == 0);
		assert_false(inj_eh_ends(cursor(&t)));
	}
}

static void ends(void **state)
{
	struct table t = { .len = 0 };
	size_t cie;

	(void)state;
	assert_false(inj_eh_ends(cursor(&t)));
	put(&t, 0, 4);
	assert_true(inj_eh_ends(cursor(&t)));
	t.len = 0;
	cie = put_cie(&t);
	put_fde(&t, cie, 0x400, 0x50, false);
	assert_false(inj_eh_ends(cursor(&t)));
	put(&t, 0, 3);
	assert_false(inj_eh_ends(cursor(&t)));
	put(&t, 0, 1);
	assert_true(inj_eh_ends(cursor(&t)));
	/* of no use to libgcc */
	t.len -= 4;
	put_fde(&t, cie, 0x500, 0x50, true);
	put(&t, 0, 4);
	assert_false(inj_eh_ends(cursor(&t)));
}

/* A module's table, found by its header. */
static void image(void **state)
{
	struct table t = { .len = 0 };
	struct inj_image img = { .mem = t.bytes, .size = sizeof(t.bytes), .eh_frame_hdr = 8 };
	size_t cie, at;

	(void)state;
	put(&t, 0, 8);
	put(&t, 0x3b031b01, 4); /* version 1, pcrel sdata4, udata4, datarel sdata4 */
	put(&t, 4, 4);		/* .eh_frame is after this word */
	assert_true(inj_eh_start((struct inj_cursor){ t.bytes + 8, t.bytes + 16, 8, false }) == 16);
	at = t.len;
	cie = put_cie(&t);
	put_fde(&t, cie, 0x40, 8, false);
	assert_int_equal(inj_image_frames(&img), at); /* zeros follow */
	put(&t, 0xfffffffc, 4);
	assert_int_equal(inj_image_frames(&img), 0);
	t.bytes[8] = 2;
	assert_int_equal(inj_image_frames(&img), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries),
		cmocka_unit_test(lengths),
		cmocka_unit_test(ends),
		cmocka_unit_test(image),
	};

	alarm(60); /* a table that never ends */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
