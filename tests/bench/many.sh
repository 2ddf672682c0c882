# SPDX-License-Identifier: GPL-3.0-or-later
# usage: many.sh N: prints a C program of N functions, of several shapes, each of which is called once.
awk -v n="$1" 'BEGIN {
	print "#define F(i) __attribute__((noinline)) int f##i(int x, int *p)"
	for (i = 0; i < n; i++) {
		s = i % 4
		if (s == 0)
			body = "*p += x; return x * " i + 3 ";"
		else if (s == 1)
			body = "for (int k = 0; k < (x & 3); k++) *p ^= k + " i "; return *p;"
		else if (s == 2)
			body = "if (x > " i ") return *p; *p = x; return f" i - 1 "(x + 1, p) + 1;"
		else
			body = "switch (x & 7) { case 0: *p = 1; break; case 1: return 5; case 2: *p += " i \
				"; break; case 3: return x; case 4: *p = -1; break; case 5: return 9; } return *p + x;"
		print "F(" i ") { " body " }"
	}
	print "int main(void) { int v = 0, s = 0;"
	for (i = 0; i < n; i++)
		print "s += f" i "(" i % 11 ", &v);"
	print "return s == 12345; }"
}'
