/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: fn_interp: an interpreter of threaded code: gotos that are computed, calls between them. */
#include <stdio.h>

#include "work.h"

enum { PUSH, ADD, MUL, CALL, JNZ, DEC, DUP, SWAP, RET, END };

OPAQUE long helper(long v)
{
	return v % 1009 + 1;
}

OPAQUE long run(const int *code, long start)
{
	static void *const labels[] = { &&push, &&add, &&mul, &&call, &&jnz, &&dec, &&dup, &&swap, &&ret, &&end };
	long stack[32], *sp = stack;
	const int *pc = code;

	*sp = start;
#define NEXT goto *labels[*pc++]
	NEXT;
push:
	*++sp = *pc++;
	NEXT;
add:
	sp--;
	sp[0] += sp[1];
	NEXT;
mul:
	sp--;
	sp[0] *= sp[1];
	NEXT;
call:
	*sp = helper(*sp);
	NEXT;
jnz:
	pc = *sp ? code + *pc : pc + 1;
	NEXT;
dec:
	--*sp;
	NEXT;
dup:
	sp[1] = sp[0];
	sp++;
	NEXT;
swap: {
	long v = sp[0];
	sp[0] = sp[-1];
	sp[-1] = v;
	NEXT;
}
ret:
	return sp[-1];
end:
	return helper(sp[-1]);
}

/* Offsets instead of addresses, and a label that is the function's own start. */
OPAQUE int offsets(const unsigned char *p, int v)
{
	static const int to[] = { &&a - &&a, &&b - &&a, &&c - &&a, &&d - &&a };

	goto *(&&a + to[*p & 3]);
a:
	v += 1;
	p++;
	goto *(&&a + to[*p & 3]);
b:
	v = work(v);
	p++;
	goto *(&&a + to[*p & 3]);
c:
	v *= 5;
	p++;
	goto *(&&a + to[*p & 3]);
d:
	return v;
}

static const int loop[] = { PUSH, 40, SWAP, PUSH, 3, MUL, CALL, SWAP, DEC, JNZ, 2, RET, END };
static const int calls[] = { DUP, CALL, ADD, CALL, PUSH, 0, END };

int main(void)
{
	const unsigned char bytes[] = { 0, 1, 2, 1, 0, 0, 1, 3 };

	printf("%ld %ld %d\n", run(loop, 7), run(calls, 1000), offsets(bytes, 1));
	return 0;
}
