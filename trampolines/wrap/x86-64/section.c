// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Branches from anywhere in a section to the inside of what patches may cover. Compilers make them
 * from cold parts back into their functions; hand-written code lets functions share their bodies
 * (glibc's mempcpy jumps behind memmove's first instruction).
 */
#include <stdlib.h>
#include <string.h>

#include <emmintrin.h>

#include "trampolines/trampoline.h"
#include "trampolines/insn/x86-64/decode.h"

enum {
	COVERED_MAX = 4 + TRAMP_DISPLACED_MAX,	/* from a function's start, with endbr64 */
	SHORT_REACH = 128,
	UNIT = 16,
	FILTER_BITS = 1 << 16,
	STREAMS = 16,
	WARM_UP = 24,		/* bytes after which streams have mostly met */
};

/*
 * Most branches go nowhere near a patch. The filter has a bit for each 16 bytes, modulo its size,
 * that a patch may cover; only what passes it is searched for.
 */
struct search {
	const uint8_t *code;
	size_t len;
	uint64_t addr;
	const struct tramp_range *functions;
	size_t nfunctions;
	struct tramp_branch *branches;
	size_t room;
	size_t found;
	uint8_t filter[FILTER_BITS / 8];
};

static size_t filter_bit(uint64_t addr)
{
	return addr / UNIT % FILTER_BITS;
}

static void fill_filter(struct search *s)
{
	for (size_t i = 0; i < s->nfunctions; i++) {
		for (uint64_t at = 0; at < COVERED_MAX + UNIT; at += UNIT) {
			size_t bit = filter_bit(s->functions[i].addr + at);

			s->filter[bit / 8] |= (uint8_t)(1u << bit % 8);
		}
	}
}

static bool is_own(const struct tramp_range *fn, uint64_t from)
{
	return from >= fn->addr && from - fn->addr < fn->size;
}

/* The function whose first bytes a branch at `from` to `target` would enter; NULL: none, its own. */
static const struct tramp_range *entered(const struct search *s, uint64_t from, uint64_t target)
{
	size_t low = 0, high = s->nfunctions, bit = filter_bit(target);
	const struct tramp_range *fn;

	if (!(s->filter[bit / 8] & 1u << bit % 8))
		return NULL;
	while (low < high) {	/* the first function that does not start before the target */
		size_t mid = low + (high - low) / 2;

		if (s->functions[mid].addr < target)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || (low < s->nfunctions && s->functions[low].addr == target))
		return NULL;
	fn = &s->functions[low - 1];
	return target - fn->addr < COVERED_MAX && !is_own(fn, from) ? fn : NULL;
}

/* Any byte of a branch tells where it is from: `from` is the last of its opcode. */
static void note(struct search *s, size_t from, uint64_t target)
{
	if (s->found < s->room)
		s->branches[s->found] = (struct tramp_branch){ s->addr + from, target };
	s->found++;
}

/*
 * A bit for each of 16 bytes that may be the last of an opcode with 32 bits of displacement: call,
 * jmp, and jcc behind its 0f. The byte before the first is looked at, too.
 */
static unsigned int near_opcodes(const uint8_t *code)
{
	__m128i last = _mm_loadu_si128((const __m128i *)code);
	__m128i first = _mm_loadu_si128((const __m128i *)(code - 1));
	__m128i call = _mm_cmpeq_epi8(_mm_and_si128(last, _mm_set1_epi8((char)0xfe)),
				      _mm_set1_epi8((char)0xe8));
	__m128i jcc = _mm_cmpeq_epi8(_mm_and_si128(last, _mm_set1_epi8((char)0xf0)),
				     _mm_set1_epi8((char)0x80));

	jcc = _mm_and_si128(jcc, _mm_cmpeq_epi8(first, _mm_set1_epi8(0x0f)));
	return (unsigned int)_mm_movemask_epi8(_mm_or_si128(call, jcc));
}

enum answer { UNKNOWN, NO, YES };

/* Decode at `from`; the length, or 1 for what is no instruction. */
static size_t next_length(const struct search *s, size_t from, struct tramp_decoded *insn)
{
	if (!tramp_decode(s->code + from, s->len - from, insn))
		*insn = (struct tramp_decoded){ .length = 1 };
	return insn->length;
}

/*
 * Whether the displacement at `disp` is that of a branch, for a decoder that starts `back` bytes
 * before it. answers[], by distance, remembers: decoders that meet go on alike.
 */
static enum answer ask(const struct search *s, size_t disp, size_t back, enum answer *answers)
{
	size_t path[WARM_UP + STREAMS + 1];
	enum answer answer = UNKNOWN;
	size_t steps = 0;

	while (answer == UNKNOWN) {
		struct tramp_decoded insn;
		size_t length = next_length(s, disp - back, &insn);

		path[steps++] = back;
		if (length <= back)
			answer = answers[back -= length];
		else
			answer = insn.disp_size && !insn.rip_relative &&
				 insn.disp_offset == back ? YES : NO;
	}
	while (steps > 0)
		answers[path[--steps]] = answer;
	return answer;
}

/*
 * In the middle of unknown code, no instruction's start is known. But decoding falls into step by
 * itself: sixteen starts in a row soon lead to the same instructions. Where one of them finds the
 * branch it is taken for one: a function refused for nothing is better than one broken.
 */
static bool is_displacement(const struct search *s, size_t disp)
{
	enum answer answers[WARM_UP + STREAMS + 1] = { UNKNOWN };

	if (disp < WARM_UP + STREAMS)
		return true;
	for (int i = 0; i < STREAMS; i++) {
		size_t back = (size_t)(WARM_UP + STREAMS - i);

		if (answers[back] == UNKNOWN)
			ask(s, disp, back, answers);
		if (answers[back] == YES)
			return true;
	}
	return false;
}

/* The same, from where an instruction is known to start. */
static bool is_displacement_from(const struct search *s, size_t from, size_t disp)
{
	struct tramp_decoded insn;

	while (from + next_length(s, from, &insn) <= disp)
		from += insn.length;
	return insn.disp_size && !insn.rip_relative && from + insn.disp_offset == disp;
}

static void check_near(struct search *s, size_t disp)
{
	uint64_t target;
	int32_t rel;

	memcpy(&rel, s->code + disp, sizeof(rel));
	target = s->addr + disp + 4 + (uint64_t)(int64_t)rel;
	if (entered(s, s->addr + disp, target) && is_displacement(s, disp))
		note(s, disp - 1, target);
}

/* In the few bytes where 16 at a time would leave the section. */
static void search_near_bytewise(struct search *s, size_t from, size_t to)
{
	for (size_t i = from; i < to && i + 5 <= s->len; i++) {
		bool jcc = (s->code[i] & 0xf0) == 0x80 && i > 0 && s->code[i - 1] == 0x0f;

		if ((s->code[i] & 0xfe) == 0xe8 || jcc)
			check_near(s, i + 1);
	}
}

static void search_near(struct search *s)
{
	size_t i = 1;

	search_near_bytewise(s, 0, 1);
	for (; i + 16 + 4 <= s->len; i += 16) {
		unsigned int bits = near_opcodes(s->code + i);

		for (; bits; bits &= bits - 1)
			check_near(s, i + (size_t)__builtin_ctz(bits) + 1);
	}
	search_near_bytewise(s, i, s->len);
}

static bool is_short_branch(uint8_t opcode)
{
	return (opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0 || opcode == 0xeb;
}

/* Short branches: only around each start, but many bytes look like one. */
static void search_short(struct search *s, const struct tramp_range *fn)
{
	size_t at = (size_t)(fn->addr - s->addr);
	size_t last = at + COVERED_MAX + SHORT_REACH;

	if (last > s->len)
		last = s->len;
	for (size_t i = at > SHORT_REACH ? at - SHORT_REACH : 1; i < last; i++) {
		uint64_t target = s->addr + i + 1 + (uint64_t)(int64_t)(int8_t)s->code[i];

		if (target - fn->addr - 1 >= COVERED_MAX - 1 || !is_short_branch(s->code[i - 1]) ||
		    entered(s, s->addr + i, target) != fn)
			continue;
		if (i > at ? is_displacement_from(s, at, i) : is_displacement(s, i))
			note(s, i - 1, target);
	}
}

static int by_target(const void *left, const void *right)
{
	const struct tramp_branch *a = left, *b = right;

	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

size_t tramp_find_branches(const uint8_t *code, size_t len, uint64_t addr,
			   const struct tramp_range *functions, size_t nfunctions,
			   struct tramp_branch *branches, size_t room)
{
	struct search s = {
		.code = code, .len = len, .addr = addr,
		.functions = functions, .nfunctions = nfunctions,
		.branches = branches, .room = room,
	};

	fill_filter(&s);
	search_near(&s);
	for (size_t i = 0; i < nfunctions; i++) {
		if (functions[i].addr >= addr && functions[i].addr - addr < len)
			search_short(&s, &functions[i]);
	}
	if (s.found && room)
		qsort(branches, s.found < room ? s.found : room, sizeof(*branches), by_target);
	return s.found;
}
