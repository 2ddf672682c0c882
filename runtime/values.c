// SPDX-License-Identifier: MIT
#include "runtime/values.h"
#include "runtime/x86-64/sys.h"
#include "runtime/thread.h"

#define PAGE 4096

static uint64_t vector(unsigned int i)
{
	uint64_t v = 0;

	switch (i) {
#define LOW_HALF(n) case n: __asm__("movq %%xmm" #n ", %0" : "=r"(v)); break
	LOW_HALF(0);
	LOW_HALF(1);
	LOW_HALF(2);
	LOW_HALF(3);
	LOW_HALF(4);
	LOW_HALF(5);
	LOW_HALF(6);
	LOW_HALF(7);
#undef LOW_HALF
	}
	return v;
}

/* By the processor's numbers; rbx and r12 to r15 are none that probes use here. */
static uint64_t general(const uint64_t *regs, unsigned int i)
{
	static const int8_t place[16] = { -1, -2, -3, 0, 0, 0, -4, -5, -6, -7, -8, -9, 0, 0, 0, 0 };

	return regs[place[i & 15]];
}

static uint64_t word_of(const struct rt_probe_value *v, const struct rt_values_at *at)
{
	const uint64_t *stack = (const uint64_t *)at->stack;
	uint8_t from = v->from;

	if (from == RT_FROM_CONST)
		return (uint64_t)(int64_t)v->offset;
	if (from == RT_FROM_FRAME)
		return *(const uint64_t *)(at->frame + (uint64_t)(int64_t)v->offset);
	if (from >= RT_FROM_VECTOR)
		return vector(from - RT_FROM_VECTOR);
	if (from >= RT_FROM_RED)
		return stack[-(int)(from - RT_FROM_RED) - 1];
	if (from >= RT_FROM_STACK)
		return stack[from - RT_FROM_STACK];
	return general(at->regs, from);
}

/* Words do not cross pages if they are aligned. */
static int can_read(uint64_t addr)
{
	return sys_is_readable(addr & ~UINT64_C(7));
}

/* A string in a record: its length and its bytes.  Returns how many words. */
static uint64_t put_string(uint64_t *to, uint64_t addr)
{
	uint64_t n, word = 0;

	for (n = 0; n < RT_VALUE_STRING_MAX; n++) {
		uint64_t byte;

		if ((n == 0 || (addr + n) % PAGE == 0) && !can_read(addr + n))
			break;
		byte = *(const volatile uint8_t *)(addr + n);
		if (!byte)
			break;
		word |= byte << 8 * (n % 8);
		if (n % 8 == 7) {
			to[1 + n / 8] = word;
			word = 0;
		}
	}
	if (n % 8)
		to[1 + n / 8] = word;
	to[0] = n;
	return 1 + (n + 7) / 8;
}

static uint64_t put_text(uint64_t *to, uint64_t addr)
{
	static const char none[] = "(null)", bad[] = "(bad pointer)";

	if (!addr)
		return put_string(to, (uint64_t)none);
	return put_string(to, can_read(addr) ? addr : (uint64_t)bad);
}

/* What @addr points to, as a word. */
static uint64_t value_at(const struct rt_probe_value *v, uint64_t addr)
{
	unsigned int unused = 64 - 8u * v->bytes;
	uint64_t word = 0;

	if (!can_read(addr) || !can_read(addr + v->bytes - 1)) {
		if (v->kind != RT_VALUE_INDIRECT_FLOAT)
			return RT_VALUE_UNREADABLE;
		return v->bytes == 4 ? 0x7fc00000 : UINT64_C(0x7ff8000000000000);
	}
	for (unsigned int i = 0; i < v->bytes; i++)
		word |= (uint64_t)((const volatile uint8_t *)addr)[i] << 8 * i;
	word <<= unused;
	return v->kind != RT_VALUE_INDIRECT ? word >> unused : (uint64_t)((int64_t)word >> unused);
}

uint64_t rt_values_most(const struct rt_probe_desc *desc)
{
	uint64_t n = 0;

	for (int i = 0; i < desc->nvalues; i++)
		n += 8 + (desc->value[i].kind == RT_VALUE_STRING ? RT_VALUE_STRING_MAX : 0);
	return n;
}

uint64_t rt_values_put(uint64_t *to, const struct rt_probe_desc *desc, const struct rt_values_at *at)
{
	uint64_t n = 0;

	for (int i = 0; i < desc->nvalues; i++) {
		const struct rt_probe_value *v = &desc->value[i];
		uint64_t word = word_of(v, at);

		if (v->kind == RT_VALUE_STRING)
			n += put_text(to + n, word);
		else
			to[n++] = v->kind == RT_VALUE_WORD ? word : value_at(v, word);
	}
	return n;
}
