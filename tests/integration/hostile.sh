# SPDX-License-Identifier: GPL-3.0-or-later
# A program that does harm to the memory that it shares with Sonde, which is not harmed.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program hostile

# It cannot be cut off.
check_status 0 sonde -q -o t --mem=store -m "$modules/work.c" -- "$programs/hostile" shrink
check_lacks out 'cut off$'
check_contains out '^/memfd:sonde-rings \(deleted\): stays as it is$'
check_contains out '^/memfd:sonde-code \(deleted\): stays as it is$'
events t
check_calls 15000 work

# Scribbled over: Sonde says so, the program ends as it would, and the trace can be read as far as it goes.
for options in "" "--mem=store" "--mem=store -m memcount" "--mem=store --analyze=program -m memcount"; do
	check_status 0 sonde -o t -m "$modules/work.c" $options -- "$programs/hostile" scribble 2
	check_contains out '^[1-4] shared$'
	check_contains err '^sonde: warning: [0-9]+ records? (was|were) damaged by the program$'
	for verb in info report dump "dump --mem" memory; do
		sonde $verb t >read.out 2>read.err
		[ $? -le 2 ] || { show read.err; fail "sonde $verb of the damaged trace"; }
	done
	# a stream of accesses that was scribbled over is damage in the trace
	sonde info t >out 2>err || grep -q '^damage .* of memory streams$' out || { show out; fail "sonde info"; }
	check_contains out '^ +[0-9]+ of them were damaged in memory by the program$'
done
