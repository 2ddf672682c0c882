# SPDX-License-Identifier: GPL-3.0-or-later
# Functions are instrumented when they are first called: by several threads at once, in children that are forked meanwhile, in
# signal handlers and constructors, below a filter of system calls, while Sonde is stopped, and after it was killed, be it
# while it wrote.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program firsts

# Nothing is known of earlier recordings: all wait for their first call.
forget_called()
{
	rm -f "$XDG_CACHE_HOME"/sonde/called-*
}

check_firsts() # CALLS
{
	events t
	check_count "$1" 'enter() && has("\"function\":\"first_")'
	check_count "$1" 'returned() && has("\"function\":\"first_")'
}

for program in "$programs/firsts" "$programs/firsts-static"; do
	[ -x "$program" ] || continue
	# the last time with what the recordings before have called
	for when in --eager "" ""; do
		same_run -q $when -F '*' -o t -- "$program" threads
		check_firsts $((8 * 256))
		same_run -q $when -F '*' -o t -- "$program" forks
		check_firsts $((41 * 256))
		same_run -q $when -F '*' -o t -- "$program" signals
		check_firsts $((2 * 256))
		FIRSTS_START=1 same_run -q $when -F '*' -o t -- "$program" start
		check_firsts 256
		same_run -q $when -F '*' -o t -- "$program" filter
		check_firsts 256
	done
	for how in threads forks signals filter; do
		forget_called
		same_run -q --mem -o t -- "$program" "$how"
		sonde info t >info.txt
		check_contains info.txt '^state +intact$'
	done
done

# Where nobody else runs the process's code, entries and calls lead straight to copies.
cat >ways.txt <<-END
	alone: straight
	calls: straight
	beside a child: by a stub
	beside a thread: by a stub
	child: by a stub
END
forget_called
sonde -q -F 'first_*' -F leaf -o t -- "$programs/firsts" ways >out || fail "exit status $?"
check_same ways.txt out "where calls lead"

# The three kinds are told apart.
forget_called
sonde -q -F 'first_0*' -F call_some -o t -- "$programs/firsts" start || fail "exit status $?"
sonde info t >info.txt
check_contains info.txt '^recorded +0 functions; 17 never called$'
check_contains info.txt '^state +intact$'
sonde -q -F '*' -o t -- "$programs/firsts" start || fail "exit status $?"
sonde list t >list.txt || fail "exit status $? of list"
check_contains list.txt '^instrumented  main$'
check_contains list.txt '^left alone    _start: does not return like other functions$'
check_lacks list.txt ' first_000$'
check_contains list.txt ': [0-9]+ instrumented, [0-9]+ never called, [0-9]+ left alone$'
check_same <(sonde info t | sed -n 's/^recorded *\([0-9]*\) f.*/\1/p') <(grep -c ^instrumented list.txt) "functions that were instrumented"
sonde list t main >list.txt || fail "exit status $? of list"
check_same list.txt <(echo 'instrumented  main') "one function"
sonde list -r t >list.txt || fail "exit status $? of list"
check_lacks list.txt '^instrumented '
sonde list t nothing_like_it >list.txt 2>list.err
[ $? -eq 2 ] || fail "a function that is not there"
check_contains list.err 'nothing_like_it'

# with_recorder HOW: the program is told who records it.
with_recorder() # HOW SONDE-OPTION...
{
	local how=$1
	shift
	forget_called
	"$programs/firsts" "$how" >plain.out
	rm -f recorder
	FIRSTS_TRACER=recorder "${limit[@]}" sonde -q "$@" -o t -- "$programs/firsts" "$how" >traced.out 2>traced.err &
	pid=$!
	child_of "$(child_of "$pid" sonde)" sonde >number
	mv number recorder
	wait "$pid" || fail "exit status $? with sonde $how"
	check_same plain.out traced.out "output of firsts $how"
}

with_recorder stop -F '*'
# What was first called when nobody answered is left alone for good.
sonde info t >info.txt
check_contains info.txt '^lost +[0-9]+ events'
with_recorder kill -F '*'
# A body of which a part has been written is as it was before it runs.
with_recorder half --mem=wide

# What earlier recordings of a program called is instrumented at the start, but for a few, and no other program's; when it is
# not called any more it waits again.  What is there of that may be damaged.
instrumented()
{
	sonde -q -F 'first_*' -o t -- "$programs/firsts" start >out || fail "exit status $?"
	sonde info t | sed -n 's/^recorded *\([0-9]*\) f.*/\1/p'
}
forget_called
[ "$(instrumented)" -eq 0 ] || fail "what nobody has called was instrumented"
sonde -q -F '*' -o t -- "$programs/firsts" threads >out || fail "exit status $?"
some=$(instrumented)
[ "$some" -ge 200 ] && [ "$some" -lt 256 ] || fail "$some of 256 were instrumented at the start"
left=$some
for _ in 1 2 3 4 5 6; do
	left=$(instrumented)
done
[ "$left" -lt "$some" ] || fail "what is not called any more is not forgotten: $left of $some"
for file in "$XDG_CACHE_HOME"/sonde/called-*; do
	truncate -s -3 "$file"
done
[ "$(instrumented)" -eq 0 ] || fail "what was cut off was believed"

# What is kept of code may be damaged, or cut off: nothing but the recording suffers, and the next one is right.
same_run -q -F '*' -o t -- "$programs/firsts" start
forget_called
same_run -q -F '*' -o t -- "$programs/firsts" start
sonde info t >whole.txt
for where in flow end; do
	for file in cache/sonde/flow-*; do
		size=$(stat -c %s "$file")
		case $where in
		flow) printf X | dd of="$file" bs=1 seek=$((size - 70)) conv=notrunc 2>/dev/null ;;
		end) truncate -s -70 "$file" ;;
		esac
	done
	forget_called
	same_run -q -F '*' -o t -- "$programs/firsts" start
	sonde info t >info.txt
	if [ $where = flow ]; then
		check_contains info.txt '^recorded +0 functions'
		check_contains info.txt 'not instrumented: what was kept of its code in the cache folder was damaged'
		forget_called
		same_run -q -F '*' -o t -- "$programs/firsts" start
		sonde info t >info.txt
	fi
	check_same <(grep ^recorded whole.txt) <(grep ^recorded info.txt) "what is recorded after damage"
done

# Two that find nothing there look at it once, or each for itself.
rm -rf cache
sonde -q -F '*' -o other -- "$programs/firsts" start >other.out &
same_run -q -F '*' -o t -- "$programs/firsts" start
wait $! || fail "exit status $?"
for trace in t other; do
	sonde info $trace >info.txt
	check_same <(grep ^recorded whole.txt) <(grep ^recorded info.txt) "what is recorded of two programs at once"
done
