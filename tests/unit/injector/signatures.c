/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signatures: what of code a linker changes, and which functions are found in linked code.  Objects and the linker are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>

#include "injector/signatures/sigmake.h"
#include "injector/signatures/sigmask.h"
#include "injector/signatures/sigmatch.h"

/* ---- masks ---- */

static const struct {
	const char *what;
	uint32_t type;
	uint8_t code[20], len;
	uint32_t at, start, covers;
	enum sig_ref_kind kind;
} masks[] = {
	{ "call f", R_X86_64_PLT32, { 0xe8 }, 5, 1, 1, 4, SIG_REF_RELATIVE },
	{ "lea x(%rip), %rax", R_X86_64_PC32, { 0x48, 0x8d, 0x05 }, 7, 3, 3, 4, SIG_REF_RELATIVE },
	{ "mov $x, %edi", R_X86_64_32, { 0xbf }, 5, 1, 1, 4, SIG_REF_ABSOLUTE },
	{ "mov x@GOTPCREL(%rip), %rax", R_X86_64_REX_GOTPCRELX, { 0x48, 0x8b, 0x05 }, 7, 3, 0, 7, SIG_REF_GOT },
	{ "call *f@GOTPCREL(%rip)", R_X86_64_GOTPCRELX, { 0xff, 0x15 }, 6, 2, 0, 6, SIG_REF_GOT },
	{ "mov x@GOTPCREL(%rip), %rax, no X", R_X86_64_GOTPCREL, { 0x48, 0x8b, 0x05 }, 7, 3, 0, 7, SIG_REF_GOT },
	{ "cmp x@GOTPCREL(%rip), %rax, no X", R_X86_64_GOTPCREL, { 0x48, 0x3b, 0x05 }, 7, 3, 3, 4, SIG_REF_OPAQUE },
	{ "general dynamic", R_X86_64_TLSGD, { 0x66, 0x48, 0x8d, 0x3d, 0, 0, 0, 0, 0x66, 0x66, 0x48, 0xe8 }, 16, 4, 0, 16, SIG_REF_OPAQUE },
	{ "local dynamic", R_X86_64_TLSLD, { 0x48, 0x8d, 0x3d, 0, 0, 0, 0, 0xe8 }, 12, 3, 0, 12, SIG_REF_OPAQUE },
	{ "local dynamic, no PLT", R_X86_64_TLSLD, { 0x48, 0x8d, 0x3d, 0, 0, 0, 0, 0xff, 0x15 }, 13, 3, 0, 13, SIG_REF_OPAQUE },
	{ "initial exec", R_X86_64_GOTTPOFF, { 0x48, 0x8b, 0x05 }, 7, 3, 0, 7, SIG_REF_OPAQUE },
	{ "TLS descriptor", R_X86_64_GOTPC32_TLSDESC, { 0x48, 0x8d, 0x05 }, 7, 3, 0, 7, SIG_REF_OPAQUE },
	{ "its call", R_X86_64_TLSDESC_CALL, { 0xff, 0x10 }, 2, 0, 0, 2, SIG_REF_OPAQUE },
	{ "mov $x@tpoff, %rax", R_X86_64_TPOFF32, { 0x48, 0xc7, 0xc0 }, 7, 3, 3, 4, SIG_REF_OPAQUE },
};

static void test_masks(void **state)
{
	struct sig_ref ref;

	(void)state;
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		print_message("%s\n", masks[i].what);
		assert_true(inj_sig_mask(masks[i].type, masks[i].code, masks[i].len, masks[i].at, &ref));
		assert_int_equal(ref.start, masks[i].start);
		assert_int_equal(ref.len, masks[i].covers);
		assert_int_equal(ref.at, masks[i].at);
		assert_int_equal(ref.kind, masks[i].kind);
		/* not all of it is there */
		assert_false(inj_sig_mask(masks[i].type, masks[i].code, masks[i].len - 1u, masks[i].at, &ref));
	}
	assert_true(inj_sig_mask(R_X86_64_NONE, masks[0].code, 5, 1, &ref));
	assert_int_equal(ref.len, 0);
	assert_false(inj_sig_mask(200, masks[0].code, 5, 1, &ref));
	assert_false(inj_sig_mask(R_X86_64_REX_GOTPCRELX, masks[3].code, 7, 2, &ref)); /* begins before the code */
}

static const struct {
	const char *what;
	struct sig_ref ref;
	uint8_t code[8];
	uint64_t target; /* for code at 0x1000; 0: none */
	bool branch;
} targets[] = {
	{ "call", { .at = 1, .len = 4, .kind = SIG_REF_RELATIVE, .addend = -4 }, { 0xe8, 0x10, 0, 0, 0 }, 0x1015, true },
	{ "jmp", { .at = 1, .len = 4, .kind = SIG_REF_RELATIVE, .addend = -4 }, { 0xe9, 0xfb, 0xff, 0xff, 0xff }, 0x1000, true },
	{ "jne", { .at = 2, .len = 4, .kind = SIG_REF_RELATIVE, .addend = -4 }, { 0x0f, 0x85, 0x10, 0, 0, 0 }, 0x1016, true },
	{ "lea x + 8(%rip)", { .at = 3, .len = 4, .kind = SIG_REF_RELATIVE, .addend = 4 }, { 0x48, 0x8d, 0x05, 0x10, 0, 0, 0 }, 0x100f, false },
	{ "mov $x, %edi", { .at = 1, .len = 4, .kind = SIG_REF_ABSOLUTE }, { 0xbf, 0x10, 0x20, 0, 0 }, 0x2010, false },
	{ "addr32 call", { .at = 2, .len = 6, .kind = SIG_REF_GOT }, { 0x67, 0xe8, 0x10, 0, 0, 0 }, 0x1016, true },
	{ "call, nop", { .at = 2, .len = 6, .kind = SIG_REF_GOT }, { 0xe8, 0x10, 0, 0, 0, 0x90 }, 0x1015, true },
	{ "jmp, nop", { .at = 2, .len = 6, .kind = SIG_REF_GOT }, { 0xe9, 0x10, 0, 0, 0, 0x90 }, 0x1015, true },
	{ "call *", { .at = 2, .len = 6, .kind = SIG_REF_GOT }, { 0xff, 0x15, 0x10, 0, 0, 0 }, 0, false },
	{ "lea for mov", { .at = 3, .len = 7, .kind = SIG_REF_GOT }, { 0x48, 0x8d, 0x05, 0x10, 0, 0, 0 }, 0x1017, false },
	{ "mov $ for mov", { .at = 3, .len = 7, .kind = SIG_REF_GOT }, { 0x48, 0xc7, 0xc0, 0x10, 0x20, 0, 0 }, 0x2010, false },
	{ "cmp $ for cmp", { .at = 3, .len = 7, .kind = SIG_REF_GOT }, { 0x48, 0x81, 0xf8, 0x10, 0x20, 0, 0 }, 0x2010, false },
	{ "mov as it was", { .at = 3, .len = 7, .kind = SIG_REF_GOT }, { 0x48, 0x8b, 0x05, 0x10, 0, 0, 0 }, 0, false },
	{ "TLS", { .at = 3, .len = 4, .kind = SIG_REF_OPAQUE }, { 0 }, 0, false },
};

static void test_targets(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		uint64_t target = 0;
		bool branch;
		bool known = inj_sig_target(&targets[i].ref, targets[i].code, 0x1000, &target, &branch);

		print_message("%s\n", targets[i].what);
		assert_int_equal(known, targets[i].target != 0);
		assert_int_equal(branch, targets[i].branch);
		if (known)
			assert_int_equal(target, targets[i].target);
	}
}

/* ---- objects ---- */

#define BASE UINT64_C(0x401000)
#define MAX_CODE 65536

struct object {
	struct inj_sig_in_section sec[12];
	struct inj_sig_in_func func[12];
	struct inj_sig_in_reloc reloc[12];
	uint8_t code[12][600];
	size_t n;
};

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 24;
}

/* A section with one function of @len bytes that depend on @seed, and calls @callee in its middle; NULL: nothing. */
static size_t add(struct object *o, const char *name, uint64_t len, uint32_t seed, const char *callee)
{
	size_t i = o->n++;

	for (uint64_t k = 0; k < len; k++)
		o->code[i][k] = (uint8_t)next_random(&seed);
	o->func[i] = (struct inj_sig_in_func){ 0, len, name, SIG_NAME_GLOBAL };
	o->sec[i] = (struct inj_sig_in_section){ .code = o->code[i], .len = len, .funcs = &o->func[i], .nfuncs = 1,
						 .relocs = &o->reloc[i], .nrelocs = callee != NULL };
	if (callee) {
		o->code[i][len / 2 - 1] = 0xe8;
		o->reloc[i] = (struct inj_sig_in_reloc){ .at = len / 2, .type = R_X86_64_PLT32, .global = callee, .addend = -4 };
	}
	return i;
}

static struct inj_sig_file make(struct object *objects, size_t n, uint8_t **bytes, size_t *len)
{
	struct inj_sig_maker *m = inj_sig_maker_new();
	struct inj_sig_made made;
	struct inj_sig_file f;
	const char *problem;

	assert_non_null(m);
	for (size_t i = 0; i < n; i++)
		assert_true(inj_sig_add_object(m, objects[i].sec, objects[i].n));
	*bytes = inj_sig_lay_out(m, "test.a", len, &made);
	inj_sig_maker_free(m);
	assert_non_null(*bytes);
	assert_true(inj_sig_from(&f, *bytes, *len, true, &problem));
	return f;
}

/* ---- linking ---- */

struct linked {
	uint8_t code[MAX_CODE];
	uint64_t len;
	struct inj_sig_start starts[64];
	size_t n;
	struct inj_sig_piece piece;
	struct inj_sig_slot slot;
};

/* Puts a section at the next multiple of 16; returns its address. */
static uint64_t place(struct linked *l, const struct object *o, size_t i)
{
	uint64_t at = (l->len + 15) / 16 * 16;

	memcpy(l->code + at, o->code[i], o->sec[i].len);
	l->len = at + o->sec[i].len;
	l->starts[l->n++] = (struct inj_sig_start){ BASE + at, o->sec[i].len };
	return BASE + at;
}

static void point(struct linked *l, const struct object *o, size_t i, uint64_t addr, uint64_t target)
{
	uint64_t at = addr + o->sec[i].len / 2;
	int32_t distance = (int32_t)(target - at - 4);

	memcpy(l->code + (at - BASE), &distance, sizeof(distance));
}

static struct inj_sig_result match(struct linked *l, const struct inj_sig_file *f)
{
	struct inj_sig_code code = { .pieces = &l->piece, .npieces = 1, .starts = l->starts, .nstarts = l->n,
				     .slots = &l->slot, .nslots = l->slot.slot != 0 };
	struct inj_sig_result r;

	l->piece = (struct inj_sig_piece){ BASE, l->code, l->len };
	assert_true(inj_sig_match(f, 1, &code, &r));
	return r;
}

/* The name found at an address; "": none, "?": not sure. */
static const char *name_at(const struct inj_sig_result *r, uint64_t addr)
{
	for (size_t i = 0; i < r->nfound; i++)
		if (r->found[i].addr == addr)
			return r->found[i].name;
	for (size_t i = 0; i < r->nunsure; i++)
		if (r->unsure[i].addr == addr)
			return "?";
	return "";
}

/* A large function says what the small one is that it calls; alone that would not be believed. */
static void test_called(void **state)
{
	static struct object o;
	static struct linked l;
	size_t len, big, small;
	uint64_t at_big, at_small;
	uint8_t *bytes;
	struct inj_sig_file f;
	struct inj_sig_result r;

	(void)state;
	o = (struct object){ 0 };
	big = add(&o, "big", 400, 1, "small");
	small = add(&o, "small", 10, 2, NULL);
	f = make(&o, 1, &bytes, &len);

	l = (struct linked){ 0 };
	at_small = place(&l, &o, small);
	r = match(&l, &f);
	assert_string_equal(name_at(&r, at_small), "?");
	inj_sig_result_free(&r);

	at_big = place(&l, &o, big);
	point(&l, &o, big, at_big, at_small);
	r = match(&l, &f);
	assert_string_equal(name_at(&r, at_small), "small");
	assert_string_equal(name_at(&r, at_big), "big");
	assert_int_equal(r.nfound, 2);
	inj_sig_result_free(&r);

	/* one byte of it is another's */
	l.code[300] ^= 1;
	r = match(&l, &f);
	assert_string_equal(name_at(&r, at_big), "");
	assert_string_equal(name_at(&r, at_small), "?");
	inj_sig_result_free(&r);
	inj_sig_close(&f);
	free(bytes);
}

/* What is called need not be the archive's: a program may bring its own, whose name is known all the same. */
static void test_foreign(void **state)
{
	static struct object o, own;
	static struct linked l;
	size_t len, big, mine;
	uint64_t at_big, at_mine;
	uint8_t *bytes;
	struct inj_sig_file f;
	struct inj_sig_result r;

	(void)state;
	o = own = (struct object){ 0 };
	l = (struct linked){ 0 };
	big = add(&o, "big", 400, 1, "malloc");
	mine = add(&own, "mine", 50, 9, NULL);
	f = make(&o, 1, &bytes, &len);
	at_mine = place(&l, &own, mine);
	at_big = place(&l, &o, big);
	point(&l, &o, big, at_big, at_mine);
	r = match(&l, &f);
	assert_string_equal(name_at(&r, at_mine), "malloc");
	inj_sig_result_free(&r);
	inj_sig_close(&f);
	free(bytes);
}

/* Equal bodies: what they call tells them apart, or nothing does. */
static void test_alike(void **state)
{
	static struct object o;
	static struct linked l;
	size_t len, x, y, fx, fy;
	uint64_t at_x, at_y, at_fx, at_fy;
	uint8_t *bytes;
	struct inj_sig_file f;
	struct inj_sig_result r;

	(void)state;
	o = (struct object){ 0 };
	l = (struct linked){ 0 };
	fx = add(&o, "fx", 80, 7, "x");
	x = add(&o, "x", 400, 1, NULL);
	fy = add(&o, "fy", 80, 7, "y");
	y = add(&o, "y", 400, 2, NULL);
	f = make(&o, 1, &bytes, &len);
	at_x = place(&l, &o, x);
	at_y = place(&l, &o, y);
	l.len += 200;
	at_fy = place(&l, &o, fy);
	l.len += 200;
	at_fx = place(&l, &o, fx);
	point(&l, &o, fx, at_fx, at_x);
	point(&l, &o, fy, at_fy, at_y);
	r = match(&l, &f);
	assert_string_equal(name_at(&r, at_fx), "fx");
	assert_string_equal(name_at(&r, at_fy), "fy");
	inj_sig_result_free(&r);

	/* neither of them */
	point(&l, &o, fy, at_fy, at_fx);
	l.code[at_fx - BASE + 3] ^= 1;
	r = match(&l, &f);
	assert_string_equal(name_at(&r, at_fx), "");
	assert_true(strcmp(name_at(&r, at_fy), "fx") != 0 && strcmp(name_at(&r, at_fy), "fy") != 0);
	inj_sig_result_free(&r);
	inj_sig_close(&f);
	free(bytes);
}

/* Nothing is known of starts: code is searched. */
static void test_scan(void **state)
{
	static struct object o;
	static struct linked l;
	size_t len, big;
	uint64_t at;
	uint8_t *bytes;
	struct inj_sig_file f;
	struct inj_sig_result r;

	(void)state;
	o = (struct object){ 0 };
	l = (struct linked){ .len = 1003 };
	big = add(&o, "big", 400, 1, NULL);
	f = make(&o, 1, &bytes, &len);
	at = place(&l, &o, big);
	l.n = 0;
	r = match(&l, &f);
	assert_string_equal(name_at(&r, at), "big");
	assert_int_equal(r.found[0].size, 400);
	inj_sig_result_free(&r);
	inj_sig_close(&f);
	free(bytes);
}

/* A call of an IFUNC goes to an entry of the PLT, and means its resolver. */
static void test_ifunc(void **state)
{
	static const uint8_t entry[] = { 0xff, 0x25, 0xfa, 0x0f, 0, 0 }; /* of the slot 0x1000 after it */
	static struct object o;
	static struct linked l;
	size_t len, big, resolver;
	uint64_t at_big, at_resolver, plt;
	uint8_t *bytes;
	struct inj_sig_file f;
	struct inj_sig_result r;

	(void)state;
	o = (struct object){ 0 };
	l = (struct linked){ 0 };
	big = add(&o, "big", 400, 1, "memcpy");
	resolver = add(&o, "memcpy", 20, 3, NULL);
	o.func[resolver].flags |= SIG_NAME_IFUNC;
	f = make(&o, 1, &bytes, &len);
	at_resolver = place(&l, &o, resolver);
	at_big = place(&l, &o, big);
	plt = BASE + (l.len + 15) / 16 * 16;
	memcpy(l.code + (plt - BASE), entry, sizeof(entry));
	l.len = plt - BASE + sizeof(entry);
	point(&l, &o, big, at_big, plt);
	l.slot = (struct inj_sig_slot){ plt + 0x1000, at_resolver };
	r = match(&l, &f);
	assert_string_equal(name_at(&r, at_resolver), "memcpy");
	assert_true(r.found[0].flags & SIG_NAME_IFUNC);
	assert_string_equal(name_at(&r, plt), "");
	inj_sig_result_free(&r);
	inj_sig_close(&f);
	free(bytes);
}

/* ---- files ---- */

static void test_damaged(void **state)
{
	static struct object o;
	size_t len, good = 0;
	const char *problem;
	uint8_t *bytes;
	struct inj_sig_file f;

	(void)state;
	o = (struct object){ 0 };
	add(&o, "big", 400, 1, "small");
	add(&o, "small", 10, 2, NULL);
	f = make(&o, 1, &bytes, &len);
	inj_sig_close(&f);
	for (size_t i = 0; i < len; i++) {
		bytes[i] ^= 0x55;
		if (inj_sig_from(&f, bytes, len, false, &problem))
			good++; /* it does not matter, as in a name */
		inj_sig_close(&f);
		assert_false(inj_sig_from(&f, bytes, len, true, &problem));
		inj_sig_close(&f);
		bytes[i] ^= 0x55;
	}
	assert_in_range(good, 1, len / 2);
	assert_false(inj_sig_from(&f, bytes, len - 1, false, &problem));
	inj_sig_close(&f);
	bytes[8]++;
	assert_false(inj_sig_from(&f, bytes, len, true, &problem));
	assert_non_null(strstr(problem, "another version"));
	inj_sig_close(&f);
	free(bytes);
}

/* The same object twice is there once. */
static void test_twice(void **state)
{
	static struct object o;
	struct inj_sig_file f;
	uint8_t *bytes;
	size_t len;

	(void)state;
	o = (struct object){ 0 };
	add(&o, "big", 400, 1, "small");
	add(&o, "small", 10, 2, NULL);
	f = make((struct object[]){ o, o }, 2, &bytes, &len);
	assert_int_equal(f.nunits, 2);
	assert_int_equal(f.nfuncs, 2);
	inj_sig_close(&f);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masks),	cmocka_unit_test(test_targets), cmocka_unit_test(test_called),
		cmocka_unit_test(test_foreign), cmocka_unit_test(test_alike),	cmocka_unit_test(test_scan),
		cmocka_unit_test(test_ifunc),	cmocka_unit_test(test_damaged), cmocka_unit_test(test_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
