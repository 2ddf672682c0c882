/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: fn_switches: dense, sparse, nested and looping switches, some of whose cases are calls. */
#include <stdio.h>

#include "work.h"

OPAQUE int one(int i)
{
	return i + 1;
}

OPAQUE int two(int i)
{
	return one(i) * 2;
}

OPAQUE int dense(int i, int v)
{
	switch (i) {
	case 0: v += 3; break;
	case 1: return one(v);
	case 2: v ^= 0x55; /* fall through */
	case 3: v = two(v); break;
	case 4: return v * 7;
	case 5: v -= one(i); break;
	case 6: return two(v + 1) + 1;
	case 7: v <<= 1; break;
	case 8: return -v;
	case 9: v = one(one(v)); /* fall through */
	case 10: return v | 1;
	default: return 0;
	}
	return v + i;
}

OPAQUE int sparse(int i, int v)
{
	switch (i) {
	case -70000: return one(v);
	case -1: return two(v);
	case 17: return v + 5;
	case 1000: v *= 3; break;
	case 65537: return one(v) + 1;
	case 1 << 30: return two(v) + 2;
	}
	return v;
}

/* Tail calls are all that it does. */
OPAQUE int sender(int i, int v)
{
	switch (i & 7) {
	case 0: return one(v);
	case 1: return two(v);
	case 2: return dense(i, v);
	case 3: return sparse(i, v);
	case 4: return work(v);
	case 5: return one(v + 1);
	case 6: return two(v + 2);
	default: return work(v + 3);
	}
}

OPAQUE long machine(const char *program)
{
	long acc = 1;
	int state = 0;

	for (const char *p = program;; p++) {
		switch (*p) {
		case '+': acc += one(state); continue;
		case '-': acc -= 2; continue;
		case '*': acc *= 3; break;
		case '/': acc /= 2; break;
		case 's': state = state < 3 ? state + 1 : 0; continue;
		case '?':
			switch (state) {
			case 0: acc += two(1); break;
			case 1: acc ^= work(2); break;
			case 2: return acc;
			case 3: p++; break;
			default: return -1;
			}
			break;
		case '\0': return acc * 2;
		default: return 0;
		}
		acc &= 0xffffff;
	}
}

static const int keys[] = { -70000, -1, 0, 17, 1000, 65537, 1 << 30, 99 };

int main(void)
{
	long sum = 0;

	for (int i = -2; i < 14; i++)
		sum = sum * 31 + dense(i, i + 5);
	for (int i = 0; i < 8; i++)
		sum = sum * 31 + sparse(keys[i], i);
	for (int i = 0; i < 24; i++)
		sum = sum * 31 + sender(i, i);
	sum += machine("++*s?--*s?");
	sum += machine("+++***-/s+ss?x*+ss+");
	sum += machine("!");
	printf("%lx\n", (unsigned long)sum);
	return 0;
}
