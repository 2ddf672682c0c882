# SPDX-License-Identifier: GPL-3.0-or-later
# Sampled memory accesses: each burst is a piece of what is recorded without sampling, and the program does what it
# does without.
. "$top_srcdir/tests/integration/lib.sh"
need_program bursts recurse
need_ptrace
need_command setarch
need_command python3
which='list,stream,sort,switches,recursion,strings,run,on_timer'

# record DIR ARGUMENT...: with the same addresses each time; its output is that of the program alone.
record()
{
	dir=$1
	shift
	native="native $*"
	[ -e "$native" ] || "$programs/bursts" "$@" >"$native"
	status=0
	setarch -R sonde -q --mem="$which" $sample -o "$dir" -- "$programs/bursts" "$@" >out 2>err || status=$?
	[ $status = 5 ] || fail "$dir: exit status $status instead of 5: $(cat err)"
	cmp -s out "$native" || fail "$dir: the program printed something else"
	sonde info "$dir" >"$dir.info"
	check_contains "$dir.info" '^state  *intact'
}

# matches FULL SAMPLED: dumps, whose k-th threads are the same.  Prints bursts, and those that begin with something else
# than a thread does.
matches()
{
	python3 - "$1" "$2" <<-'END'
	import sys
	def begun(thread): # PID.TID: numbers begin anew after the greatest
	    pid, tid = map(int, thread.split(b'.'))
	    return (tid - pid) % (1 << 22)
	def read(path): # of each thread, the texts between "off", one thread after the other
	    data, at, threads = open(path, 'rb').read(), 0, {}
	    while at < len(data):
	        thread = data[at:data.index(b' ', at) + 1]
	        end = data.index(b'\n', max(data.rfind(b'\n' + thread), at)  + 1) + 1
	        threads[thread] = (b'\n' + data[at:end]).replace(b'\n' + thread, b'\n')[1:].split(b'off\n')
	        at = end
	    return [threads[t] for t in sorted(threads, key=begun)]
	full, sampled = read(sys.argv[1]), read(sys.argv[2])
	if len(full) != len(sampled):
	    sys.exit("%d threads, and %d" % (len(full), len(sampled)))
	n = inner = 0
	for whole, bursts in zip(full, sampled):
	    whole, at = b'\n' + whole[0], 0
	    for b in bursts:
	        found = whole.find(b'\n' + b, at)
	        if found < 0:
	            sys.exit("burst %d of %d accesses is nowhere behind access %d" % (n, b.count(b'\n'), whole.count(b'\n', 0, at)))
	        inner += found > 0
	        at = found + len(b)
	        n += 1
	print(n, inner)
	END
}

# ---- the same accesses ----

# compare THREADS OPTION: false if no thread went on recording: on a busy machine, it may have ended before it was told to.
compare()
{
	sample=$2
	record t $1 20
	sonde dump --mem t >t.txt
	matches full.txt t.txt >found 2>why || fail "$1 threads, $2: $(cat why)"
	show found
	read -r bursts inner <found
	[ "$inner" -ge 1 ] && [ "$(wc -l <t.txt)" -lt "$(wc -l <full.txt)" ]
}

for threads in 1 3; do
	sample=
	record full $threads 20
	sonde dump --mem full >full.txt
	ways=(--sample=burst:50us,every:200us --sample=burst:500,every:3k --overhead=20)
	[ $threads -ne 1 ] || ways+=(--sample=burst:5k,every:60k)
	for how in "${ways[@]}"; do
		tries=0
		until compare $threads $how; do
			tries=$((tries + 1))
			[ $tries -lt 20 ] || fail "$threads threads, $how: $bursts bursts, $inner that begin anew"
		done
	done
done

# ---- a number of accesses ----

# awk PROGRAM of the summary's line
sampled()
{
	grep '"type":"sampled"' t/metadata | tail -n 1 | sed 's/.*"bursts":\([0-9]*\).*"on-units":\([0-9]*\),"all-units":\([0-9]*\).*/\1 \2 \3/'
}

sample=--sample=burst:2k,every:20k
all=$which which=list,stream,sort,switches,recursion,run	# how many accesses string instructions make is not known
record t 1 100
which=$all
check_contains t.info '^ *about [0-9.]* % of the accesses$'
sampled >figures
show figures
awk '{ exit !($1 > 10 && $2 / $3 > 0.09 && $2 / $3 < 0.13) }' figures || fail "not a tenth: $(cat figures)"
# what is taken for 2,000 is not known better than to some tens of percent
awk '$1 == "memory" { print $2 }' t.info >accesses
awk 'NR == 1 { bursts = $1 } NR == 2 { exit !($1 > 1000 * bursts && $1 < 4000 * bursts) }' figures accesses ||
	fail "bursts of 2000: $(cat figures accesses)"

# a_tenth FUNCTION PROGRAM...: of its accesses
a_tenth()
{
	local function=$1
	shift
	for how in '' --sample=burst:100,every:1k; do
		sonde -q --mem="$function" $how -o t -- "$@" >out
		sonde info t | awk '$1 == "memory" { print $2 }'
	done >both
	awk 'NR == 1 { all = $1 } NR == 2 { exit !($1 > 0.09 * all && $1 < 0.13 * all) }' both ||
		fail "not a tenth of the accesses of $function: $(echo $(cat both))"
}

# it calls itself, and has no register to spare where it begins
a_tenth fib "$programs/recurse" 1 20
# an interpreter: hundreds of cases, a few of which are run in a call, each jumps to the next
{
	echo 'static volatile int v[1000]; __attribute__((noinline)) long run(const int *pc, long a) {'
	echo 'static void *const to[] = {'
	seq -f '&&L%.0f,' 0 300
	echo '}; goto *to[*pc++];'
	for i in $(seq 300); do
		echo "L$i: v[$i] += a; a += v[$i + 5]; v[$i + 9] = 3; v[$i + 90]++; goto *to[*pc++];"
	done
	echo 'L0: v[0] = a; v[1] = 3; return a + v[2]; }'
	echo 'int main(void) { long a = 1; for (int k = 0; k < 10000; k++) {'
	echo 'int code[] = { 1 + k % 300, 1 + k % 299, 0 }; a = run(code, a); } return 0; }'
} >interpreter.c
"$CC" -O2 -fno-pie -no-pie -w -o interpreter interpreter.c || fail "$CC"
a_tenth run ./interpreter

# JSON says where it was off, too
sonde dump --mem t | grep -c ' off$' >offs
sonde dump --mem --json t | grep -c '^{"type":"off","pid":[0-9]*,"tid":[0-9]*}$' >json.offs
check_same offs json.offs "times that recording was off"

# ---- where recording may go on, nothing more is recorded for that ----

unpacked()
{
	sed -n 's/^ *unpacked  *\([0-9]*\) .*/\1/p' t.info
}

sample=
record t 1 10
unpacked >full.bytes
for sample in --sample=burst:1000s,every:2000s --sample=burst:100G,every:200G; do
	record t 1 10
	unpacked >bytes
	check_contains t.info '^sampled  *1 burst, 100.00 % of the CPU time' # which has no end
	paste full.bytes bytes >both
	awk '{ exit !($1 > 0 && $2 < 1.02 * $1) }' both || fail "$sample: $(cat bytes) bytes, without $(cat full.bytes)"
done

# ---- what it may cost ----

sample=--overhead=5
XDG_CACHE_HOME=$PWD/cold record t 1 100 # a cache that does not know which functions are called
check_contains t.info '^cost  *about [0-9.]* % of CPU time; allowed 5 %$'
# what no pause makes less
check_contains t.info "^  *and [0-9.]* s of Sonde's CPU time to instrument functions when they were first called$"
grep -q '"type":"sampled",.*"asked":[1-9]' t/metadata || fail "what first calls took is not in the metadata"
grep -q '"type":"sampled","by":"overhead","overhead":50000,' t/metadata || fail "it is not in the metadata"
sonde report --json t >t.json
check_contains t.json '"sampled": {"by": "overhead",.*"allowed_cost": 0.05, "cost": '

# what it may cost is kept with all ways to record, and however little there is
sample='--overhead=5 --overflow=drop'
record t 1 100
check_contains t.info '^cost  *about [0-9.]* % of CPU time; allowed 5 %$'
for sample in --overhead=0.1 --overhead=100%; do
	record t 2 1
done
status=0
timeout -s KILL 60 sonde -q -m memcount --analyze=program --mem="$which" --overhead=5 -o t -- "$programs/bursts" 2 20 >out || status=$?
[ $status = 5 ] || fail "--analyze=program: exit status $status instead of 5"
sonde info t >t.info
check_contains t.info '^cost  *about [0-9.]* % of CPU time; allowed 5 %$'

# ---- together with functions ----

for how in burst:100us,every:500us burst:5k,every:50k; do
	for threads in 1 3; do
		sample="-F list,stream,sort,switches,recursion,strings,run --sample=$how"
		record t $threads 15
		sonde dump t | awk '/recursion/ { n++ } END { print n }' >events
		sample='-F list,stream,sort,switches,recursion,strings,run'
		record full $threads 15
		sonde dump full | awk '/recursion/ { n++ } END { print n }' >full.events
		cmp -s events full.events || fail "$how: $(cat events) events of recursion() instead of $(cat full.events)"
		matches_again=$(sonde info t | awk '$1 == "sampled" { print $2 }')
		[ "$matches_again" -ge 1 ] || fail "$how: nothing was sampled"
	done
done

# ---- a share of the CPU time ----

sample=--sample=burst:1ms,every:10ms
record t 1 120 # long enough for several bursts also where others use the processors
check_contains t.info '^sampled  *[0-9]* bursts, [0-9.]* % of the CPU time$'
awk '$1 == "sampled" && ($4 < 2 || $4 > 30) { exit 1 }' t.info || fail "not a tenth: $(grep sampled t.info)"

# ---- signals while it goes off and on ----

sample=--sample=burst:200us,every:1ms
for i in 1 2; do
	record t 1 20 signals
	record t 3 10 signals
done
for sample in --sample=burst:500,every:3k --sample=burst:20k,every:200k --overhead=20 '-F * --overhead=5'; do
	set -f
	record t 1 20 signals
	record t 3 10 signals
	set +f
done

# ---- what is asked for ----

for wrong in burst:1ms every:10ms,burst:1ms burst:10ms,every:1ms burst:0ms,every:1ms burst:1x,every:1ms \
	burst:1ms,every:1ms burst:1ms,every:2ms, burst:,every:1s 1ms burst:1M,every:10ms burst:1k,every:1T \
	burst:10M,every:1M burst:1,every:2000000G burst:-1,every:10 burst:1.5k,every:10k; do
	check_usage_error sonde --mem --sample=$wrong -o t -- "$programs/bursts"
done
check_usage_error sonde --sample=burst:1ms,every:10ms -o t -- "$programs/bursts"
check_usage_error sonde --overhead=5 -o t -- "$programs/bursts"
check_usage_error sonde --mem --overhead=5 --sample=burst:1ms,every:10ms -o t -- "$programs/bursts"
for wrong in 0 0% 0.05 101 -5 5%% 5k % nan 0x5 1e; do
	check_usage_error sonde --mem --overhead=$wrong -o t -- "$programs/bursts"
done
