# SPDX-License-Identifier: GPL-3.0-or-later
# Signals that come anywhere, thousands of them: but for what handlers do, the trace is as without signals.  And handlers that
# go on elsewhere.  Where calls are recorded beside accesses, each is once.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command setarch gcc nm
setarch -R true 2>/dev/null || skip "address space randomization cannot be switched off"
[ -x "$top_builddir/tests/oracle/memcompare" ] || skip "tests/oracle/memcompare was not built"

# record MICROSECONDS FILE: what is not the handlers'
record()
{
	# of the same length: the stack is at the same place
	env -i PATH="$PATH" LD_BIND_NOW=1 setarch -R timeout -s KILL 100 sonde -q --mem -o t -- ./program "$1" >"$2.out" 2>"$2.err" ||
		{ show "$2.err"; fail "exit status $? with $1"; }
	"$top_builddir/tests/oracle/memcompare" -p t >all || { tail -n 5 all; fail "the trace with $1"; }
	nm -S program >symbols
	awk '
		function number(hex,   i, n) {
			for (i = 1; i <= length(hex); i++)
				n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
			return n + 0
		}
		FNR == NR {
			if ($4 ~ /^tick/ && $3 ~ /[tT]/) {
				start[n] = number($1)
				end[n++] = number($1) + number($2)
			}
			next
		}
		!($4 in ours) {
			ours[$4] = 1
			for (i = 0; i < n; i++)
				if (number($4) >= start[i] && number($4) < end[i])
					ours[$4] = 0
		}
		ours[$4] && $1 != "prefetch" && $2 != "accesses"' symbols all >"$2"
	rm -rf t all
}

# calls MICROSECONDS FILE: how many there were of each function, and what was not whole
calls()
{
	check_status 0 sonde -q --mem -F fibonacci -F 'tick*' -o t -- ./program "$1" 20
	ticks=$(sed -n 's/ signals//p' err)
	sonde report --csv t | awk -F , -v OFS=, 'NR > 1 { print $1, $4, $16, $18 }' | LC_ALL=C sort >"$2"
	rm -rf t
}

for flags in -O2 "-O3 -fno-pie -no-pie"; do
	gcc -w $flags -I"$top_srcdir/tests/programs" -o program "$top_srcdir/tests/programs/mem_timers.c" || fail "gcc $flags"
	record 000 none
	signals=0
	for interval in 057 113; do
		record $interval some
		check_same none.out some.out "stdout with a signal each $interval microseconds"
		cmp none some || { diff none some | head -n 20; fail "$flags: accesses with signals, each $interval microseconds"; }
		signals=$((signals + $(sed -n 's/ signals//p' some.err)))
	done
	echo "$flags: $(wc -l <none) accesses three times, $signals signals"
	[ "$signals" -gt 30 ] || fail "too few signals"
	calls 0 none
	for interval in 97 103; do
		calls $interval some
		{ cat none; printf '"tick",%d,0,0\n"tick_more",%d,0,0\n' "$ticks" "$ticks"; } >expected
		check_same expected some "calls with a signal each $interval microseconds"
	done
done

gcc -w -O2 -I"$top_srcdir/tests/programs" -o skips "$top_srcdir/tests/programs/mem_skips.c" || fail "gcc"
./skips >plain.out
for options in --mem "--mem --sample=burst:100,every:1000" "-m memcount --analyze=program"; do
	check_status 0 sonde -o t $options -- ./skips
	check_same plain.out out "stdout with $options"
done
