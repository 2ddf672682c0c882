# SPDX-License-Identifier: GPL-3.0-or-later
# `sonde advise': kernels of which is known what should be done about them get that advice, and the others none; output forms, and what is missing.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program advice sharing
need_command python3

cat >kinds.py <<'END'
# FILE FUNCTION: kinds of advice about the function; those about misses in caches and TLBs are left out, since they are about all that is large
import json, sys
found = set()
for r in map(json.loads, open(sys.argv[1])):
    if r['type'] == 'advice' and r.get('function') == sys.argv[2] and r['kind'] not in ('cache', 'TLB', 'conflicts'):
        assert 0.01 <= r['share'] <= 1 and r['evidence'] and r['advice'] and r['of'], r
        found.add(r['kind'])
print(', '.join(sorted(found)))
END
cat >words.py <<'END'
# FILE: each piece on a line
import json, sys
for r in map(json.loads, open(sys.argv[1])):
    if r['type'] == 'advice':
        print(f"{r.get('function')} {r.get('file', '').split('/')[-1]}:{r.get('line', 0)}: {r['evidence']}: {r['advice']}")
END

# run KERNEL...: a trace of these, and what is said of it.  The system has TLBs, and is the same everywhere.
run()
{
	rm -rf t
	same_run --mem --blocks -m memory -q -o t -- "$programs/advice" "$@"
	sonde advise --json --system=xeon-skylake t >json || fail "advice on $*"
	python3 words.py json >text
}

# known FUNCTION KINDS
known()
{
	[ "$(python3 kinds.py json "$1")" = "$2" ] || { show text; fail "$1: $(python3 kinds.py json "$1"), not $2"; }
}

run columns rows transpose fields whole
known columns stride
check_contains text '^columns advice.c:[0-9]+: matrix.... is read 4160 bytes further .* 8 of 4160 bytes .* begins [+]8 bytes .* exchange this loop'
known rows ''
known transpose stride
check_contains text '^transpose advice.c:[0-9]+: .* work in tiles of at most 256 steps'
known fields fields
check_contains text '^fields .* 8 of 64 bytes .* uses x of each element alone: .* structure of arrays'
known whole ''
run nodes aligned unaligned stencil
known walk_nodes ''
check_contains text '^walk_nodes .* without a pattern .* pointers are followed'
known add_pairs ''
known add_pairs_off alignment
check_contains text 'numbers.. is accessed 16 bytes at a time, always 8 bytes after a multiple of 16, so that [0-9]+ of [0-9]+ accesses .25.* cross'
known stencil ''
run kept scaled chained search
known chain ''
known find ''
# Clang vectorizes at -O2, with checks
if [ "$BUILT_WITH" = gcc ]; then
	known add_to aliasing
	check_contains text 'results.. stays in memory: line [0-9]+ stores to the same 8 bytes [0-9]+ times in a row'
	known scale vectorization
	check_contains text 'numbers.., results.. take one number of 8 bytes .* at -O2 GCC .* -O3, .* restrict if they never overlap'
fi
run short small tree
known short_loops 'trip count'
check_contains text 'entered 40000 times, and each time went round 3 times'
known turn calls
check_contains text 'called 160000 times, 160000 of them by small at advice.c:[0-9]*, for [0-9.]* instructions'
known tree ''
run again
known again allocation
check_contains text 'malloc was called here 40000 times for 512 B .* no more than 1 of these blocks was'

# two counters in a line, and apart
rm -rf t
same_run --mem --mem-times -q -o t -- "$programs/sharing" false 20000
sonde advise --json t >json || fail sharing
known count_false sharing
rm -rf t
same_run --mem --mem-times -q -o t -- "$programs/sharing" padded 20000
sonde advise --json t >json || fail padded
known count_padded ''

# all forms have the same
rm -rf t
same_run --mem -q -o t -- "$programs/advice" columns fields unaligned
for form in csv json; do
	check_status 0 sonde advise "--$form" t
	mv out flag
	check_status 0 sonde advise --format=$form t
	check_same flag out "--format=$form"
done
sonde advise --csv t >csv
python3 - <<'END' || fail "CSV and JSON differ"
import csv, json
a = [r for r in csv.DictReader(open('csv'))]
b = [r for r in map(json.loads, open('flag')) if r['type'] == 'advice']
assert len(a) == len(b) > 2
for x, y in zip(a, b):
    assert (x['kind'], x['file'], x['evidence'], x['advice'], float(x['share'])) == (y['kind'], y.get('file', ''), y['evidence'], y['advice'], y['share']), (x, y)
assert [float(x['share']) for x in a] == sorted((float(x['share']) for x in a), reverse=True)
END
sonde advise -n 1 t >text
check_contains text '^  1[.] '
check_lacks text '^  2[.] '
check_contains text 'and [0-9]+ more .--all'
# what is missing, in one line
check_contains text 'not looked at.* trip counts and small functions .--mem --blocks., allocations .-m memory'

# calls alone
rm -rf t
same_run -F '*' -q -o t -- "$programs/advice" small
check_status 0 sonde advise t
check_contains out 'not looked at.* strides.*.--mem.'

# what cannot be
check_usage_error sonde advise --csv --json t
check_usage_error sonde advise --format=json --csv t
check_usage_error sonde advise t t
check_usage_error sonde advise nothing
check_usage_error sonde advise --system=nothing t
rm -rf t
sonde -q -m posixio -o t -- true
check_usage_error sonde advise t

# a file that is another one by now
cp "$programs/advice" mine
rm -rf t
sonde -q --mem --blocks -o t -- ./mine short >plain.out
cp "$programs/sharing" mine
check_status 0 sonde advise t
check_contains out 'files are gone, or are others'
