# SPDX-License-Identifier: GPL-3.0-or-later
# Memory streams of several threads are unpacked, analysed and packed side by side: whatever the number of workers, modules and
# the trace get the same, in each thread's order; a module that cannot do with that is given one chunk at a time.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program lanes

# record N [OPTION...]: with so many workers into t.N.  At the same addresses each time.
record()
{
	local n=$1
	shift
	check_status 0 setarch -R sonde -q --workers="$n" --analyze=collector --mem=work --mem-buffer=256K "$@" -o "t.$n" -- \
		"$programs/lanes" 5 60 5 120 0 30 >/dev/null
	check_same plain out "output with $n workers"
}

"$programs/lanes" 5 60 5 120 0 30 >plain

# One that keeps what it knows by thread: it is run for several at once.
{
	cat "$modules/order.c"
	echo 'SONDE_ON_MEMORY_MERGE(into, from) { (void)into; (void)from; }'
} >order.c
for n in 1 2 5; do
	record $n -m ./order.c,memcount,memprofile,memtrace
	check_lacks "t.$n/order.txt" '[^ 0]+ gaps'
	# the name of a thread that has ended at once may not be known
	awk 'NR > 1 { print $(NF - 5), $(NF - 4), $(NF - 3), $(NF - 2), $(NF - 1), $NF }' "t.$n/memcount.txt" | sort >counts.$n
	sort "t.$n/order.txt" >order.$n
	check_status 0 sonde memory "t.$n"
	mv out memory.$n
	for what in counts order memory; do
		check_same $what.1 $what.$n "$what with $n workers"
	done
	check_same t.1/memprofile.txt "t.$n/memprofile.txt" "profile with $n workers"
done
[ "$(awk '{ n += $1 } END { print n }' order.1)" -gt 5000000 ] || fail "hardly any accesses"
[ "$(wc -l <order.1)" -eq 5 ] || { show order.1; fail "not all threads"; }

# No merge callback: never two at once, though there are many threads.
cat >turns.c <<'X2'
#include <stdatomic.h>
#include <unistd.h>
#include <sonde/module.h>
SONDE_MODULE("turns", "how many are in it at once");

static _Atomic int inside, twice, batches;

SONDE_ON_MEMORY(batch)
{
	(void)batch;
	if (atomic_fetch_add(&inside, 1))
		twice = 1;
	if (++batches % 64 == 0)
		usleep(100);
	atomic_fetch_sub(&inside, 1);
}

SONDE_ON_MEMORY_END(end)
{
	sonde_print(end, "%d batches, twice: %d\n", batches, twice);
}
X2
record 4 -m ./turns.c
check_contains t.4/turns.txt '^[0-9]{3,} batches, twice: 0$'
