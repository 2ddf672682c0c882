/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file of signatures, damaged, and code to find its functions in.  What can be opened has to be matched, and what is found has to lie
 * in the code, with names of the file.
 *
 * Input: the file, as long as its head says, whose checksum does not matter; the rest is code, where each 16th byte may start a function.
 * Or what is kept of results, which begins with 0xff and is of 64 KiB of code; its checksum does not matter either.
 */
#include <stdlib.h>
#include <string.h>

#include "injector/signatures/sigkept.h"
#include "tests/fuzz/require.h"

#define BASE UINT64_C(0x401000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct inj_sig_file *f, const struct inj_sig_found *v, size_t n, size_t len)
{
	for (size_t i = 0; i < n; i++) {
		REQUIRE(v[i].addr >= BASE && v[i].addr < BASE + len);
		REQUIRE(v[i].size <= SIG_MAX_LEN);
		REQUIRE(v[i].name >= f->text && v[i].name < f->text + f->ntext && v[i].file == 0);
		REQUIRE(strlen(v[i].name) < f->ntext);
		REQUIRE(!i || v[i - 1].addr <= v[i].addr);
	}
}

static void match(const struct inj_sig_file *f, const uint8_t *bytes, size_t len)
{
	struct inj_sig_piece piece = { BASE, bytes, len };
	struct inj_sig_start *starts = calloc(len / 16 + 1, sizeof(*starts));
	struct inj_sig_known known = { BASE + 16, "known" };
	struct inj_sig_code code = { .pieces = &piece, .npieces = len != 0, .starts = starts, .nstarts = len / 16, .known = &known, .nknown = 1 };
	struct inj_sig_result r;

	REQUIRE(starts);
	for (size_t i = 0; i < len / 16; i++)
		starts[i] = (struct inj_sig_start){ BASE + 16 * i, bytes[16 * i] & 1 ? bytes[16 * i] : 0 };
	REQUIRE(inj_sig_match(f, 1, &code, &r));
	check(f, r.found, r.nfound, len);
	check(f, r.unsure, r.nunsure, len);
	inj_sig_result_free(&r);
	free(starts);
}

static void feed_kept(const uint8_t *data, size_t size)
{
	struct inj_elf elf = { .nsegs = 1, .segs[0] = { .addr = BASE, .len = 65536, .flags = PF_X } };
	uint8_t *file = malloc(size);
	struct inj_sig_names names;

	REQUIRE(file);
	memcpy(file, data, size);
	if (inj_sig_kept_from(file, size, false, &elf, &names)) {
		for (size_t i = 0; i < names.n + names.nunsure; i++) {
			const struct inj_sig_name_of *v = &names.v[i];

			REQUIRE(v->addr >= BASE && v->addr < BASE + 65536 && v->size <= BASE + 65536 - v->addr);
			REQUIRE((const uint8_t *)v->name + strlen(v->name) < file + size && (const uint8_t *)v->source + strlen(v->source) < file + size);
			REQUIRE(!i || i == names.n || v[-1].addr <= v->addr);
		}
		inj_sig_names_free(&names);
	}
	free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sig_head head = { 0 };
	struct inj_sig_file f;
	const char *problem;
	size_t len = size;
	uint8_t *file;

	if (size && data[0] == 0xff) {
		feed_kept(data, size);
		return 0;
	}
	memcpy(&head, data, size < sizeof(head) ? size : sizeof(head));
	if (size >= sizeof(head) && head.len <= size)
		len = head.len;
	file = malloc(len + 1);
	REQUIRE(file);
	memcpy(file, data, len);
	if (inj_sig_from(&f, file, len, false, &problem))
		match(&f, data + len, size - len);
	else
		REQUIRE(problem && *problem);
	inj_sig_close(&f);
	free(file);
	return 0;
}
