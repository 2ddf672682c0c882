# SPDX-License-Identifier: GPL-3.0-or-later
# --workers bounds the threads that collect, for all programs of a job together; nothing is lost with few of them.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program forks

for n in 1 2; do
	same_run -o t --workers=$n -m "$modules/work.c" -- "$programs/forks" 50
	events t
	check_calls 1364 work
	check_contains info.txt '^threads +66$'
done

# workers_of PID: how many of its threads collect.
workers_of()
{
	grep -lx sonde-worker /proc/"$1"/task/*/comm 2>/dev/null | wc -l
}

all_run()
{
	[ -d t ] && [ "$(find t -name 'process-*' -type d | wc -l)" -eq 5 ] && [ "$(sonde ctl t status 2>/dev/null | grep -c .)" -gt 0 ]
}

for n in 1 2; do
	rm -rf t fifo*
	mkfifo fifo1 fifo2 fifo3 fifo4 fifo5
	command sonde --workers=$n -o t -F '*' -- sh -c 'for i in 1 2 3 4 5; do sh -c "read x <fifo$i; echo \$x" & done; wait' >out 2>err &
	pid=$!
	await 30 all_run
	recorder=$(child_of $pid sonde) # all others are what they execute by now
	[ "$(workers_of "$recorder")" -eq $n ] || fail "--workers=$n: $(workers_of "$recorder") threads collect"
	for i in 1 2 3 4 5; do
		echo $i >fifo$i
	done
	wait $pid || { show err; fail "--workers=$n"; }
	[ "$(sort out | tr -d '\n')" = 12345 ] || { show out; fail "--workers=$n: output"; }
	check_status 0 sonde info t
	check_contains out '^programs +6$'
done

check_usage_error sonde --workers=0 -F '*' true
check_usage_error sonde --workers=257 -F '*' true
