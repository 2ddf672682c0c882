// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * System calls that may be rt_sigaction: 13 is moved to eax shortly before, or the caller says which call it is: in
 * functions like syscall(), and where a C library has a common end for all its system calls, which begins with a move to r10
 * (klibc's __syscall_common, dietlibc's __unified_syscall).
 */
#include "config.h"

#include <string.h>

#include "injector/facts/facts-int.h"

#define SYSCALL_SIZE 2
#define MAX_DISTANCE 96
#define MAX_INSNS 16

/* mov $13, %eax; mov $13, %rax; push $13, pop %rax.  Its length, 0: something else. */
static size_t sets_sigaction(const uint8_t *p, size_t avail)
{
	static const struct {
		uint8_t len, bytes[7];
	} forms[] = {
		{ 5, { 0xb8, 13, 0, 0, 0 } },
		{ 7, { 0x48, 0xc7, 0xc0, 13, 0, 0, 0 } },
		{ 3, { 0x6a, 13, 0x58 } },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (avail >= forms[i].len && memcmp(p, forms[i].bytes, forms[i].len) == 0)
			return forms[i].len;
	return 0;
}

static bool ends_straight_code(const uint8_t *p)
{
	return p[0] == 0xc3 || p[0] == 0xc2 || p[0] == 0xe9 || p[0] == 0xeb;
}

/* Do instructions follow each other from @at to exactly @to? */
static bool leads_to(const uint8_t *bytes, size_t at, size_t to)
{
	for (int i = 0; i < MAX_INSNS && at < to; i++) {
		size_t len = tramp_insn_length(bytes + at, to + SYSCALL_SIZE - at);

		if (!len || ends_straight_code(bytes + at))
			return false;
		at += len;
	}
	return at == to;
}

bool inj_codefacts_common_end(const uint8_t *code, size_t from, size_t at)
{
	static const uint8_t mov[INJ_COMMON_END_MOV] = { 0x49, 0x89, 0xca };

	return at - from >= sizeof(mov) && memcmp(code + at - sizeof(mov), mov, sizeof(mov)) == 0;
}

size_t inj_codefacts_sigaction(const uint8_t *code, size_t from, size_t at)
{
	if (inj_codefacts_common_end(code, from, at))
		return at - INJ_COMMON_END_MOV;
	if (at - from > MAX_DISTANCE)
		from = at - MAX_DISTANCE;
	for (size_t i = at; i-- > from;) {
		size_t len = sets_sigaction(code + i, at - i);

		if (len && leads_to(code, i + len, at))
			return i;
	}
	return at;
}

static void consider(struct inj_cf *cf, const struct tramp_bytes *piece, size_t at)
{
	size_t f = inj_cf_function(cf, piece->addr + at);
	size_t from = at > MAX_DISTANCE ? at - MAX_DISTANCE : 0;
	uint32_t facts = 0;

	if (f < cf->nfns) {
		uint64_t start = cf->fns[f].addr - piece->addr;

		facts = inj_cf_name(cf->info[f].name);
		if (start <= at && (facts & INJ_NAME_SYSCALL) && at - start <= MAX_DISTANCE &&
		    leads_to(piece->bytes, start, at)) {
			inj_addrs_add(&cf->sigaction, piece->addr + at);
			return;
		}
		from = start <= at && start > from ? start : from;
	}
	if (inj_codefacts_sigaction(piece->bytes, from, at) != at)
		inj_addrs_add(&cf->sigaction, piece->addr + at);
}

static void scan_piece(struct inj_cf *cf, const struct tramp_bytes *piece)
{
	const uint8_t *p = piece->bytes, *last = p + piece->len - 1;

	/* 0f begins many instructions, 05 is seldom: faster than memmem() */
	while (p < last && (p = memchr(p + 1, 0x05, (size_t)(last - p))))
		if (p[-1] == 0x0f)
			consider(cf, piece, (size_t)(p - 1 - piece->bytes));
		else if (p == last)
			break;
}

void inj_cf_sigaction(struct inj_cf *cf)
{
	for (size_t i = 0; i < cf->nbytes; i++)
		if (cf->bytes[i].code)
			scan_piece(cf, &cf->bytes[i]);
	inj_addrs_sort(&cf->sigaction);
}
