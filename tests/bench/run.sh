# SPDX-License-Identifier: GPL-3.0-or-later
# `make bench`: measures Sonde and the peers that are installed, in turns, and prints medians. Sets no
# limit on anything: doc/benchmarks.md tells what to expect.
#
# BENCH_RUNS   runs of each command (7; three times as many for the short ones)
# BENCH_ONLY   sections to run, of: calls functions many whole python analysis memexpand memory blocks start follow
#              size collector node programs reference
# BENCH_MEMORY parts of the section memory, of: kernels programs places rungs sampling blocks valgrind
bench=$top_builddir/tests/bench
source=$top_srcdir/tests/bench
runs=${BENCH_RUNS:-7}
sections="calls functions many whole python analysis memexpand memory blocks start follow size collector node programs reference"
only=${BENCH_ONLY:-$sections}
. "$source/lib.sh"
. "$source/memory.sh"
. "$source/blocks.sh"

have_eztrace=$(have eztrace && echo yes)
have_uftrace=$(have uftrace && echo yes)
rounds=5
calls=1000000
pairs=$((rounds * calls + 1))

heading()
{
	echo "Sonde $PACKAGE_VERSION, $(date +%F), $(uname -sr)"
	sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | sort | uniq -c | sed 's/^ */processors: /'
	echo "load average $(cut -d' ' -f1-3 /proc/loadavg), $runs runs, $("$CC" --version | head -n 1)"
	[ "$have_eztrace" ] && eztrace --version 2>&1 | head -n 1
	[ "$have_uftrace" ] && uftrace --version
	have strace && strace --version | head -n 1
	return 0
}

build_modules()
{
	local name
	for name in count globals record absent libc100 sqlite guest; do
		sonde module build -o "$name.so" "$source/$name.c" >/dev/null || exit 1
	done
	SONDE_CFLAGS=-DWITHOUT_REAL sonde module build -o guest-alone.so "$source/guest.c" >/dev/null || exit 1
}

wants()
{
	case " $only " in *" $1 "*) return 0 ;; esac
	return 1
}

# ---- what a call costs ----

call_row() # TEXT LABEL
{
	local added floor
	added=$(median "$2.out" 1 2)
	floor=$(median "$2.out" 3)
	row "$1" "$added" "$floor" "$(calc "$added / $floor")"
}

bench_calls()
{
	local kind name
	section "A call of an empty function: ns of thread CPU time, above a call that nobody instruments"
	row "" added floor added/floor
	for kind in lib own static; do
		[ -x "$bench/calls-$kind" ] || { missing "calls-$kind was not built"; continue; }
		add "plain-$kind" "$bench/calls-$kind" $calls $rounds
		for name in count globals record; do
			add "$name-$kind" sonde -v -m "./$name.so" -o "$name-$kind.d" "$bench/calls-$kind" $calls $rounds
		done
	done
	for name in guest guest-alone; do
		[ -x "$bench/calls-static" ] &&
			add "$name" sonde -v -m "./$name.so" -o "$name.d" "$bench/calls-static" $calls $rounds
	done
	[ "$have_eztrace" ] && add eztrace eztrace -t posixio -o eztrace.d "$bench/calls-dup" $calls $rounds
	[ "$have_uftrace" ] && {
		add uftrace-lib uftrace record --no-pager --no-libcall --no-event -P empty@libsubject.so \
			-d uftrace-lib.d "$bench/calls-lib" $calls $rounds
		add uftrace-own uftrace record --no-pager --no-libcall --no-event -P empty \
			-d uftrace-own.d "$bench/calls-own" $calls $rounds
	}
	measure "$runs"
	for kind in lib own static; do
		[ -x "$bench/calls-$kind" ] || continue
		call_row "$(kind_text $kind): plain" "plain-$kind"
		call_row "$(kind_text $kind): sonde, sonde_count()" "count-$kind"
		call_row "$(kind_text $kind): sonde, two global counters" "globals-$kind"
		call_row "$(kind_text $kind): sonde, recorded" "record-$kind"
		expect "record-$kind" $((2 * pairs))
	done
	if [ -x "$bench/calls-static" ]; then
		call_row "static program: sonde, a C library beside it" guest
		call_row "static program: the same without the original" guest-alone
	fi
	if [ "$have_eztrace" ]; then
		call_row "library: eztrace, recorded" eztrace
		row "  eztrace / sonde" "$(calc "$(median eztrace.out 1 2) / $(median record-lib.out 1 2)")"
	else
		missing eztrace
	fi
	if [ "$have_uftrace" ]; then
		call_row "library: uftrace -P, recorded" uftrace-lib
		call_row "program: uftrace -P, recorded" uftrace-own
		row "  uftrace / sonde, library" "$(calc "$(median uftrace-lib.out 1 2) / $(median record-lib.out 1 2)")"
		row "  uftrace / sonde, program" "$(calc "$(median uftrace-own.out 1 2) / $(median record-own.out 1 2)")"
	else
		missing uftrace
	fi
}

kind_text()
{
	case $1 in
	lib) echo library ;;
	own) echo program ;;
	static) echo "static program" ;;
	esac
}

# ---- every function, without modules ----

add_functions() # KIND PATTERN: all ways to record empty() in calls-KIND
{
	local program=$bench/calls-$1
	add "fn-plain-$1" "$program" $calls $rounds
	add "fn-record-$1" sonde -v -F "$2" -o "fn-record-$1.d" "$program" $calls $rounds
	add "fn-count-$1" sonde -q --clock=none -F "$2" -o "fn-count-$1.d" "$program" $calls $rounds
	add "fn-depth-$1" sonde -q --depth=1 -F "main,$2" -o "fn-depth-$1.d" "$program" $calls $rounds
	add "fn-first-$1" sonde -q --threshold-calls=1 -F "$2" -o "fn-first-$1.d" "$program" $calls $rounds
	add "fn-time-$1" sonde -q --time=1ms -F "$2" -o "fn-time-$1.d" "$program" $calls $rounds
}

function_rows() # KIND
{
	local text
	text=$(kind_text "$1")
	call_row "$text: plain" "fn-plain-$1"
	call_row "$text: sonde -F, entry and exit recorded" "fn-record-$1"
	call_row "$text: --clock=none, counted" "fn-count-$1"
	call_row "$text: --depth=1, deeper" "fn-depth-$1"
	call_row "$text: --threshold-calls=1, later" "fn-first-$1"
	call_row "$text: --time=1ms, shorter" "fn-time-$1"
	expect "fn-record-$1" $((2 * pairs))
}

bench_functions()
{
	local kind
	section "A call of an empty function, recorded without a module: ns of thread CPU time above an idle call"
	row "" added floor added/floor
	for kind in own static; do
		[ -x "$bench/calls-$kind" ] && add_functions $kind empty
	done
	add_functions lib empty@libsubject
	[ "$have_eztrace" ] && add fn-eztrace eztrace -t posixio -o fn-eztrace.d "$bench/calls-dup" $calls $rounds
	[ "$have_uftrace" ] && {
		add_uftrace fn-uftrace "-P empty" "$bench/calls-own" $calls $rounds
		add_uftrace fn-uftrace-depth "-P main -P empty -D 1" "$bench/calls-own" $calls $rounds
		add_uftrace fn-uftrace-time "-P empty -t 1ms" "$bench/calls-own" $calls $rounds
	}
	measure "$runs"
	for kind in own static lib; do
		[ -x "$bench/calls-$kind" ] && function_rows $kind
	done
	[ "$have_eztrace" ] && call_row "library: eztrace, recorded by a wrapper" fn-eztrace
	[ "$have_uftrace" ] && {
		call_row "program: uftrace -P, recorded" fn-uftrace
		call_row "program: uftrace -P -D 1, deeper" fn-uftrace-depth
		call_row "program: uftrace -P -t 1ms, shorter" fn-uftrace-time
		call_ratio "recorded" fn-uftrace fn-record-own
		call_ratio "deeper" fn-uftrace-depth fn-depth-own
		call_ratio "shorter" fn-uftrace-time fn-time-own
	}
	return 0
}

call_ratio() # TEXT LABEL SONDE-LABEL
{
	row "  uftrace / sonde, $1" "$(calc "$(median "$2.out" 1 2) / $(median "$3.out" 1 2)")"
}

add_uftrace() # LABEL OPTIONS COMMAND...
{
	local label=$1 options=$2
	shift 2
	add "$label" uftrace record --force --no-pager --no-libcall --no-event $options -d "$label.d" "$@"
}

bench_many()
{
	section "Start and end of a program of 10,000 functions, all recorded, each called once: ms"
	row "" median added least added CPU
	sh "$source/many.sh" 10000 >many.c &&
		"$CC" -O1 -fpatchable-function-entry=5 -o many many.c || { missing "many.c does not compile"; return; }
	add many-plain ./many
	add many-sonde sonde -v -F '*' -o many-sonde.d ./many
	add many-none sonde -q -o many-none.d ./many
	[ "$have_uftrace" ] && add_uftrace many-uftrace "-P ." ./many
	have cmake && add cmake-plain cmake --version
	have cmake && add cmake-sonde sonde -v -F '*' -o cmake-sonde.d cmake --version
	measure "$runs"
	start_row "plain" many-plain many-plain
	start_row "sonde, nothing recorded" many-none many-plain
	start_row "sonde -F '*'" many-sonde many-plain
	[ "$have_uftrace" ] && start_row "uftrace -P ." many-uftrace many-plain
	start_row "cmake --version: plain" cmake-plain cmake-plain
	start_row "cmake --version: sonde -F '*'" cmake-sonde cmake-plain
	instrumented many-sonde
	have cmake && instrumented cmake-sonde
	[ "$have_uftrace" ] && row "  many-uftrace: functions, calls" "$(uftrace_counts many-uftrace.d)"
	return 0
}

instrumented() # LABEL: what Sonde said of the last run
{
	sed -n "s/^sonde: \\([0-9]* functions\\{0,1\\} [il].*\\)/  $1: \\1/p" "$1.err" | sort -u
}

# Functions called and calls in a folder of uftrace's.
uftrace_counts()
{
	uftrace report --no-pager -d "$1" 2>/dev/null | awk '$(NF - 1) ~ /^[0-9]+$/ { f++; n += $(NF - 1) } END { print f + 0, n + 0 }'
}

# A row of a program that is recorded as a whole; PLAIN is the label of the program alone.
whole_row() # TEXT LABEL PLAIN FUNCTIONS CALLS
{
	row "$1" "${wall[$2]}" "$(calc "${wall[$2]} / ${wall[$3]}")" "${cpu[$2]}" "$4" "$5" \
		"$(calc "(${cpu[$2]} - ${cpu[$3]}) * 1e6 / ${5:-0}" %.1f)" \
		"$(calc "$(bytes "$2.d") / 1e6")" "$(calc "$(bytes "$2.d") / ${5:-0}")"
}

whole_heading()
{
	section "$1"
	row "" "wall ms" "times plain" "CPU ms" functions calls "ns CPU a call" "trace MB" "bytes a call"
}

sonde_functions() # LABEL
{
	sed -n 's/^sonde: \([0-9]*\) functions\{0,1\} instrumented.*/\1/p' "$1.err" | tail -n 1
}

sonde_whole_row() # TEXT LABEL PLAIN
{
	whole_row "$1" "$2" "$3" "$(sonde_functions "$2")" $(($(events "$2") / 2))
}

bench_whole()
{
	local parse=$bench/parse
	whole_heading "A program of short functions, all recorded (parse.c; room was left in it for uftrace)"
	add parse-plain "$parse" 200
	add parse-sonde sonde -v -F '*' -o parse-sonde.d "$parse" 200
	add parse-count sonde -v --clock=none -F '*' -o parse-count.d "$parse" 200
	[ "$have_uftrace" ] && add_uftrace parse-uftrace "-P ." "$parse" 200
	measure "$runs"
	row plain "${wall[parse-plain]}" - "${cpu[parse-plain]}" - "$(awk 'END { print $2 }' parse-plain.out)"
	sonde_whole_row "sonde -F '*'" parse-sonde parse-plain
	row "sonde -F '*' --clock=none" "${wall[parse-count]}" \
		"$(calc "${wall[parse-count]} / ${wall[parse-plain]}")" "${cpu[parse-count]}"
	[ "$have_uftrace" ] && whole_row "uftrace -P ." parse-uftrace parse-plain $(uftrace_counts parse-uftrace.d)
	missing "EZTrace: it has no plugin for a program's own functions"
}

# The functions that uftrace found a way to record, as patterns of Sonde's.
uftrace_names()
{
	uftrace report --no-pager -d "$1" 2>/dev/null |
		awk '$(NF - 1) ~ /^[0-9]+$/ { printf "%s%s", sep, $NF; sep = "," }'
}

bench_python()
{
	local python=/usr/bin/python3
	[ -x "$python" ] || { missing "$python"; return; }
	whole_heading "$python as a whole, a script of some 100 ms"
	cat >functions.py <<-'PY'
		words = {}
		for i in range(100000):
		    words.setdefault(str(i * 7919 % 10007), []).append(i)
		print(sum(len(v) for v in words.values()), sorted(words)[:3])
	PY
	add py-plain "$python" functions.py
	add py-sonde sonde -v -F '*' -o py-sonde.d "$python" functions.py
	add py-count sonde -v --clock=none -F '*' -o py-count.d "$python" functions.py
	[ "$have_uftrace" ] && {
		add_uftrace py-uftrace "-P ." "$python" functions.py
		uftrace record --force --no-pager --no-libcall --no-event -P . -d names.d "$python" functions.py >names.log 2>&1
		add py-same sonde -v -F "$(uftrace_names names.d)" -o py-same.d "$python" functions.py
	}
	measure "$runs"
	row plain "${wall[py-plain]}" - "${cpu[py-plain]}"
	sonde_whole_row "sonde -F '*'" py-sonde py-plain
	row "sonde -F '*' --clock=none" "${wall[py-count]}" "$(calc "${wall[py-count]} / ${wall[py-plain]}")" "${cpu[py-count]}"
	[ "$have_uftrace" ] && {
		whole_row "uftrace -P .: what it can patch" py-uftrace py-plain $(uftrace_counts py-uftrace.d)
		sonde_whole_row "sonde, the same functions" py-same py-plain
	}
	return 0
}

# ---- analysis ----

analysis_row() # MODE FILE
{
	local out
	out=$("$bench/analysis" "$1" "$2") || { missing "$2"; return; }
	set -- $1 "$2" $out
	row "$(basename "$2"), $1" "$3" "$4" "$5" "$6" "$7" "$(calc "($5 + $6 + $7) / $3 * 1e6" %.3f)" \
		"$(calc "$9 / $3" %.1f)"
}

bench_analysis()
{
	local file
	section "Analysis of all functions by one thread: blocks, liveness, loops (flow); plans and code of mirrors (mirror)"
	row "" blocks functions "facts s" "pass s" "functions s" "s/M blocks" "bytes/block"
	for file in "$(command -v gdb)" "$(command -v cmake)" "$("$CC" -print-prog-name=cc1)" "$(command -v node)"; do
		[ -e "$file" ] || continue
		analysis_row flow "$file"
		analysis_row mirror "$file"
	done
}

# ---- memory streams ----

bench_memexpand()
{
	section "Memory streams made by hand, expanded and counted by one thread (bench_memexpand)"
	"$bench/bench_memexpand" 0.5 | sed 's/^/  /'
}

# ---- start-up ----

start_row() # TEXT LABEL [PLAIN-LABEL]
{
	local plain=${3:-start-plain}
	[ "${wall[$2]:-}" ] || { missing "$1"; return; }
	row "$1" "${wall[$2]}" "$(calc "${wall[$2]} - ${wall[$plain]}")" "${least[$2]}" \
		"$(calc "${least[$2]} - ${least[$plain]}")" "${cpu[$2]}"
}

add_start() # NAME PROGRAM SONDE-OPTION...
{
	local name=$1 program=$2
	shift 2
	add "start-$name" sonde -q "$@" -o "start-$name.d" "$program"
}

bench_start()
{
	local nothing=$bench/nothing mpi
	section "Start and end of a program that does nothing: ms"
	row "" median added least added CPU
	add start-plain "$nothing"
	add_start none "$nothing"
	add_start absent "$nothing" -m ./absent.so
	add_start libc100 "$nothing" -m ./libc100.so
	add_start posixio "$nothing" -m posixio
	add_start all "$nothing" -m posixio,memory,pthread
	[ -x "$bench/nothing-static" ] && add_start static "$bench/nothing-static" -m ./absent.so
	for mpi in openmpi mpich; do
		[ -e "$top_builddir/modules/mpi-$mpi.so" ] && [ -x "$bench/nothing-$mpi" ] &&
			add "plain-$mpi" "$bench/nothing-$mpi" &&
			add_start "$mpi" "$bench/nothing-$mpi" -m "$top_builddir/modules/mpi-$mpi.so"
	done
	[ "$have_eztrace" ] && add start-eztrace eztrace -t posixio -o start-eztrace.d "$nothing"
	[ "$have_uftrace" ] && add start-uftrace uftrace record --no-pager -P main -d start-uftrace.d "$nothing"
	have strace && add start-strace strace -f -o start-strace.d "$nothing"
	measure $((3 * runs))
	start_row "plain" start-plain
	start_row "sonde, no module" start-none
	start_row "sonde, a module that finds nothing" start-absent
	start_row "sonde, the same, static program" start-static
	start_row "sonde, 100 functions of libc" start-libc100
	start_row "sonde -m posixio" start-posixio
	start_row "sonde -m posixio,memory,pthread" start-all
	for mpi in openmpi mpich; do
		start_row "linked with $mpi: plain" "plain-$mpi" "plain-$mpi"
		start_row "linked with $mpi: sonde, its mpi module" "start-$mpi" "plain-$mpi"
	done
	start_row "eztrace -t posixio" start-eztrace
	start_row "uftrace -P main" start-uftrace
	start_row "strace -f" start-strace
}

# ---- programs that are executed ----

bench_follow()
{
	local rounds=60
	section "Programs that a script executes, followed: ms"
	row "" median added least added CPU
	add short-plain sh "$source/short.sh" $rounds
	add short-sonde sonde -q -m posixio -o short-sonde.d sh "$source/short.sh" $rounds
	measure "$runs"
	start_row "$((5 * rounds)) short programs: plain" short-plain short-plain
	start_row "$((5 * rounds)) short programs: sonde -m posixio" short-sonde short-plain
	row "  a program: added" "$(calc "(${wall[short-sonde]} - ${wall[short-plain]}) / $((5 * rounds))")"
	[ -x "$top_srcdir/configure" ] || { missing configure; return; }
	mkdir -p configure-plain.in configure-sonde.in
	add configure-plain sh -c "'cd configure-plain.in && \"$top_srcdir/configure\" >/dev/null'"
	add configure-sonde sonde -q -m posixio -o configure-sonde.d \
		sh -c "'cd configure-sonde.in && \"$top_srcdir/configure\" >/dev/null'"
	measure 3
	start_row "configure: plain" configure-plain configure-plain
	start_row "configure: sonde -m posixio" configure-sonde configure-plain
	row "  sonde / plain" "$(calc "${wall[configure-sonde]} / ${wall[configure-plain]}")"
}

# ---- size of traces ----

size_row() # TEXT FOLDER PAIRS
{
	local raw small
	raw=$(bytes "$2")
	small=$(zstd_bytes "$2")
	row "$1" "$3" "$(calc "$raw / $3")" "$(calc "$small / $3")"
}

sqlite_functions()
{
	sed -n '/^W(/p' "$source/sqlite.c" | grep -o 'W([a-z0-9_]*)' | tr -d '()' | sed 's/^W/sqlite3_/'
}

bench_size()
{
	local script="$source/sqlite.sql" name patterns= found=
	section "Size: bytes for each call, entry and exit recorded, nothing else"
	row "" calls "as written" "zstd -3"
	have zstd || missing "after zstd -3: no zstd"
	wants calls || bench_calls >calls.log
	size_row "loop: sonde" record-lib.d $pairs
	[ "$have_eztrace" ] && size_row "loop: eztrace" eztrace.d $pairs
	[ "$have_uftrace" ] && size_row "loop: uftrace" uftrace-lib.d $pairs
	if ! have sqlite3; then
		missing "sqlite3"
		return
	fi
	for name in $(sqlite_functions); do
		patterns="$patterns -P ^$name\$@libsqlite3.so"
	done
	printf '.read %s\n' "$script" >script
	add sql-plain sqlite3 -init script :memory: .exit
	add sql-sonde sonde -v -m ./sqlite.so -o sql-sonde.d sqlite3 -init script :memory: .exit
	[ "$have_uftrace" ] && add sql-uftrace uftrace record --force --no-pager --no-libcall --no-event $patterns \
		-d sql-uftrace.d "$(command -v sqlite3)" -init script :memory: .exit
	measure "$runs"
	size_row "sqlite3, 60 functions: sonde" sql-sonde.d $(($(events sql-sonde) / 2))
	[ "$have_uftrace" ] && {
		found=$(uftrace report --no-pager -d sql-uftrace.d 2>/dev/null | awk '$5 > 0 { n += $5 } END { print n }')
		size_row "sqlite3, the same: uftrace, what it finds" sql-uftrace.d "$found"
	}
	section "The same runs of sqlite3: ms; CPU of all processes, sonde's own too"
	row "" wall "times plain" "of the least" CPU "ns CPU a call"
	row plain "${wall[sql-plain]}" - - "${cpu[sql-plain]}"
	row sonde "${wall[sql-sonde]}" "$(calc "${wall[sql-sonde]} / ${wall[sql-plain]}")" \
		"$(calc "${least[sql-sonde]} / ${least[sql-plain]}")" "${cpu[sql-sonde]}" \
		"$(calc "(${cpu[sql-sonde]} - ${cpu[sql-plain]}) * 2e6 / $(events sql-sonde)" %.1f)"
	[ "$have_uftrace" ] && row uftrace "${wall[sql-uftrace]}" \
		"$(calc "${wall[sql-uftrace]} / ${wall[sql-plain]}")" \
		"$(calc "${least[sql-uftrace]} / ${least[sql-plain]}")" "${cpu[sql-uftrace]}" \
		"$(calc "(${cpu[sql-uftrace]} - ${cpu[sql-plain]}) * 1e6 / ${found:-0}" %.1f)"
	return 0
}

# ---- the collector ----

bench_collector()
{
	local n=5000000 spent program
	section "Collector: all that sonde itself does, with the files, for two threads that only record"
	row "" events "CPU ms" "M events/s"
	add hammer-start sonde -v -m ./record.so -o hammer-start.d "$bench/hammer" 2 1
	add hammer sonde -v -m ./record.so -o hammer.d "$bench/hammer" 2 $n
	measure "$runs"
	program=$(median hammer.out 1)
	spent=$(calc "${cpu[hammer]} - $program - (${cpu[hammer-start]} - $(median hammer-start.out 1))")
	expect hammer $((4 * n))
	row "sonde" "$(events hammer)" "$spent" "$(calc "$(events hammer) / $spent / 1000" %.1f)"
	section "Its encoder alone (bench_encode)"
	"$bench/bench_encode" 0.5 | sed 's/^/  /'
}

# ---- many processes on one node ----

bench_node()
{
	local how made got processes=128 events=10000 seconds=10
	section "Node: $processes processes of two threads, $events events a second each, for $seconds s"
	row "" events lost "plain ms" "sonde ms" ratio "CPU ratio"
	for how in forked executed; do
		add paced-plain-$how "$bench/paced" $processes $events $seconds $([ $how = forked ] || echo execute)
		add paced-$how sonde -v -F empty -o paced-$how.d "$bench/paced" $processes $events $seconds \
			$([ $how = forked ] || echo execute)
	done
	measure "$runs"
	for how in forked executed; do
		sonde info paced-$how.d >paced.info 2>&1
		made=$((2 * $(awk 'NR == 1 { print $1 }' paced-$how.out)))
		got=$(sed -n 's/^events *//p' paced.info)
		[ "${got:-0}" -ge "$made" ] || echo "  $how: INCOMPLETE, recorded ${got:-no} events instead of $made"
		row "$how" "$got" "$(sed -n 's/^lost *//p' paced.info)" \
			"${wall[paced-plain-$how]}" "${wall[paced-$how]}" \
			"$(calc "${wall[paced-$how]} / ${wall[paced-plain-$how]}")" \
			"$(calc "${cpu[paced-$how]} / ${cpu[paced-plain-$how]}")"
	done
}

# ---- the modules on real programs ----

program_row() # TEXT LABEL
{
	local n
	n=$(events "$2-sonde")
	row "$1" "${wall[$2-plain]}" "${wall[$2-sonde]}" "$(calc "${wall[$2-sonde]} / ${wall[$2-plain]}")" \
		"$(calc "${least[$2-sonde]} / ${least[$2-plain]}")" \
		"$(calc "${cpu[$2-sonde]} / ${cpu[$2-plain]}")" "$n" "$(calc "$(bytes "$2-sonde.d") / 1000" %.0f)"
}

add_program() # LABEL COMMAND...
{
	local label=$1
	shift
	programs="$programs $label"
	add "$label-plain" "$@"
	add "$label-sonde" sonde -v -m posixio,memory -o "$label-sonde.d" "$@"
}

bench_programs()
{
	local name programs= python=/usr/bin/python3
	section "sonde -m posixio,memory on real programs: wall time in ms"
	row "" plain sonde ratio "of the least" "CPU ratio" events "trace kB"
	printf '.read %s\n' "$source/sqlite.sql" >script
	cat >objects.py <<-'PY'
		words = {}
		for i in range(300000):
		    words.setdefault(str(i * 7919 % 10007), []).append(i)
		print(sum(len(v) for v in words.values()))
	PY
	cat >files.py <<-'PY'
		import json, os
		for i in range(2000):
		    name = "f%d" % i
		    with open(name, "w") as f:
		        json.dump({"n": i, "name": "x" * (i % 100)}, f)
		    with open(name) as f:
		        json.load(f)
		    os.unlink(name)
	PY
	head -c 20000000 /dev/urandom | base64 >data
	have sqlite3 && add_program sqlite3 sqlite3 -init script :memory: .exit
	[ -x "$python" ] && add_program python-objects "$python" objects.py &&
		add_program python-files "$python" files.py
	have gzip && add_program gzip gzip -1 -k -f data
	measure "$runs"
	for name in $programs; do
		program_row "$name" "$name"
	done
}

# ---- for reference ----

bench_reference()
{
	section "For reference: the loop of calls in the program, ns a call above plain"
	row "" added "ms to start"
	if ! have valgrind; then
		missing valgrind
		return
	fi
	add ref-plain "$bench/calls-own" 200000 1
	add ref-valgrind valgrind -q --tool=none "$bench/calls-own" 200000 1
	add ref-valgrind-start valgrind -q --tool=none "$bench/nothing"
	measure 3
	row "valgrind --tool=none, records nothing" \
		"$(calc "$(median ref-valgrind.out 1) - $(median ref-plain.out 1)")" "${wall[ref-valgrind-start]}"
}

for part in $only; do
	case " $sections " in
	*" $part "*) ;;
	*) echo "BENCH_ONLY: no section '$part'"; exit 2 ;;
	esac
done
case $runs in
*[!0-9]* | 0) echo "BENCH_RUNS: no number of runs: '$runs'"; exit 2 ;;
esac
heading
build_modules
for part in $only; do
	"bench_$part"
done
exit 0
