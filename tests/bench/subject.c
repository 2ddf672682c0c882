// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Functions that do nothing, of one five-byte instruction and a return: some tools pass over what
 * is shorter.  dup() stands in for the C library's: EZTrace's own plugin "posixio" wraps that name,
 * and of a dup() that fails it records the entry and the exit and nothing else.
 */
#define NOTHING __asm__ volatile(".byte 0x0f, 0x1f, 0x44, 0x00, 0x00")

int empty(int x)
{
	NOTHING;
	return x;
}

int idle(int x)
{
	NOTHING;
	return x;
}

#ifdef WITH_DUP
int dup(int x)
{
	NOTHING;
	return x;
}
#endif
