# SPDX-License-Identifier: GPL-3.0-or-later
# `sonde sharing --pad, --split, --soa': what they say of a program against the same program with its source changed so, recorded.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program layouts
need_command python3

# The functions that do the work, and where they wait for each other: those whose times say that both are in a round at once.
record()
{
	rm -rf "$1"
	same_run --mem='main,run*,items_*,cells_*,add_sums,count_owned' --mem-times -m memory -q -o "$1" -- "$programs/layouts" "$2" "$3"
	mv plain.out "$1.said"
}

cat >compare.py <<'E2'
# WHAT-IF REAL: their sums of transfers differ by less than 30 %, or are next to nothing of what there was before; prints before, then, really
import json, sys
def total(path):
    return [json.loads(line) for line in open(path)][-1]
what, real = total(sys.argv[1]), total(sys.argv[2])
before = what['before_transfers_most']
print(before, what['transfers_most'], real['transfers_most'])
for bound in 'transfers_least', 'transfers_most':
    a, b = what[bound], real[bound]
    assert abs(a - b) <= 0.3 * b or max(a, b) < before / 100, (bound, a, b)
E2

# as_changed PATTERN VARIANT OPTION: also prints the three sums
as_changed()
{
	record plain "$1" plain
	record real "$1" "$2"
	check_same plain.said real.said "$1: what it computes"
	sonde sharing --json "$3" plain >what || fail "$1 $3"
	sonde sharing --json real >really || fail "$1 $2"
	python3 compare.py what really >>sums || fail "$1 $3"
}

as_changed items split --split=item.hits
as_changed cells soa --soa=cell
as_changed bodies soa --soa='struct body'
as_changed outers split --split=pair.right
as_changed sums padded --pad=sums
as_changed hits padded --pad='hits.each[]'
as_changed itemsheap split --split=item.hits
as_changed cellsheap soa --soa=cell
as_changed owned padded --pad='calloc in make_owned'

# what saves more in truth saves more here; and what costs, costs
python3 - <<'E2' || { show sums; fail "order"; }
rows = [[int(n) for n in line.split()] for line in open('sums')]
said = sorted(range(len(rows)), key=lambda i: rows[i][1] / max(rows[i][0], 1))
true = sorted(range(len(rows)), key=lambda i: rows[i][2] / max(rows[i][0], 1))
for i, a in enumerate(rows):
    assert (a[1] < a[0]) == (a[2] < a[0]), a
    for b in rows[:i]:
        x, y = a[2] / max(a[0], 1), b[2] / max(b[0], 1)
        if max(x, y) > 1.5 * min(x, y) and max(x, y) > 0.02:
            assert (x < y) == (a[1] / max(a[0], 1) < b[1] / max(b[0], 1)), (a, b)
assert rows[2][1] > 3 * rows[2][0], rows[2]
E2

# in words; where it was is what is said, and what is elsewhere has its name
record t items plain
sonde sharing --min=10 --split=item.hits t >text || fail text
check_contains text '^if item.hits were in arrays of their own: '
check_contains text 'items\[\].flags'
check_lacks text 'items\[\].hits'

# both, of different variables: no less is saved than by either alone, and no more than by both, which may save the same transfers; of the
# same variable they do not go together
for change in '--split=item.hits' '--pad=found' '--split=item.hits --pad=found'; do
	sonde sharing --line=1024 --json $change t | tail -n 1
done >changes
python3 - <<'E2' || { show changes; fail "a change saves something else with another one"; }
import json
split, pad, both = (json.loads(line) for line in open('changes'))
before = split['before_transfers_most']
assert pad['before_transfers_most'] == both['before_transfers_most'] == before
assert split['transfers_most'] < before
assert both['transfers_most'] <= min(split['transfers_most'], pad['transfers_most'])
assert before - both['transfers_most'] <= 2 * before - split['transfers_most'] - pad['transfers_most']
E2
sonde sharing --min=10 --split=item.hits --pad=found:128 t >text || fail text
check_contains text '^if found were padded to 128 bytes, and item.hits were in arrays of their own: '
check_usage_error sonde sharing --split=item.hits --pad=items t
check_contains err 'a variable that --split or --soa changes'

# blocks of the heap by where they are allocated; their words, each by itself
record t owned plain
sonde sharing --min=10 t >text || fail text
check_contains text 'calloc.* in make_owned'
sonde sharing --min=10 --pad='calloc in make_owned' t >text || fail text
check_contains text '^if calloc in make_owned were padded to 64 bytes: '
check_contains text '^no line goes to and fro'
sonde sharing --min=10 --line=256 --pad='calloc in make_owned/8:64' t >text || fail text
check_contains text 'calloc.* in make_owned'
check_usage_error sonde sharing --pad='malloc in make_owned' t
check_contains err "no blocks of that name are accessed; 'sonde memory -b allocation' shows their names"
record t bodies plain
sonde sharing --min=10 --soa=body t >text || fail text
check_contains text '^if arrays of body were structures of arrays: .* up to [0-9]* more'
check_contains text 'body\[\]\.[xyz]'

# what is wrong
check_usage_error sonde sharing --split=item t
check_usage_error sonde sharing --split=item. t
check_usage_error sonde sharing --split=item.none t
check_contains err 'no member of that name'
check_usage_error sonde sharing --soa=nothing t
check_contains err "'sonde memory -b type' shows types"
check_usage_error sonde sharing --soa= t
check_usage_error sonde sharing --csv --soa=item t
check_usage_error sonde sharing --pad=sums --soa=body t
