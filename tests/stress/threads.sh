# SPDX-License-Identifier: GPL-3.0-or-later
# A minute of 1,000 threads a second, in several ways, and 500 processes that are forked and execute a program: nothing is
# lost, and what records stays small. SONDE_TEST_ROUNDS: how many seconds (60).
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program brief tally
seconds=${SONDE_TEST_ROUNDS:-60}

# check_record THREADS SONDE-OPTION... -- COMMAND...: all of them are in the trace; prints what the recorder took.
check_record()
{
	local threads=$1 sonde recorder kib=0 now
	shift
	rm -rf t
	command sonde -q -o t "$@" >out 2>err &
	sonde=$!
	recorder=$(child_of "$sonde" sonde) || exit
	while kill -0 "$sonde" 2>/dev/null; do
		now=$(awk '/^VmHWM/ { print $2 }' "/proc/$recorder/status" 2>/dev/null)
		kib=${now:-$kib}
		sleep 0.2
	done
	wait "$sonde"
	command sonde info t >info.txt || fail "sonde info"
	check_contains info.txt '^lost +nothing$'
	check_contains info.txt '^state +intact$'
	check_contains info.txt "^threads +$threads\$"
	[ "$kib" -lt $((200 * 1024)) ] || fail "the recorder takes $kib KiB: $*"
	echo "$threads threads, recorder $kib KiB: $*"
}

for way in "-F work" "-F work --clock=none" "--mem=work"; do
	check_record $((1000 * seconds)) $way -- "$programs/brief" $((1000 * seconds)) 1000 20
done
check_record 500 -F work -- bash -c "for ((i = 0; i < 500; i++)); do '$programs/tally' counts 1 10; done"
