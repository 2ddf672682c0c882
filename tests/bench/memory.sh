# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced by run.sh: what traces of memory accesses cost. Kernels print their name, a checksum, and their CPU time in ms.

# Name, size and repetitions, and repetitions of the short run that valgrind takes part in.
memory_kernels()
{
	cat <<-'EOF'
		bt 36 8 1
		cg 100000 120 6
		ep 24000000 1 1
		ft 64 6 1
		is 4000000 30 2
		lu 48 12 1
		mg 96 30 2
		sp 64 20 1
		stream 2000000 80 5
		gups 22 60000000 3000000
		join 200000 24 1
		tree 400000 4 1
		gs 500 250 12
	EOF
}

# A line of figures for the end.
geomean() # TEXT < ratios, one a line
{
	awk -v text="$1" '$1 > 0 { s += log($1); n++; if ($1 > worst) worst = $1 }
		END { if (n) printf "  %-44s %13.2f %13.2f\n", text, exp(s / n), worst }'
}

same_results() # KERNEL LABEL...
{
	local name=$1 label
	shift
	for label; do
		cat "$label.out"
	done 2>/dev/null | awk '{ print $2 }' | sort -u | awk -v name="$name" 'END {
		if (NR != 1) printf "  %s: DIFFERENT RESULTS\n", name }'
}

memory_module()
{
	[ -e "$top_builddir/modules/memcount.so" ]
}

add_memory() # LABEL COMMAND...: plain, traced, counted; the stream written and dropped
{
	local label=$1
	shift
	add "$label-plain" "${environment[@]}" "SPENT_FILE=$label-plain.cpu" "$@"
	add "$label-trace" "${environment[@]}" "SPENT_FILE=$label-trace.cpu" sonde -q "${options[@]}" -o "$label-trace.d" "$@"
	add "$label-drop" "${environment[@]}" "SPENT_FILE=$label-drop.cpu" sonde -q "${options[@]}" --overflow=drop --mem-buffer=256K \
		-o "$label-drop.d" "$@"
	memory_module && add "$label-count" "${environment[@]}" "SPENT_FILE=$label-count.cpu" sonde -q \
		"${options[@]}" -m memcount -o "$label-count.d" "$@"
	return 0
}

# The machine alone, for machine_table.
machine_row() # TEXT TRACE
{
	local all next count slow_next slow_count
	read -r all slow_next slow_count < <(SONDE_MEM_COMPILE=0 "$bench/memspeed" "$2" 3 2>/dev/null)
	read -r all next count < <("$bench/memspeed" "$2" 3 2>/dev/null)
	printf '%s %s %s %s %s %s\n' "$1" "$(calc "$all / 1e6" %.1f)" "$slow_next" "$next" "$slow_count" "$count" >>machine.rows
}

# M accesses that a second of Sonde's own CPU time is enough for, starting up included.
to_disk() # LABEL ACCESSES
{
	calc "$2 / 1000 / (${cpu[$1-trace]} - $(own_cpu "$1-trace"))" %.0f
}

memory_row() # TEXT LABEL THREADS
{
	local plain accesses=0 count=0 compute=0 gaps=0 kind trace
	plain=$(own_cpu "$2-plain")
	trace=$(bytes "$2-trace.d")
	read -r accesses count compute gaps < <("$bench/memtraces" "$2-trace.d" 2>&1) ||
		missing "$1: what is in its trace"
	[ "$gaps" = 0 ] || echo "  $1: $gaps gaps in the trace"
	row "$1" "$3" "${wall[$2-plain]}" "$plain" \
		"$(ratio "$2-drop" "$plain" drop)" "$(ratio "$2-trace" "$plain" trace)" \
		"$(calc "${wall[$2-trace]} / ${wall[$2-plain]}")" \
		"$(ratio "$2-count" "$plain" count)" "$(calc "${wall[$2-count]:-none} / ${wall[$2-plain]}")" \
		"$(calc "$accesses / 1e6" %.1f)" "$(calc "$accesses / $plain / 1000" %.0f)" \
		"$(calc "$trace / $accesses" %.4f)" "$(to_disk "$2" "$accesses")" \
		"$(calc "$accesses / $count / 1000" %.0f)" "$(calc "$accesses / $compute / 1000" %.0f)"
	calc "$trace / $accesses" "%.6f\n" >>bytes.ratios
	calc "1e6 * $compute / $accesses" "%.6f\n" >>compute.ratios
	calc "1e6 * $count / $accesses" "%.6f\n" >>counting.ratios
	[ "$3" = 1 ] && machine_row "$1" "$2-trace.d"
	rm -rf "$2"-*.d
}

# Kernels tell their CPU time; of other programs libspent.so does.
own_cpu() # LABEL
{
	[ -e "$1.cpu" ] && median "$1.cpu" 3 || median "$1.out" 3
}

# CPU time of the program itself, below Sonde and alone.
ratio() # LABEL PLAIN KIND
{
	local r
	r=$(calc "$(own_cpu "$1") / $2" %.4f)
	[ "$r" = - ] || echo "$r" >>"$3.ratios"
	calc "$r"
}

memory_heading()
{
	section "$1"
	row "" threads "wall ms" "CPU ms" "dropped: CPU" "traced: CPU" wall "counted: CPU" wall \
		"M accesses" "M/s" "bytes each" "to disk M/s" "count M/s" "compute M/s"
	rm -f ./*.ratios machine.rows
}

machine_table()
{
	local figures
	section "The machine alone, on their streams in memory: M accesses/s, interpreted and compiled"
	row "" "M accesses" "next" "compiled" "count" "compiled"
	while read -ra figures; do
		row "${figures[@]}"
	done <machine.rows
}

memory_summary()
{
	row "geometric mean, worst of"
	geomean "  stream dropped, CPU time" <drop.ratios
	geomean "  traced, CPU time" <trace.ratios
	[ -e count.ratios ] && geomean "  counted, CPU time" <count.ratios
	geomean "  bytes an access" <bytes.ratios
	geomean "  ns to count an access" <counting.ratios
	geomean "  ns to compute an access" <compute.ratios
	[ ! -e machine.rows ] || machine_table
}

bench_memory_kernels()
{
	local name size times short threads options=(--mem) environment
	memory_heading "sonde --mem on kernels: of its program's CPU time and the wall time, times plain"
	while read -r name size times short; do
		for threads in 1 2; do
			environment=(env OMP_WAIT_POLICY=passive "OMP_NUM_THREADS=$threads")
			add_memory "$name-$threads" "$bench/mem/$name" "$size" "$times"
			measure "$runs"
			memory_row "$name" "$name-$threads" "$threads"
			same_results "$name" "$name-$threads"-{plain,trace,drop,count}
		done
	done < <(memory_kernels)
	memory_summary
}

place_figures() # LABEL PLACE: the program's CPU time, and of all processes, and wall time, times plain
{
	printf '%s\n' "$(ratio "$1-$2" "$(own_cpu "$1-plain")" "$2")" "$(calc "${cpu[$1-$2]} / ${cpu[$1-plain]}")" \
		"$(calc "${wall[$1-$2]} / ${wall[$1-plain]}")"
	calc "${wall[$1-$2]} / ${wall[$1-plain]}" "%.4f\n" >>"$2-wall.ratios"
}

# memcount in Sonde's process, and in the program's threads.
bench_memory_places()
{
	local name size times short threads place figures
	memory_module || return 0
	section "Where memory accesses are counted (--analyze): CPU time of the program, of it and Sonde, and wall time, times plain"
	row "" threads "CPU ms" "wall ms" "collector: CPU" all wall "program: CPU" all wall
	rm -f ./*.ratios
	while read -r name size times short; do
		for threads in 1 2; do
			add "$name-plain" env OMP_WAIT_POLICY=passive "OMP_NUM_THREADS=$threads" "$bench/mem/$name" "$size" "$times"
			for place in collector program; do
				add "$name-$place" env OMP_WAIT_POLICY=passive "OMP_NUM_THREADS=$threads" sonde -q --mem \
					-m memcount "--analyze=$place" -o "$name-$place.d" "$bench/mem/$name" "$size" "$times"
			done
			measure "$runs"
			mapfile -t figures < <(place_figures "$name" collector; place_figures "$name" program)
			row "$name" "$threads" "$(own_cpu "$name-plain")" "${wall[$name-plain]}" "${figures[@]}"
			same_results "$name" "$name"-{plain,collector,program}
			cmp -s <(grep ^all "$name-collector.d/memcount.txt") <(grep ^all "$name-program.d/memcount.txt") ||
				[ "$threads" -gt 1 ] || echo "  $name: DIFFERENT COUNTS"
			rm -rf "$name"-*.d "$name"-*.out
		done
	done < <(memory_kernels)
	for place in collector program; do
		geomean "  $place: geometric mean, worst: CPU time" <"$place.ratios"
		geomean "  $place: wall time" <"$place-wall.ratios"
	done
}

# What each step of leaving to the reader gains; the stream is dropped.
bench_memory_rungs()
{
	local name size times short rungs plain r figures
	section "The same with one thread, the stream dropped, by what is left to the reader (enum tramp_mem_rungs): CPU time, times plain"
	row "" 0 1 3 7 15 31
	rm -f ./*.ratios
	while read -r name size times short; do
		add rung-plain env OMP_NUM_THREADS=1 "$bench/mem/$name" "$size" "$times"
		for rungs in 0 1 3 7 15 31; do
			ln -sf "$bench/sonde-rungs" "sonde-rungs-$rungs"
			add "rung-$rungs" env OMP_NUM_THREADS=1 "./sonde-rungs-$rungs" -q --mem --overflow=drop \
				--mem-buffer=256K -o "rung-$rungs.d" "$bench/mem/$name" "$size" "$times"
		done
		measure "$(((runs + 1) / 2))"
		plain=$(median rung-plain.out 3)
		figures=()
		for rungs in 0 1 3 7 15 31; do
			figures+=("$(ratio "rung-$rungs" "$plain" "rung-$rungs")")
		done
		row "$name" "${figures[@]}"
		same_results "$name" rung-{plain,0,1,3,7,15,31}
		rm -rf rung-*.d rung-*.out
	done < <(memory_kernels)
	for rungs in 0 1 3 7 15 31; do
		geomean "  geometric mean, worst of $rungs" <"rung-$rungs.ratios"
	done
}

# A name for the options, and these; "off" is a burst at the begin and none after it.
memory_samplings()
{
	cat <<-'EOF'
		off --sample=burst:10us,every:100s
		1% --sample=burst:1ms,every:100ms
		10% --sample=burst:1ms,every:10ms
		1M/100M --sample=burst:1M,every:100M
		1M/10M --sample=burst:1M,every:10M
		overhead=2% --overhead=2%
		overhead=5% --overhead=5%
		overhead=10% --overhead=10%
	EOF
}

# What recording costs that goes off and on; the stream is kept.
bench_memory_sampling()
{
	local name size times short names plain n option figures
	section "The same with one thread, sampled: CPU time, times plain"
	mapfile -t names < <(memory_samplings | cut -d' ' -f1)
	row "" "${names[@]}"
	names=("${names[@]//\//-}")
	rm -f ./*.ratios
	while read -r name size times short; do
		add sampled-plain env OMP_NUM_THREADS=1 "$bench/mem/$name" "$size" "$times"
		while read -r n option; do
			add "sampled-$n" env OMP_NUM_THREADS=1 sonde -q --mem "$option" -o "sampled-$n.d" \
				"$bench/mem/$name" "$size" "$times"
		done < <(memory_samplings | tr '/' '-')
		measure "$runs"
		plain=$(median sampled-plain.out 3)
		figures=()
		for n in "${names[@]}"; do
			figures+=("$(ratio "sampled-$n" "$plain" "$n")")
		done
		row "$name" "${figures[@]}"
		same_results "$name" sampled-plain "${names[@]/#/sampled-}"
		rm -rf sampled-*
	done < <(memory_kernels)
	for n in "${names[@]}"; do
		geomean "  geometric mean, worst of $n" <"$n.ratios"
	done
}

# Which blocks are executed: how often, and in which order; one thread.
bench_memory_blocks()
{
	local name size times short plain order blocks next count
	section "sonde --blocks on kernels, one thread: CPU time, times plain; the order's blocks"
	row "" "CPU ms" "--blocks" "=trace" "M blocks" "bytes each" "M/s next" "M/s count"
	rm -f ./*.ratios
	while read -r name size times short; do
		add blocks-plain env OMP_NUM_THREADS=1 "$bench/mem/$name" "$size" "$times"
		add blocks-count env OMP_NUM_THREADS=1 sonde -q --blocks -o blocks-count.d "$bench/mem/$name" "$size" "$times"
		add blocks-trace env OMP_NUM_THREADS=1 sonde -q --blocks=trace -o blocks-trace.d "$bench/mem/$name" "$size" "$times"
		measure "$runs"
		plain=$(median blocks-plain.out 3)
		order=$(bytes blocks-trace.d)
		read -r blocks next count < <("$bench/memspeed" blocks-trace.d 3 2>/dev/null)
		row "$name" "$plain" "$(ratio blocks-count "$plain" blocks-count)" "$(ratio blocks-trace "$plain" blocks-trace)" \
			"$(calc "$blocks / 1e6" %.1f)" "$(calc "$order / $blocks" %.4f)" "$next" "$count"
		calc "$order / $blocks" "%.6f\n" >>blocks-bytes.ratios
		calc "1000 / $next" "%.6f\n" >>blocks-next.ratios
		same_results "$name" blocks-{plain,count,trace}
		rm -rf blocks-*.d blocks-*.out
	done < <(memory_kernels)
	geomean "  geometric mean, worst: counted" <blocks-count.ratios
	geomean "  the order" <blocks-trace.ratios
	geomean "  bytes a block" <blocks-bytes.ratios
	geomean "  ns to tell a block" <blocks-next.ratios
}

# Short runs, and what a tool's start takes is subtracted.
bench_memory_valgrind()
{
	local name size times short plain tool
	have valgrind || { missing valgrind; return; }
	section "Valgrind on short runs of the same, one thread: CPU time above that of a program that does nothing, times plain"
	row "" "none" "lackey, counts"
	rm -f ./*.ratios
	while read -r name size times short; do
		[ "$times" = 1 ] && size=$((size / 10))
		add vg-plain env OMP_NUM_THREADS=1 "$bench/mem/$name" "$size" "$short"
		add vg-none env OMP_NUM_THREADS=1 valgrind -q --tool=none "$bench/mem/$name" "$size" "$short"
		add vg-lackey env OMP_NUM_THREADS=1 valgrind -q --tool=lackey --basic-counts=yes --trace-mem=no \
			"$bench/mem/$name" "$size" "$short"
		add vg-start valgrind -q --tool=none "$bench/nothing"
		measure 1
		plain=$(median vg-plain.out 3)
		for tool in none lackey; do
			calc "(${cpu[vg-$tool]} - ${cpu[vg-start]}) / $plain" "%.4f\n" >>$tool.ratios
		done
		row "$name" "$(tail -n 1 none.ratios)" "$(tail -n 1 lackey.ratios)"
		rm -f vg-*.out
	done < <(memory_kernels)
	geomean "  geometric mean, worst: none" <none.ratios
	geomean "  geometric mean, worst: lackey" <lackey.ratios
}

memory_inputs()
{
	printf '.read %s\n' "$source/sqlite.sql" >script
	cat >objects.py <<-'PY'
		words = {}
		for i in range(300000):
		    words.setdefault(str(i * 7919 % 10007), []).append(i)
		print(sum(len(v) for v in words.values()))
	PY
	head -c 4000000 /dev/urandom | base64 >data
}

bench_memory_programs()
{
	local python=/usr/bin/python3 environment options
	memory_heading "sonde --mem on programs; sqlite3 with its library"
	memory_inputs
	have gzip && options=(--mem) && memory_program gzip gzip -k -f data
	have sqlite3 && options=(--mem '--libs=libsqlite3*') &&
		memory_program sqlite3 sqlite3 -init script :memory: .exit
	[ -x "$python" ] && options=(--mem) && memory_program python3 "$python" objects.py
	memory_summary
}

memory_program() # LABEL COMMAND...
{
	local label=$1
	shift
	environment=(env LD_PRELOAD="$bench/libspent.so" SPENT_OF="$(basename "$1")")
	add_memory "$label" "$@"
	measure "$runs"
	memory_row "$label" "$label" 1
}

# BENCH_MEMORY: parts of it, of: kernels programs places rungs sampling blocks valgrind.
bench_memory()
{
	local part
	for part in ${BENCH_MEMORY:-kernels programs places rungs sampling blocks valgrind}; do
		case $part in
		kernels | programs | places | rungs | sampling | blocks | valgrind) "bench_memory_$part" ;;
		*) echo "BENCH_MEMORY: no part '$part'"; exit 2 ;;
		esac
	done
}
