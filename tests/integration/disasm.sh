# SPDX-License-Identifier: GPL-3.0-or-later
# `sonde disasm`: instructions as objdump shows them, blocks and loops, windows, and a mirror whose
# copies are those of the original.
. "$top_srcdir/tests/integration/lib.sh"
need_command objdump

cat >small.c <<-'END'
	#include <stdio.h>
	int __attribute__((noinline)) nested(const int *v, int n)
	{
		int sum = 0;
		for (int i = 0; i < n; i++)
			for (int k = 0; k < v[i]; k++)
				sum += k ^ i;
		return sum;
	}
	int __attribute__((noinline)) calls(int n)
	{
		puts("one");
		return n ? calls(n - 1) + 1 : puts("two");
	}
	int main(void) { int v[2] = { 1, 2 }; return nested(v, 2) + calls(2) == 0; }
END
$CC -g -O1 -fno-optimize-sibling-calls -o small small.c

# original FILE: "address mnemonic operands" of the function's own instructions, in one way of writing.
original()
{
	sed -n '/^mirror: /q; s/^[ |] *\([0-9a-f][0-9a-f]*\)  /\1 /p' "$1" |
		sed 's/ *mirror+0x[0-9a-f]*$//; s/  *#.*//; s/<[^>]*>//; s/  */ /g; s/ $//' | sort
}

# The same instructions as objdump.
for function in nested calls main; do
	check_status 0 sonde disasm ./small $function
	[ ! -s err ] || { show err; fail "complained"; }
	original out >ours
	objdump -d --no-show-raw-insn --disassemble=$function ./small |
		sed -n 's/^ *\([0-9a-f][0-9a-f]*\):\t/\1 /p' |
		sed 's/  *#.*//; s/<[^>]*>//; s/  */ /g; s/ $//' | grep -vE ' (nop|xchg +%ax,%ax)' | sort >theirs
	[ -s theirs ] || fail "objdump shows nothing"
	check_same theirs ours "the code of $function"
	check_status 0 sonde disasm -O ./small $function
	original out >ours
	check_same theirs ours "-O: the code of $function"
	check_lacks out '^mirror|^>|^\|'
done

# Blocks, loops, a window at the entry, probes, the way back.
check_status 0 sonde disasm ./small nested
check_contains out '^nested: at [0-9a-f]+, [0-9]+ bytes, [0-9]+ blocks, 2 loops$'
check_contains out '^  ---- block 0, entry; goes on in '
[ "$(grep -c 'head of loop' out)" -eq 2 ] || { show out; fail "not two loops"; }
check_contains out '^> +[0-9a-f]+  jmp +mirror\+0x0$'
check_contains out '^mirror: [0-9]+ bytes, copies of [0-9]+ blocks?, 1 exit'
check_contains out '^  ---- probe of the entry$'
[ "$(grep -c '^  ---- probe of an exit$' out)" -eq 1 ] || { show out; fail "not one exit"; }
[ "$(grep -c ' rdtsc$' out)" -eq 2 ] || { show out; fail "not two time stamps"; }

# Copies and originals point at each other, and are the same instruction.
check_pairs()
{
	awk '
	/^mirror: / { mirror = 1 }
	/^[ |] +\+?(0x)?[0-9a-f]+  / {
		place = substr($0, 3, 12); gsub(/[ +]/, "", place)
		text = substr($0, 17); note = ""
		if (!mirror && match(text, / +mirror\+0x[0-9a-f]+$/)) {
			note = substr(text, RSTART); text = substr(text, 1, RSTART - 1)
			gsub(/ |mirror\+/, "", note)
			to[note] = place; was[note] = text
		}
		if (mirror && match(text, / +[0-9a-f]+$/) && RSTART + RLENGTH > 56) {
			note = substr(text, RSTART); text = substr(text, 1, RSTART - 1)
			gsub(/ /, "", note)
			if (place in to) {
				pairs++
				if (to[place] != note) bad++
				# relative ones are written anew
				split(text, a, " "); split(was[place], b, " ")
				if (text !~ /mirror|<|rip/ && was[place] !~ /<|rip/ && text != was[place]) {
					print place ": " text " / " was[place]; bad++
				}
			}
		}
	}
	END { for (i in to) n++; print pairs " of " n " pairs"; exit bad || !pairs || pairs != n }' out ||
		{ show out; fail "copies: $1"; }
}
check_pairs nested
check_status 0 sonde disasm ./small calls
check_pairs calls

# Calls of other libraries have names.
check_status 0 sonde disasm -O ./small calls
check_contains out '  call +[0-9a-f]+ <puts@plt>$'

# Lines of the source.
check_status 0 sonde disasm --lines -O ./small nested
check_contains out '^  .*small\.c:7$'

# Several functions, one that is refused, a library of the system.
check_status 0 sonde disasm ./small nested,calls main
[ "$(grep -c ': at [0-9a-f]*, [0-9]* bytes, ' out)" -eq 3 ] || { show out; fail "not three functions"; }
check_status 0 sonde disasm ./small _start
check_contains out '^not instrumented: '
check_lacks out '^mirror'
for file in /lib/x86_64-linux-gnu/libc.so.6 /bin/bash; do
	[ -r "$file" ] || continue
	check_status 0 sonde disasm "$file" '[a-f]*'
	[ "$(grep -c '^mirror: ' out)" -gt 50 ] || fail "too few mirrors in $file"
	check_lacks out '\(bad\)'
done

check_usage_error sonde disasm ./small nothing
check_contains err 'no such function'
check_usage_error sonde disasm ./small '/(/'
check_usage_error sonde disasm ./small.c main
check_status 127 sonde disasm ./none main
check_status 127 sonde disasm no-such-program main
