# SPDX-License-Identifier: GPL-3.0-or-later
# `sonde list -F`: what can be recorded without a module, chosen in all ways; and in programs that we
# did not write.
. "$top_srcdir/tests/integration/lib.sh"

cat >small.c <<-'END'
	#include <stdlib.h>
	static int __attribute__((noinline)) nested(const int *v, int n)
	{
		int sum = 0;
		for (int i = 0; i < n; i++)
			for (int k = 0; k < v[i]; k++)
				sum += k ^ i;
		return sum;
	}
	void tiny(void) {}
	int twice(int x) { return 2 * x; }
	int main(int argc, char **argv)
	{
		int v[2] = { argc, 2 };
		(void)argv;
		tiny();
		return nested(v, 2) + twice(argc) > 5;
	}
END
$CC -g -O0 -o small small.c
$CC -s -O0 -o stripped small.c

# names FILE: the last column, of functions alone.
names()
{
	awk '$1 ~ /^[0-9a-f]+$/ && $4 ~ /^[0-9]+$/ { print $5 }' "$1" | sort | tr '\n' ' '
}

# chosen NAMES ARGUMENT...: exactly these.
chosen()
{
	local wanted=$1
	shift
	check_status 0 sonde list "$@"
	[ ! -s err ] || { show err; fail "complained: $*"; }
	[ "$(names out)" = "$wanted" ] || { show out; fail "not '$wanted': $*"; }
}

chosen 'nested ' -F nested ./small
chosen 'main nested ' -F 'main,nest*' ./small
chosen 'main nested ' -F main -F 'nest*' ./small
chosen 'nested tiny ' -F '/^(nest|tin)/' ./small
chosen 'nested ' -F '@small.c:7' ./small
chosen 'main ' -F "@$PWD/small.c:15" ./small
chosen 'main twice ' -F 'main,nested,tiny,twice' -N 'nest*,/y$/' ./small
chosen 'main nested ' -F 'main,nested,tiny,twice' --min-size=20 ./small
chosen 'main ' -F 'main@small' ./small

# Blocks and loops: two, one in the other, at their lines.
check_status 0 sonde list -F nested --lines ./small
check_contains out '^ +[0-9a-f]+ +[0-9]+ +[0-9]+ +2   nested  .*small\.c:3$'
[ "$(grep -c 'loop of [0-9]* blocks  .*small\.c:[567]$' out)" -eq 2 ] || { show out; fail "not two loops"; }
check_contains out '1 of 1 function can be recorded \(100\.00 %\)'

# What matches nothing is told, and what may have been meant.
check_status 0 sonde list -F 'main,neste' ./small
check_contains err "^sonde: warning: -F neste: no such function; did you mean 'nested'\?$"
check_status 0 sonde list -F main -N 'nothing*' ./small
check_contains err '^sonde: warning: -N nothing\*: no such function$'
check_usage_error sonde list -F neste ./small
check_contains err "did you mean 'nested'"
check_usage_error sonde list -F '@small.c:100000' ./small
check_contains err 'no code at this line'
check_usage_error sonde list -F '@other.c:3' ./small
check_contains err 'no such source file'
check_usage_error sonde list -F '@small.c:3' ./stripped
check_contains err 'no line numbers'
check_usage_error sonde list -F 'main@libnone' ./small
check_contains err 'no such library'
check_usage_error sonde list -F main -N main ./small
check_contains err 'no functions are chosen'
check_usage_error sonde list -F '/(/' ./small
check_usage_error sonde list -F main ./small tiny
check_status 0 sonde list -N main,nested ./small
check_contains out '  tiny$'
check_lacks out '  (main|nested)$'
check_usage_error sonde list --lines ./small
check_status 127 sonde list -F '*' ./none
printf '\177ELF nothing else' >broken
check_usage_error sonde list -F '*' ./broken

# Without symbols functions are known by the unwind table.
check_status 0 sonde list -F '*' ./stripped
check_contains out ' sub_[0-9a-f]+'

# Libraries, one of them by name.
check_status 0 sonde list -l -F 'qsort@libc' ./small
check_contains out '\bqsort\b'
check_contains out 'libc\.so\.[0-9]+: 1 of 1 '
check_status 0 sonde list -l -F '*' -N '*@small' ./small
check_contains out 'libc\.so\.[0-9]+: [0-9]+ of [0-9]+ functions can be recorded'
check_lacks out 'small: '
check_lacks out 'ld-linux'

# C++, as in the source and mangled.
if cxx=$(command -v c++ || command -v g++); then
	cat >plus.cc <<-'END'
		namespace ns {
		template <class T> __attribute__((noinline)) T twice(T x) { asm(""); return x + x; }
		__attribute__((noinline)) int f(int a, char b) { asm(""); return a + b; }
		}
		int main(int argc, char **) { return ns::f(ns::twice(argc), 'x') + (int)ns::twice(1.5); }
	END
	$cxx -O1 -o plus plus.cc
	for pattern in 'ns::f' 'ns::f(int, char)' 'ns::f(int,char)' _ZN2ns1fEic '/ns::f$/' '*::f'; do
		check_status 0 sonde list -F "$pattern" ./plus
		check_contains out '   ns::f\(int, char\)$'
		check_contains out '^\./plus: 1 of 1 '
	done
	check_status 0 sonde list -F 'ns::twice<*>' ./plus
	check_contains out '^\./plus: [12] of 2 '
	check_status 0 sonde list --mangled -F 'ns::f' ./plus
	check_contains out '   _ZN2ns1fEic$'
fi

# Programs and libraries of the system: as good as everything; sums are right.
for file in /bin/bash /usr/bin/python3 /lib/x86_64-linux-gnu/libc.so.6 \
	/usr/lib/x86_64-linux-gnu/libstdc++.so.6 /usr/bin/perl; do
	[ -r "$file" ] || continue
	check_status 0 sonde list -F '*' "$file"
	[ ! -s err ] || { show err; fail "complained: $file"; }
	awk -v file="$file" '
		$4 ~ /^[0-9]+$/ && $1 ~ /^[0-9a-f]+$/ { all++; if (/ -- not instrumented: /) refused++ }
		/functions? can be recorded/ { said = $2; of = $4; share = $9; gsub(/[(]/, "", share) }
		/^ +[0-9]+ not instrumented: / { counted += $1 }
		END {
			print file ": " said " of " of " (" share " %), counted " all - refused " of " all
			exit !(share + 0 > 95 && all > 100 && all == of && all - refused == said && counted == refused)
		}' out || { tail -8 out; fail "$file"; }
	sonde list -r -F '*' "$file" >refused
	[ "$(grep -c -- ' -- not instrumented: ' out)" -eq "$(grep -c -- ' -- not instrumented: ' refused)" ] ||
		fail "-r shows others: $file"
done
exit 0
