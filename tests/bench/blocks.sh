# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by run.sh: what counting blocks costs, and Valgrind's callgrind, which counts instructions, on short runs of the same.

blocks_figures() # LABEL SUFFIX: of plain and counted runs, and with trips; the program's own CPU time is the third word of FILE.SUFFIX
{
	local plain
	plain=$(median "blocks-plain.$2" 3)
	calc "$(median "blocks-counted.$2" 3) / $plain" "%.4f\n" >>"$1.ratios"
	calc "$(median "blocks-trips.$2" 3) / $plain" "%.4f\n" >>"$1-trips.ratios"
}

blocks_kernel() # NAME SIZE TIMES SHORT
{
	local name=$1 size=$2 times=$3 short=$4 callgrind=-
	rm -f blocks-*.out
	add blocks-plain env OMP_NUM_THREADS=1 "$bench/mem/$name" "$size" "$times"
	add blocks-counted env OMP_NUM_THREADS=1 sonde -q --blocks -o blocks-counted.d "$bench/mem/$name" "$size" "$times"
	add blocks-trips env OMP_NUM_THREADS=1 sonde -q --blocks=trips -o blocks-trips.d "$bench/mem/$name" "$size" "$times"
	measure "$runs"
	same_results "$name" blocks-plain blocks-counted blocks-trips
	blocks_figures counted out
	if have valgrind; then
		[ "$times" = 1 ] && size=$((size / 10))
		add blocks-short env OMP_NUM_THREADS=1 "$bench/mem/$name" "$size" "$short"
		add blocks-callgrind env OMP_NUM_THREADS=1 valgrind -q --tool=callgrind --callgrind-out-file=/dev/null \
			"$bench/mem/$name" "$size" "$short"
		add blocks-start valgrind -q --tool=callgrind --callgrind-out-file=/dev/null "$bench/nothing"
		measure 1
		calc "(${cpu[blocks-callgrind]} - ${cpu[blocks-start]}) / $(median blocks-short.out 3)" "%.4f\n" >>callgrind.ratios
		callgrind=$(tail -n 1 callgrind.ratios)
	fi
	row "$name" "$(tail -n 1 counted.ratios)" "$(tail -n 1 counted-trips.ratios)" "$callgrind"
}

blocks_program() # LABEL PATTERN COMMAND...
{
	local label=$1 pattern=$2
	local environment=(env LD_PRELOAD="$bench/libspent.so" SPENT_OF="$(basename "$3")")
	shift 2
	rm -f blocks-*.cpu
	add blocks-plain "${environment[@]}" SPENT_FILE=blocks-plain.cpu "$@"
	add blocks-counted "${environment[@]}" SPENT_FILE=blocks-counted.cpu sonde -q --blocks="$pattern" -o blocks-counted.d "$@"
	add blocks-trips "${environment[@]}" SPENT_FILE=blocks-trips.cpu sonde -q --blocks=trips:"$pattern" -o blocks-trips.d "$@"
	measure "$runs"
	blocks_figures programs cpu
	row "$label" "$(tail -n 1 programs.ratios)" "$(tail -n 1 programs-trips.ratios)" -
}

bench_blocks()
{
	local name size times short python=/usr/bin/python3
	section "sonde --blocks: CPU time of the program alone, times plain; one thread, sqlite3: its library"
	row "" counted =trips callgrind
	have valgrind || missing valgrind
	rm -f {counted,counted-trips,callgrind,programs,programs-trips}.ratios
	while read -r name size times short; do
		blocks_kernel "$name" "$size" "$times" "$short"
	done < <(memory_kernels)
	geomean "  geometric mean, worst: counted" <counted.ratios
	geomean "  geometric mean, worst: with trips" <counted-trips.ratios
	[ ! -e callgrind.ratios ] || geomean "  geometric mean, worst: callgrind" <callgrind.ratios
	memory_inputs
	have gzip && blocks_program gzip '*' gzip -k -f data
	have sqlite3 && blocks_program sqlite3 '*@libsqlite3*' sqlite3 -init script :memory: .exit
	[ -x "$python" ] && blocks_program python3 '*' "$python" objects.py
	geomean "  geometric mean, worst: programs" <programs.ratios
	geomean "  geometric mean, worst: programs, with trips" <programs-trips.ratios
}
