# SPDX-License-Identifier: GPL-3.0-or-later
# Every function of programs that we did not write: they print, and end, as they do without Sonde. What is
# not installed is left out. All are tried, also after one has failed.
#
# FUNCTIONS_LONG=1      those that take longer too
# FUNCTIONS_ONLY        only these ("python-math redis")
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
record=(-F '*') examine=recorded long=${FUNCTIONS_LONG:-} only=${FUNCTIONS_ONLY:-}
. "$top_srcdir/tests/integration/stress.sh"
[ "$long" ] && limit=(timeout --foreground -s KILL 600)

# recorded: the trace is whole, and not empty.
recorded()
{
	sonde info t >info.txt 2>&1 || { show info.txt; fail "sonde info"; }
	check_contains info.txt '^lost +nothing$'
	check_contains info.txt '^state +intact$'
	grep -E '^events' info.txt | tr -s ' ' | tail -n 1
	rm -rf t
}

work=$PWD
seq 1 20000 >numbers
cat >objects.py <<'END'
import collections, decimal, itertools, random, re, struct
class A:
    def __init__(self, v): self.v = v
    def __lt__(self, o): return self.v < o.v
    def gen(self): yield from range(self.v % 5)
random.seed(1)
v = sorted(A(random.randrange(1000)) for i in range(300))
words = collections.Counter(re.findall(r'\w+', 'a b c a b a ' * 50))
try:
    {}['missing']
except KeyError as e:
    print(repr(e))
print(sum(x for a in v for x in a.gen()), words, decimal.Decimal(2).sqrt())
print(struct.pack('<id', 3, 0.5), list(itertools.permutations('abc'))[:3], '%.3e' % 1e100)
END
cat >script.sql <<'END'
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 500)
	insert into t select i, 'row ' || (i * 7919 % 501), i / 3.0 from n;
create index by_b on t(b);
select count(*), sum(a), round(avg(c), 3), max(b) from t;
select b from t where b like 'row 29%' order by b limit 10;
delete from t where a % 3 = 0;
select json_group_array(a) from t where a < 20;
select nothing from t;
.tables
END
cat >hash.pl <<'END'
my %h; my $s = 0;
for my $i (1..2000) { $h{$i % 97} .= chr(65 + $i % 26); }
for my $k (sort { $a <=> $b } keys %h) { $s = ($s * 31 + length($h{$k}) + ord($h{$k})) % 1000003 if $h{$k} =~ /^(.)(.*)\1/; }
eval { die { code => 7 } }; printf "%d %d %s\n", $s, $@->{code}, join ",", map { sprintf "%.2f", sqrt } 1..5;
END
cat >hello.c <<'END'
#include <stdio.h>
#include <string.h>
struct s { int a[4]; double d; };
static int f(struct s *s, int n) { for (int i = 0; i < n; i++) s->a[i % 4] += i * (int)s->d; return s->a[n % 4]; }
int main(int argc, char **argv)
{
	struct s s = { { 1, 2, 3, 4 }, argc + 0.5 };
	switch (argc) { case 1: puts("one"); break; case 2: puts(argv[1]); break; default: return strlen(argv[2]) > 3; }
	return printf("%d\n", f(&s, 100)) > 100;
}
END
cat >exceptions.cmake <<'END'
foreach(i RANGE 1 50)
	math(EXPR square "${i} * ${i}")
	string(REGEX REPLACE "([0-9])" "<\\1>" text "${square}")
	list(APPEND all "${text}")
endforeach()
list(SORT all)
message(STATUS "${all}")
string(JSON value ERROR_VARIABLE error GET "{\"a\": [1, 2]}" a 7)
message(STATUS "${value} ${error}")
message(FATAL_ERROR "ends here")
END
cat >scene.pov <<'END'
camera { location <0, 2, -3> look_at <0, 1, 2> }
light_source { <2, 4, -3> color rgb 1 }
sphere { <0, 1, 2>, 2 texture { pigment { color rgb <1, 1, 0> } finish { phong 1 } } }
plane { y, -1 pigment { checker color rgb 1, color rgb 0 } }
END

# ---- interpreters ----

python=/usr/bin/python3
if have $python; then
	try python -- $python "$work/objects.py"
	try python-error -- $python -S -c 'import json; json.loads("{")'
	try python-threads -- $python -c 'import threading as t, queue
q = queue.Queue(); out = []
def f(n):
    for i in range(20): q.put(n * i)
ts = [t.Thread(target=f, args=(i,)) for i in range(4)]
[x.start() for x in ts]; [x.join() for x in ts]
print(sorted(q.get() for i in range(80)))'
	try python-fork -- $python -S -c 'import os, sys
for i in range(3):
    pid = os.fork()
    if pid == 0: os._exit(i + 3)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))'
	try python-signal -- $python -S -c 'import signal, os
n = []
signal.signal(signal.SIGUSR1, lambda s, f: n.append(s))
for i in range(5): os.kill(os.getpid(), signal.SIGUSR1)
print(n)
os.kill(os.getpid(), signal.SIGTERM)'
	if [ -e /usr/lib/python3.11/test/test_math.py ]; then
		quiet='import sys, unittest, io, test.%s as m
r = unittest.TextTestRunner(io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromModule(m))
print(r.testsRun, [str(t[0]) for t in r.failures + r.errors])'
		try_long python-math -- $python -c "${quiet/\%s/test_math}"
		try_long python-re -- $python -c "${quiet/\%s/test_re}"
		try_long python-json -- $python -c "${quiet/\%s/test_json}"
		try_long python-struct -- $python -c "${quiet/\%s/test_struct}"
		try_long python-exceptions -- $python -c "${quiet/\%s/test_generators}"
	else
		echo "left out: no libpython3.11-testsuite"
	fi
	try python-late --libs -- $python -c 'import ctypes, sqlite3, ssl, hashlib, lzma
print(sqlite3.connect(":memory:").execute("select 6 * 7").fetchall(), hashlib.sha256(b"a").hexdigest(), len(lzma.compress(b"a" * 999)))
f = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
a = (ctypes.c_int * 5)(5, 1, 4, 2, 3)
ctypes.CDLL(None).qsort(a, 5, 4, f(lambda x, y: x[0] - y[0])); print(list(a))'
	try python-memory -m memory -- $python "$work/objects.py"
	try python-crash -- $python -S -c 'import ctypes; print(1, flush=True); ctypes.string_at(0)'
	try python-kill -- $python -S -c 'import os; print(1, flush=True); os.kill(os.getpid(), 9)'
	try python-interrupt -- $python -S -c 'import os, signal; print(1, flush=True); os.kill(os.getpid(), signal.SIGINT)'
	try_long python-libs --libs -- $python "$work/objects.py"
fi
have perl && try perl -- perl "$work/hash.pl"
have bash && try bash -- bash -c 'f() { local i; for i in 1 2 3; do echo "$i $(seq $i | wc -l)"; done; }
	f; declare -A a=([x]=1); a[y]=$((a[x] + 41)); echo ${a[@]} ${BASH_VERSION%%.*}; trap "echo bye" EXIT
	[[ abc =~ b(.) ]] && echo ${BASH_REMATCH[1]}; printf "%05d\n" 42; ( exit 4 ) || exit 5'
have bash-static && try bash-static -- bash-static -c 'for i in 1 2 3; do echo $i | tr 1-3 a-c; done; (exit 3)'
have busybox && try busybox -- busybox sh -c 'seq 50 | busybox awk "{ s += \$1 } END { print s }"; busybox md5sum </dev/null; exit 6'
have busybox && try busybox-awk -- busybox awk 'BEGIN { for (i = 0; i < 2000; i++) a[i % 7] = a[i % 7] i; for (k in a) n += length(a[k]); print n }'
have node && {
	try node-version -- node --version
	try_long node -- node -e 'let m = new Map(); for (let i = 0; i < 1000; i++) m.set(i % 7, "" + i);
		try { null.x } catch (e) { console.log(e.message) } console.log([...m], JSON.stringify({ a: [1.5] }))'
}

# ---- tools ----

have sqlite3 && {
	STDIN=$work/script.sql try sqlite3 -- sqlite3 :memory:
	STDIN=$work/script.sql try sqlite3-libs --libs -- sqlite3 :memory:
}
have git && {
	export GIT_AUTHOR_DATE="2001-01-01T00:00:00Z" GIT_COMMITTER_DATE="2001-01-01T00:00:00Z" GIT_PAGER=cat HOME=$work \
		GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_GLOBAL=/dev/null
	git init -q repository 2>/dev/null
	for i in 1 2 3 4 5; do
		seq $i 200 >repository/numbers
		cp hello.c "repository/f$i.c"
		git -C repository add . && git -C repository commit -q -m "commit $i"
	done
	sed -i 's/one/two/' repository/f1.c
	try git-log -- git -C "$work/repository" log -p --stat
	try git-diff -- git -C "$work/repository" diff
	try git-blame -- git -C "$work/repository" blame numbers
	try git-error -- git -C "$work/repository" show nothing
}
have gcc && {
	cc1=$(gcc -print-prog-name=cc1)
	try as -- as -o /dev/null /dev/null
	try cc1 -- "$cc1" -quiet -O0 "$work/hello.c" -o -
	try_long cc1-O2 -- "$cc1" -quiet -O2 "$work/hello.c" -o -
	try gcc -- gcc -c "$work/hello.c" -o hello.o
}
have gdb && {
	try gdb -- gdb -nx -batch -ex 'print 6 * 7' -ex 'info line main' -ex 'nothing' /bin/true
	try_long gdb-memory -m memory --libs -- gdb -nx -batch -ex 'print 6 * 7' /bin/true
	try_long gdb-libs --libs -- gdb -nx -batch -ex 'print 6 * 7' /bin/true
}
have openssl && {
	try openssl-dgst -- openssl dgst -sha256 "$work/numbers"
	try openssl-enc -- openssl enc -aes-256-cbc -pbkdf2 -S 0102030405060708 -pass pass:x -in "$work/numbers" -base64
	try openssl-dgst-libs --libs -- openssl dgst -sha256 "$work/numbers"
	try_long openssl-prime -- openssl prime 1000000007
}
have xz && try xz -- xz -T1 -1 -c "$work/numbers"
have xz && try xz-threads -- xz -T2 -1 -c "$work/numbers"
have gzip && try gzip -- gzip -n -c "$work/numbers"
have bzip2 && try bzip2 -- bzip2 -c "$work/numbers"
have zstd && try zstd -- zstd -q -T2 -c "$work/numbers"
have tar && try tar -- tar --sort=name --mtime=@0 --owner=0 --group=0 -C "$work" -cf - numbers hello.c
have awk && try awk -- awk '{ a[$1 % 13] += $1; s = s substr($1, 1, 1) } END { for (i = 0; i < 13; i++) print a[i], length(s) }' "$work/numbers"
have gawk && try gawk -- gawk '{ a[$1 % 13] += $1 } END { n = asorti(a, b); for (i = 1; i <= n; i++) print b[i], a[b[i]] }' "$work/numbers"
have sed && try sed -- sed -n 's/\(.\)\(.*\)\1/<\1\2>/p; 100q' "$work/numbers"
have sort && try sort -- sort -r --parallel=2 "$work/numbers"
have grep && try grep -- grep -cE '^(1|2.*3)+$' "$work/numbers"
have find && try find -- find /etc/ssl -maxdepth 1 -printf '%f %s\n'
have ssh-keygen && ssh-keygen -q -t ed25519 -N '' -C '' -f key && try ssh-keygen -- ssh-keygen -l -v -f "$work/key.pub"
have curl && try curl --libs -- curl --version
have curl && try curl-file -- curl -s "file://$work/hello.c"
have make && { printf 'all: a b\n\t@echo $(words $^)\na b:\n\t@echo $@; exit 0\n' >Makefile; try make -- make -C "$work" -s -j1; }
have cmake && try cmake -- cmake -P "$work/exceptions.cmake"
have jq && try jq -- jq -n '[range(50) | {a: ., b: (. * . | tostring)}] | group_by(.a % 3) | map(length), (.[0] | tojson), error("x")'
have xmllint && try xmllint -- xmllint --noout "$work/numbers"
have vim.basic && try vim -- vim.basic -u NONE -es -c '%s/1/one/g' -c '1,5p' -c 'q!' "$work/numbers"
have bc && try bc -- bc -q <<<'scale = 30; 4 * a(1); quit'
have ffmpeg && try_long ffmpeg -- ffmpeg -v error -f lavfi -i testsrc=duration=0.2:size=64x48:rate=5 -f framemd5 -
have povray && try povray -- povray +W16 +H12 -D +WT1 +Oscene.tga +FT -GA -V "+I$work/scene.pov"
have ls && try ls -- ls -l --time-style=+%s /usr/share/doc/bash
have redis-cli && try redis-cli -- redis-cli -p 1 ping

# ---- other compilers' code ----

have rg && try rg -- rg --sort path -n '1(2|3)4$' "$work/numbers" "$work/hello.c"
have rg && try rg-threads -- rg -c -j2 '1(2|3)4$' "$work/numbers"
have fdfind && try fdfind -- fdfind -j1 --max-buffer-time=60000 . "$work/repository"
have age && try age -- age --version
have age-keygen && try age-keygen -- age-keygen --nothing
have fzf && STDIN=$work/numbers try fzf -- fzf -f 1234
have direnv && try direnv -- direnv version
have go && try go -- go version

have hugo && try hugo -- hugo version
have batcat && try bat -- batcat --color never -p "$work/hello.c"
have sbcl && try sbcl -- sbcl --noinform --non-interactive --eval '(progn (handler-case (car (the list (read-from-string "5")))
	(error (e) (princ (type-of e)))) (gc :full t) (print (length (loop for i below 100000 collect (make-string 10)))) (terpri))'
have emacs && try_long emacs -- emacs -Q --batch --eval '(princ (apply (quote +) (number-sequence 1 100)))'
have php && try php -- php -r 'echo json_encode(range(1, 5)), "\n"; try { throw new Exception("e"); } catch (Exception $e) { echo $e->getMessage(); }'

# ---- handlers that look at what they interrupt, other C libraries and kinds of programs ----

# build NAME COMPILER-AND-OPTION...: of tests/programs; quietly not where that is not installed.
build()
{
	local name=$1 program=$2
	shift 2
	have "$1" && "$@" -w -I "$top_srcdir/tests/programs" -o "$name" "$top_srcdir/tests/programs/$program.c" 2>/dev/null
}
for options in -O0 -O2 "-Os -static" "-O2 -static-pie"; do
	name=handlers${options// /}
	[ "$long" ] || [ "$options" = -O0 ] || continue
	build "$name" fn_handlers gcc $options && try "$name" -- "$work/$name"
done
for options in -O2 "-O2 -static" "-O2 -static-pie"; do
	name=musl${options// /}
	build "$name" fn_signals musl-gcc $options && try "$name" --libs -- "$work/$name"
done

# ---- OpenMP ----

if have gcc && gcc -O2 -fopenmp -o team "$top_srcdir/tests/programs/team.c" 2>/dev/null; then
	OMP_NUM_THREADS=3 try openmp -- "$work/team" 2000
	OMP_NUM_THREADS=3 try openmp-libs --libs -- "$work/team" 200
fi

# ---- a server ----

redis()
{
	local socket=$PWD/socket status=0
	command sonde -q -o t -F '*' -- redis-server --port 0 --unixsocket "$socket" --save '' --dir "$PWD" \
		>server.out 2>server.err &
	local sonde=$!
	await 20 eval 'redis-cli -s "$socket" ping 2>/dev/null | grep -q PONG'
	redis-benchmark -s "$socket" -q -n 500 -c 10 -t set,get,lpush,lrange_100 >bench.out 2>&1 || fail "redis-benchmark"
	check_status 0 redis-cli -s "$socket" bgsave
	await 20 eval 'redis-cli -s "$socket" info persistence | grep -q rdb_bgsave_in_progress:0'
	redis-cli -s "$socket" info persistence | grep -q rdb_last_bgsave_status:ok || fail "bgsave"
	check_status 0 redis-cli -s "$socket" eval 'local s = 0; for i = 1, 1000 do s = s + i end; return s' 0
	check_contains out 500500
	kill -TERM "$sonde"
	wait "$sonde" || status=$?
	[ "$status" -eq 0 ] || { show server.out server.err; fail "exit status $status"; }
	check_contains server.out 'User requested shutdown'
	check_lacks server.out 'BUG REPORT'
	recorded
}
if have redis-server redis-cli redis-benchmark && wanted redis; then
	begin=$SECONDS
	mkdir -p redis.d
	(cd redis.d && redis) >redis.d/log 2>&1
	result redis $? "$((SECONDS - begin)) s"
fi

all_same
