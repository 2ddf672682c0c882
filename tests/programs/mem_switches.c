/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: mem_switches: jump tables in loops, computed gotos, state machines. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "work.h"

static int memory[64];

OPAQUE long table(const char *p, int n)
{
	long s = 0;

	for (int i = 0; i < n; i++) {
		switch (p[i]) {
		case 'a': s += memory[i & 63]; break;
		case 'b': memory[i & 63] = (int)s; break;
		case 'c': s ^= memory[(i * 3) & 63]++; /* fall through */
		case 'd': s++; break;
		case 'e': if (s & 1) continue; break;
		case 'f': memory[5] -= 2; s += memory[6]; break;
		case 'g': return s;
		default: s--;
		}
	}
	return s;
}

enum { PUSH, ADD, DUP, STORE, LOAD, JNZ, DEC, HALT };

/* Counts down from code[1], adding up. */
OPAQUE long threaded(const signed char *code)
{
	static const void *const labels[] = { &&push, &&add, &&dup, &&store, &&load, &&jnz, &&dec, &&halt };
	long stack[16], *sp = stack;
	const signed char *pc = code;

#define NEXT goto *labels[*pc++]
	NEXT;
push:	*sp++ = *pc++; NEXT;
add:	sp--; sp[-1] += *sp; NEXT;
dup:	*sp = sp[-1]; sp++; NEXT;
store:	memory[*pc++] = (int)*--sp; NEXT;
load:	*sp++ = memory[*pc++]; NEXT;
jnz:	if (*--sp) pc += *pc; else pc++; NEXT;
dec:	sp[-1]--; NEXT;
halt:	return sp[-1];
}

OPAQUE int words(const char *p)
{
	enum { OUT, WORD, NUMBER } state = OUT;
	int n[3] = { 0 };

	for (; *p; p++) {
		switch (state) {
		case OUT:
			state = *p >= 'a' && *p <= 'z' ? WORD : *p >= '0' && *p <= '9' ? NUMBER : OUT;
			n[state]++;
			break;
		case WORD:
		case NUMBER:
			if (*p == ' ')
				state = OUT;
		}
	}
	return n[WORD] * 100 + n[NUMBER];
}

OPAQUE uint32_t crc(const uint8_t *p, size_t n)
{
	static uint32_t by_byte[256];
	uint32_t c = ~0u;

	if (!by_byte[1])
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t x = i;
			for (int k = 0; k < 8; k++)
				x = x & 1 ? x >> 1 ^ 0xedb88320 : x >> 1;
			by_byte[i] = x;
		}
	while (n--)
		c = by_byte[(c ^ *p++) & 255] ^ c >> 8;
	return ~c;
}

int main(void)
{
	static const signed char code[] = { PUSH, 0, STORE, 1, PUSH, 20, DUP, LOAD, 1, ADD, STORE, 1, DEC, DUP,
					    JNZ, -9, LOAD, 1, HALT };
	const char *text = "some 12 words and 3 numbers, 77 in all";
	char p[300];

	for (int i = 0; i < 299; i++)
		p[i] = "abcdefxeabd"[i * 7 % 11];
	p[299] = 'g';
	printf("%ld %ld\n", table(p, 300), table(p, 3));
	printf("%ld %d %x\n", threaded(code), words(text), crc((const uint8_t *)text, strlen(text)));
	return 0;
}
