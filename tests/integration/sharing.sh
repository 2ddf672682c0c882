# SPDX-License-Identifier: GPL-3.0-or-later
# `sonde sharing', and module sharing: programs whose sharing is known.  None is missed, and there is no other.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program sharing
need_command python3

cat >look.py <<'E2'
# FILE PROCESS...: classes of lines of JSON that are of variables of the program, or of memory without a name
import json, sys
found = set()
for text in open(sys.argv[1]):
    r = json.loads(text)
    if r['type'] == 'line':
        names = {(p.get('variable') or 'heap').split(' ')[0].split('.')[0].split('[')[0] for p in r['pair']}
        found.add(r['class'] + ' ' + '+'.join(sorted(names)))
print(', '.join(sorted(found)))
E2

# known PATTERN WHAT: of a trace of it, and found while it runs.
known()
{
	rm -rf t
	same_run --mem --mem-times -q -o t -- "$programs/sharing" "$1" 20000
	sonde sharing --json t >json || fail "sharing of $1"
	[ "$(python3 look.py json)" = "$2" ] || fail "$1: $(python3 look.py json), not $2"
}

known false 'false counters'
known true 'true common'
known mixed 'mixed both'
known padded ''
known stride8 'false elements'
known stride64 ''
known stride128 ''
known allocator 'false heap'
known ring 'mixed ring, true slots'
known phases ''
known mutex 'true common'
known regression 'false sums'
known cluster 'false heap'
known cluster64 ''
known stack 'false local'
sonde sharing t >text || fail text
check_contains text '1. false sharing: local.of.. in run_on_stack .[+]0. and local.of.. in run_on_stack .[+]8.'

# blocks of the heap by what has allocated them, with module memory
same_run --mem --mem-times -m memory -q -o blocks -- "$programs/sharing" allocator 20000
sonde sharing blocks >text || fail text
check_contains text '1. false sharing: calloc.. in [a-z_]* .* and calloc.. in [a-z_]*'
check_contains text 'so: blocks that were allocated beside each other are for different threads'
same_run --mem --mem-times -m memory -q -o blocks2 -- "$programs/sharing" cluster 20000
sonde sharing blocks2 >text || fail text
check_contains text '1. false sharing: [^ ]*align[^ ]* in [a-z_]* .*and [^ ]*align[^ ]* in [a-z_]*'
check_contains text 'so: different parts of a block are for different threads'

# which bytes, which lines; transfers of phases are known
known phases ''
sonde sharing --all --json t | python3 -c "
import json, sys
rows = [json.loads(text) for text in sys.stdin]
r = [r for r in rows if r['type'] == 'line' and 'counters' in str(r['pair'])]
assert len(r) == 1 and r[0]['handed'], r
assert 19 <= r[0]['transfers_least'] == r[0]['transfers_most'] <= 22, r
" || fail "phases go over more or less often"
known false 'false counters'
sonde sharing t >text || fail text
check_contains text '1. false sharing: counters.hits.. .[+][08]. and counters.hits.. .[+][08].'
check_contains text 'reads 0-7, writes 0-7; thread [0-9]* reads 8-15, writes 8-15'
check_contains text "count_false at sharing.c:[0-9]*"
check_contains text 'pad each to 64 bytes'
sonde sharing --csv t >csv
[ "$(wc -l <csv)" = 2 ] || fail "lines of CSV"

# what if: as in the program that is padded, where one line is left that goes over when threads begin and end
saved()
{
	python3 -c "
import json, sys
r = [json.loads(text) for text in open('json')][-1]
print(r['transfers_most'] < r['before_transfers_most'] / 100)"
}
sonde sharing --json --pad='counters.hits[]:64' t >json
[ "$(saved)" = True ] || fail "padding saves nothing: $(cat json)"
known regression 'false sums'
sonde sharing --json --pad=sums t >json
[ "$(saved)" = True ] || fail "padding saves nothing: $(cat json)"
sonde sharing --json --pad=sums:8 t >json
[ "$(saved)" = False ] || fail "padding to what it is saves something: $(cat json)"
known stride8 'false elements'
sonde sharing --json --pad=elements/8:64 t >json
[ "$(saved)" = True ] || fail "padding saves nothing: $(cat json)"
sonde sharing --line=128 t >text

# while it runs
same_run -m sharing -q -o t2 -- "$programs/sharing" regression 20000
check_contains t2/sharing.txt '1. false sharing: sums'
same_run -m sharing -q -o t3 -- "$programs/sharing" padded 20000
check_contains t3/sharing.txt 'no line goes to and fro'
same_run -m sharing --sample=burst:1ms,every:10ms -q -o t4 -- "$programs/sharing" false 20000
check_contains t4/sharing.txt 'sampled: only what happened in bursts'

# what is wrong
same_run --mem -q -o untimed -- "$programs/sharing" phases 20000
sonde sharing untimed >text 2>err || fail "a trace without times"
check_contains err 'does not say when threads waited'
check_usage_error sonde sharing --line=48 t
check_usage_error sonde sharing --pad=nothing t
check_usage_error sonde sharing --pad=sums:3 t
check_usage_error sonde sharing --pad=:64 t
check_usage_error sonde sharing --csv --json t
check_usage_error sonde sharing --csv --pad=elements t
check_usage_error sonde sharing --system=nothing t
check_usage_error sonde sharing nowhere
check_usage_error sonde --mem-times -o never -- true
check_usage_error sonde -m sharing --analyze=program -o never -- true
