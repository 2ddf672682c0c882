# SPDX-License-Identifier: GPL-3.0-or-later
# `sonde sharing --pages': who touches pages first, and from which nodes they are accessed.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program layouts
need_command python3

cat >two.yaml <<'END'
nodes:
  - { cpus: 0-3, threads: [0, 1] }   # the main thread, and the first one that it starts
  - { cpus: 4-7, threads: 2 }
END
cat >look.py <<'E2'
# FILE: of the block: pages, those of them that the main thread touched first, how many in 20 accesses are remote
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
block = [r for r in rows if r['type'] == 'pages' and str(r.get('variable')).endswith(' in main') and r['accesses'] > 1000]
threads = [r for r in rows if r['type'] == 'thread']
main = threads[0]['thread']
assert [t['node'] for t in threads] == [0, 0, 1], threads
assert sum(t['remote'] for t in threads) == rows[-1]['remote'] and sum(t['accesses'] for t in threads) == rows[-1]['accesses']
accesses = sum(r['accesses'] for r in block)
print(sum(r['pages'] for r in block), sum(r['pages'] for r in block if r['first']['thread'] == main),
      round(20 * sum(r['remote'] for r in block) / accesses))
E2

record()
{
	same_run --mem --mem-times -m memory -q -o "$1" -- "$programs/layouts" pages "$1"
	sonde sharing --pages --nodes=two.yaml --all --json "$1" >json || fail "pages of $1"
	python3 look.py json
}

# 16 pages of each thread; the second one, on the other node, accesses its own in 20 rounds, the main thread once or twice; or it is local, and that is not
[ "$(record main)" = '32 32 9' ] || [ "$(record main)" = '32 32 10' ] || fail "main: $(record main)"
[ "$(record own)" = '32 0 0' ] || fail "own: $(record own)"

sonde sharing --pages --nodes=two.yaml main >text || fail text
check_contains text 'pages of 4096 bytes, .* 2 nodes, those of two.yaml'
check_contains text '16 pages of [a-z_]*align[a-z_]* in main, .* are remote'
check_contains text 'first touched by thread [0-9]*, node 0: fill at layouts.c:[0-9]*'
check_contains text 'thread [0-9]*, node 1, .* most of them: run_pages at layouts.c:[0-9]*'
check_contains text 'so: let the thread that uses them most store to them first'
sonde sharing --pages --nodes=two.yaml --csv main >csv || fail csv
[ "$(wc -l <csv)" -ge 2 ] || fail "lines of CSV"
sonde sharing --pages --page=2M --nodes=two.yaml main >text || fail "large pages"

# this machine's nodes, whatever these are
sonde sharing --pages main >text 2>err || fail "this machine"
check_contains text 'those of this machine'

# a program of the system: the second thread sorts what the first one has read
if command -v sort >/dev/null; then
	seq 1 135000 | rev >lines
	LC_ALL=C same_run --mem --mem-times -m memory -q -o sorted -- sort --parallel=2 lines
	echo 'nodes: [ { threads: 0 }, { threads: 1 } ]' >each.yaml
	sonde sharing --pages --nodes=each.yaml --json sorted >json || fail "pages of sort"
	python3 - <<-'E3' || fail "what sort does"
		import json
		rows = [json.loads(line) for line in open('json')]
		threads, total = [r for r in rows if r['type'] == 'thread'], rows[-1]
		assert len(threads) == 2 and total['nodes'] == 2, threads
		assert sum(t['remote'] for t in threads) == total['remote'] > 100000, total
		assert threads[0]['first_touch'] + threads[1]['first_touch'] == total['pages'], threads
		assert total['remote'] < total['accesses'] / 2, total
		pages = [r for r in rows if r['type'] == 'pages']
		assert any(r.get('variable', '').startswith('malloc') and r['first']['node'] == 0 and r['other']['node'] == 1 for r in pages), pages
	E3
fi

# what is wrong
check_usage_error sonde sharing --pages --nodes=none.yaml main
echo 'nodes: [ { cpus: 0-3 }, { cpus: 3-4 } ]' >twice.yaml
check_usage_error sonde sharing --pages --nodes=twice.yaml main
check_contains err 'twice.yaml: line 1, column [0-9]*: one of these numbers is listed twice'
: >empty.yaml
check_usage_error sonde sharing --pages --nodes=empty.yaml main
check_usage_error sonde sharing --nodes=two.yaml main
check_usage_error sonde sharing --pages --page=3K main
check_usage_error sonde sharing --pages --soa=cell main
