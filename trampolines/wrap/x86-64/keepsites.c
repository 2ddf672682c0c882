// SPDX-License-Identifier: GPL-3.0-or-later
#include "trampolines/wrap/x86-64/keepsites.h"

#include <stdlib.h>
#include <string.h>

#include <emmintrin.h>

#include "trampolines/insn/x86-64/decode.h"

enum { UNIT = 16, DISP_SIZE = 4, FIRST_ROOM = 64 };

bool tramp_keep_is_plt(const struct tramp_object *object, uint64_t addr)
{
	const uint8_t *at = object->code + (addr - object->addr);
	size_t left = object->len - (addr - object->addr);
	size_t skip = tramp_endbr64_size(at, left);

	if (skip < left && at[skip] == 0xf2)
		skip++;
	return left - skip >= 2 && at[skip] == 0xff && at[skip + 1] == 0x25;
}

static void add(struct keep_sites *s, uint64_t from, uint64_t to)
{
	if (s->n == s->room) {
		size_t room = s->room ? s->room * 2 : FIRST_ROOM;
		void *sites = reallocarray(s->sites, room, sizeof(*s->sites));

		if (!sites) {
			s->no_memory = true;
			return;
		}
		s->sites = sites;
		s->room = room;
	}
	s->sites[s->n++] = (struct tramp_branch){ from, to };
}

static void check(struct keep_sites *s, size_t opcode)
{
	size_t at = opcode + 1;
	uint64_t to;
	int32_t rel;

	memcpy(&rel, s->object->code + at, sizeof(rel));
	to = at + DISP_SIZE + (uint64_t)(int64_t)rel;
	if (to < s->object->len && (s->wanted[to / 8] & 1u << to % 8 ||
				    tramp_keep_is_plt(s->object, s->object->addr + to)))
		add(s, s->object->addr + opcode, s->object->addr + to);
}

/* A bit for each of 16 bytes that may be the last of call's, jmp's or jcc's opcode. */
static unsigned int branch_opcodes(const uint8_t *code)
{
	__m128i last = _mm_loadu_si128((const __m128i *)code);
	__m128i first = _mm_loadu_si128((const __m128i *)(code - 1));
	__m128i near = _mm_cmpeq_epi8(_mm_and_si128(last, _mm_set1_epi8((char)0xfe)),
				      _mm_set1_epi8((char)0xe8));
	__m128i jcc = _mm_cmpeq_epi8(_mm_and_si128(last, _mm_set1_epi8((char)0xf0)),
				     _mm_set1_epi8((char)0x80));

	jcc = _mm_and_si128(jcc, _mm_cmpeq_epi8(first, _mm_set1_epi8(0x0f)));
	return (unsigned int)_mm_movemask_epi8(_mm_or_si128(near, jcc));
}

static void search_bytewise(struct keep_sites *s, size_t from, size_t to)
{
	const uint8_t *code = s->object->code;

	for (size_t i = from; i < to && i + 1 + DISP_SIZE <= s->object->len; i++) {
		bool jcc = (code[i] & 0xf0) == 0x80 && i > 0 && code[i - 1] == 0x0f;

		if ((code[i] & 0xfe) == 0xe8 || jcc)
			check(s, i);
	}
}

static void search(struct keep_sites *s)
{
	size_t i = 1;

	search_bytewise(s, 0, 1);
	for (; i + UNIT + DISP_SIZE <= s->object->len; i += UNIT) {
		unsigned int bits = branch_opcodes(s->object->code + i);

		for (; bits; bits &= bits - 1)
			check(s, i + (size_t)__builtin_ctz(bits));
	}
	search_bytewise(s, i, s->object->len);
}

static int by_target(const void *left, const void *right)
{
	const struct tramp_branch *a = left, *b = right;

	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

bool tramp_keep_sites_find(struct keep_sites *s, const struct tramp_object *object,
		     const uint64_t *addrs, size_t naddrs)
{
	*s = (struct keep_sites){ .object = object };
	s->wanted = calloc(object->len / 8 + 1, 1);
	if (!s->wanted)
		return false;
	for (size_t i = 0; i < naddrs; i++) {
		uint64_t at = addrs[i] - object->addr;

		if (at < object->len)
			s->wanted[at / 8] |= (uint8_t)(1u << at % 8);
	}
	search(s);
	if (s->n)
		qsort(s->sites, s->n, sizeof(*s->sites), by_target);
	return !s->no_memory;
}

void tramp_keep_sites_free(struct keep_sites *s)
{
	free(s->sites);
	free(s->wanted);
}

size_t tramp_keep_sites_first(const struct keep_sites *s, uint64_t addr)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->sites[mid].to < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}
