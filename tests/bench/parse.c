// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: parse ROUNDS: a program of many short functions: writes a text of sums, products and brackets,
 * reads it ROUNDS times, and prints its value and how many calls that made.
 */
#include <stdio.h>
#include <stdlib.h>

#define FUNCTION __attribute__((noipa))
#define TEXT 4096
#define DEPTH 12

static char text[TEXT + 256];
static const char *at;
static unsigned long calls;

FUNCTION static int peek(void)
{
	calls++;
	return *at;
}

FUNCTION static int next(void)
{
	calls++;
	return *at++;
}

FUNCTION static int is_digit(int c)
{
	calls++;
	return c >= '0' && c <= '9';
}

FUNCTION static unsigned int number(void)
{
	unsigned int v = 0;

	calls++;
	while (is_digit(peek()))
		v = 10 * v + (unsigned int)(next() - '0');
	return v;
}

FUNCTION static unsigned int sum(void);

FUNCTION static unsigned int factor(void)
{
	unsigned int v;

	calls++;
	if (peek() != '(')
		return number();
	next();
	v = sum();
	next();
	return v;
}

FUNCTION static unsigned int product(void)
{
	unsigned int v = factor();

	calls++;
	while (peek() == '*') {
		next();
		v *= factor();
	}
	return v;
}

FUNCTION static unsigned int sum(void)
{
	unsigned int v = product();

	calls++;
	while (peek() == '+' || peek() == '-')
		v = next() == '+' ? v + product() : v - product();
	return v;
}

FUNCTION static char *write_text(char *p, unsigned int *seed, int depth)
{
	calls++;
	for (int i = 0; i < 3; i++) {
		*seed = *seed * 1103515245u + 12345;
		if (depth && *seed >> 16 & 1 && p < text + TEXT) {
			*p++ = '(';
			p = write_text(p, seed, depth - 1);
			*p++ = ')';
		} else {
			p += sprintf(p, "%u", *seed >> 20);
		}
		*p++ = "+-*"[*seed >> 18 & 3 ? *seed >> 18 & 1 : 2];
	}
	p[-1] = 0;
	return p - 1;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	unsigned int seed = 7, v = 0;

	calls++;
	while (write_text(text, &seed, DEPTH) < text + TEXT / 4)
		;
	for (int i = 0; i < rounds; i++) {
		at = text;
		v = v * 31 + sum();
	}
	printf("%u %lu\n", v, calls);
	return 0;
}
