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
#include "trampolines/x86-64/decode.h"

enum {
	COVERED_MAX = 4 + TRAMP_PATCH_MAX,	/* from a function's start: endbr64 and the patch */
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
	const uint64_t *starts;
	size_t nstarts;
	uint64_t *targets;
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
	for (size_t i = 0; i < s->nstarts; i++) {
		for (uint64_t at = 0; at < COVERED_MAX + UNIT; at += UNIT) {
			size_t bit = filter_bit(s->starts[i] + at);

			s->filter[bit / 8] |= (uint8_t)(1u << bit % 8);
		}
	}
}

/* Whether `target` is covered, yet is no start. */
static bool is_inside(const struct search *s, uint64_t target)
{
	size_t low = 0, high = s->nstarts, bit = filter_bit(target);

	if (!(s->filter[bit / 8] & 1u << bit % 8))
		return false;
	while (low < high) {	/* the first start that is not below the target */
		size_t mid = low + (high - low) / 2;

		if (s->starts[mid] < target)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < s->nstarts && s->starts[low] == target)
		return false;
	return low > 0 && target - s->starts[low - 1] < COVERED_MAX;
}

static void note(struct search *s, uint64_t target)
{
	if (s->found < s->room)
		s->targets[s->found] = target;
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

/*
 * Whether the displacement at `disp` is that of a branch, for a decoder that stands at `from`. What
 * it says of later places is in known[], by distance from `disp`; the answer is added there.
 */
static bool decide(const struct search *s, size_t from, size_t disp, bool *known)
{
	struct insn insn;
	size_t next;

	if (!decode_insn(s->code + from, s->len - from, &insn))
		insn = (struct insn){ .length = 1 };
	next = from + insn.length;
	if (next <= disp)
		known[disp - from] = known[disp - next];
	else
		known[disp - from] = insn.disp_size && !insn.rip_relative &&
				     from + insn.disp_offset == disp;
	return known[disp - from];
}

/*
 * In the middle of unknown code, no instruction's start is known. But decoding falls into step by
 * itself: of sixteen starts in a row, most lead to the same instructions.
 */
static bool is_displacement(const struct search *s, size_t disp)
{
	bool known[WARM_UP + STREAMS + 1] = { false };
	size_t first = WARM_UP + STREAMS;
	int votes = 0;

	if (disp < first)
		return true;
	for (size_t back = 1; back <= first; back++) {
		bool yes = decide(s, disp - back, disp, known);

		votes += yes && back > WARM_UP;
	}
	return votes >= STREAMS / 2;
}

/* The same, from where an instruction is known to start. */
static bool is_displacement_from(const struct search *s, size_t from, size_t disp)
{
	struct insn insn;

	for (;;) {
		if (!decode_insn(s->code + from, s->len - from, &insn))
			insn = (struct insn){ .length = 1 };
		if (from + insn.length > disp)
			return insn.disp_size && !insn.rip_relative &&
			       from + insn.disp_offset == disp;
		from += insn.length;
	}
}

static void check_near(struct search *s, size_t disp)
{
	uint64_t target;
	int32_t rel;

	memcpy(&rel, s->code + disp, sizeof(rel));
	target = s->addr + disp + 4 + (uint64_t)(int64_t)rel;
	if (is_inside(s, target) && is_displacement(s, disp))
		note(s, target);
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
static void search_short(struct search *s, uint64_t start)
{
	size_t at = (size_t)(start - s->addr);
	size_t last = at + COVERED_MAX + SHORT_REACH;

	if (last > s->len)
		last = s->len;
	for (size_t i = at > SHORT_REACH ? at - SHORT_REACH : 1; i < last; i++) {
		uint64_t target = s->addr + i + 1 + (uint64_t)(int64_t)(int8_t)s->code[i];

		if (target <= start || target - start >= COVERED_MAX ||
		    !is_short_branch(s->code[i - 1]) || !is_inside(s, target))
			continue;
		if (i > at ? is_displacement_from(s, at, i) : is_displacement(s, i))
			note(s, target);
	}
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

size_t tramp_find_branches(const uint8_t *code, size_t len, uint64_t addr, const uint64_t *starts,
			   size_t nstarts, uint64_t *targets, size_t room)
{
	struct search s = {
		.code = code, .len = len, .addr = addr, .starts = starts, .nstarts = nstarts,
		.targets = targets, .room = room,
	};

	fill_filter(&s);
	search_near(&s);
	for (size_t i = 0; i < nstarts; i++) {
		if (starts[i] >= addr && starts[i] - addr < len)
			search_short(&s, starts[i]);
	}
	if (s.found && room)
		qsort(targets, s.found < room ? s.found : room, sizeof(*targets), by_value);
	return s.found;
}
