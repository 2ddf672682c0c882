# SPDX-License-Identifier: GPL-3.0-or-later
# The program, what records it and what waits for it are killed, each time at another moment.
# SONDE_TEST_ROUNDS: how often the program is (1,000); a fifth as often each of the others.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command python3
need_program tally
rounds=${SONDE_TEST_ROUNDS:-1000}
ways=("-F work" "-F work --buffer=64K" "-F work --mem=work" "-F work --flight=64K" "-m $modules/work.c")
built=()
for program in tally tally-static; do
	[ ! -x "$programs/$program" ] || built+=("$program")
done

# kill_all WHO TIMES CALLS: of all programs, one thread and several, in all ways
kill_all()
{
	local all=$((2 * ${#ways[@]} * ${#built[@]})) program threads way
	for program in "${built[@]}"; do
		for threads in 1 3; do
			for way in "${ways[@]}"; do
				python3 "$top_srcdir/tests/stress/killed.py" "$1" $((($2 + all - 1) / all)) 0.15 $way -- \
					"$programs/$program" counts "$threads" "$3" || fail "$1 killed: $way, $threads threads of $program"
			done
		done
	done
}

kill_all program "$rounds" 0
kill_all recorder $((rounds / 5)) 60000
kill_all waiter $((rounds / 5)) 60000
