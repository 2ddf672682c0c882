# SPDX-License-Identifier: GPL-3.0-or-later
# The memory accesses of all functions of programs that we did not write: they print, and end, as they do without Sonde,
# and the trace can be read without gaps.  What is not installed is left out.  All are tried, also after one has
# failed.
#
# MEMORY_LONG=1         those that take longer too
# MEMORY_ONLY           only these ("python xz")
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
record=(--mem) examine=readable long=${MEMORY_LONG:-} only=${MEMORY_ONLY:-}
. "$top_srcdir/tests/integration/stress.sh"
limit=(timeout --foreground -s KILL 300)

# readable: nothing is missing in the trace, and what is counted is what is listed.
readable()
{
	"$top_builddir/tests/oracle/memcompare" -c t >counts 2>counts.err || { show counts counts.err; fail "the trace"; }
	[ ! -s counts.err ] || { show counts.err; fail "the trace"; }
	cat counts
	rm -rf t
}

[ -x "$top_builddir/tests/oracle/memcompare" ] || skip "tests/oracle/memcompare was not built"
work=$PWD
seq 1 5000 >numbers
cat >objects.py <<'END'
import collections, random, re, struct
class A:
    def __init__(self, v): self.v = v
    def __lt__(self, o): return self.v < o.v
random.seed(1)
v = sorted(A(random.randrange(1000)) for i in range(300))
words = collections.Counter(re.findall(r'\w+', 'a b c a b a ' * 50))
try:
    {}['missing']
except KeyError as e:
    print(repr(e))
print(sum(a.v for a in v), words, struct.pack('<id', 3, 0.5), '%.3e' % 1e100)
END
cat >script.sql <<'END'
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 500)
	insert into t select i, 'row ' || (i * 7919 % 501), i / 3.0 from n;
create index by_b on t(b);
select count(*), sum(a), round(avg(c), 3), max(b) from t;
delete from t where a % 3 = 0;
select json_group_array(a) from t where a < 20;
select nothing from t;
END
cat >hash.pl <<'END'
my %h; my $s = 0;
for my $i (1..2000) { $h{$i % 97} .= chr(65 + $i % 26); }
for my $k (sort { $a <=> $b } keys %h) { $s = ($s * 31 + length($h{$k})) % 1000003 if $h{$k} =~ /^(.)(.*)\1/; }
eval { die { code => 7 } }; printf "%d %d %s\n", $s, $@->{code}, join ",", map { sprintf "%.2f", sqrt } 1..5;
END
cat >loop.sh <<'END'
declare -A a
for ((i = 0; i < 300; i++)); do a[$((i % 7))]+=$i; done
f() { [ "$1" -gt 0 ] && f $(($1 - 1)); echo -n "$1 "; }
f 20; trap 'echo trapped' USR1; kill -USR1 $$; (exit 3); echo "$? ${#a[3]} ${a[3]//1/x}" | tr x y
END
cat >hello.c <<'END'
#include <stdio.h>
struct s { int a[4]; double d; };
static int f(struct s *s, int n) { for (int i = 0; i < n; i++) s->a[i % 4] += i * (int)s->d; return s->a[n % 4]; }
int main(int argc, char **argv)
{
	struct s s = { { 1, 2, 3, 4 }, argc + 0.5 };
	switch (argc) { case 1: puts("one"); break; case 2: puts(argv[1]); break; default: return 3; }
	return printf("%d\n", f(&s, 100)) > 100;
}
END
cat >exceptions.cmake <<'END'
foreach(i RANGE 1 20)
	math(EXPR square "${i} * ${i}")
	string(REGEX REPLACE "([0-9])" "<\\1>" text "${square}")
	list(APPEND all "${text}")
endforeach()
list(SORT all)
message(STATUS "${all}")
message(FATAL_ERROR "ends here")
END
cat >scene.pov <<'END'
camera { location <0, 2, -3> look_at <0, 1, 2> }
light_source { <2, 4, -3> color rgb 1 }
sphere { <0, 1, 2>, 2 texture { pigment { color rgb <1, 1, 0> } finish { phong 1 } } }
END

have gzip && try gzip -- gzip -n -c "$work/numbers"
have gzip && STDIN=$work/numbers try gzip-libs --libs -- gzip -n -c
have xz && try xz -- xz -T1 -1 -c "$work/numbers"
have xz && try xz-threads --libs=liblzma.so.5 -- xz -T2 -1 -c "$work/numbers"
have bzip2 && try bzip2 --libs=libbz2.so.1.0 -- bzip2 -c "$work/numbers"
have zstd && try zstd -- zstd -q -T2 -c "$work/numbers"
have sqlite3 && STDIN=$work/script.sql try sqlite3 --libs=libsqlite3.so.0 -- sqlite3
have python3 && try python -- /usr/bin/python3 "$work/objects.py"
have python3 && try_long python-libs --libs -- /usr/bin/python3 "$work/objects.py"
have perl && try perl -- perl "$work/hash.pl"
have bash && try bash -- bash "$work/loop.sh"
have bash-static && try bash-static -- bash-static "$work/loop.sh"
have busybox && try busybox -- busybox awk '{ a[$1 % 13] += $1 } END { for (i = 0; i < 13; i++) print a[i] }' "$work/numbers"
have busybox && try busybox-sha -- busybox sha256sum "$work/numbers"
have openssl && try openssl --libs=libcrypto.so.3 -- openssl dgst -sha256 "$work/numbers"
have openssl && try openssl-aes --libs=libcrypto.so.3 -- openssl enc -aes-256-cbc -pbkdf2 -iter 20 -S 0102030405060708 -pass pass:x -in "$work/numbers" -base64
have git && {
	export GIT_AUTHOR_DATE="2001-01-01T00:00:00Z" GIT_COMMITTER_DATE="2001-01-01T00:00:00Z" GIT_PAGER=cat HOME=$work \
		GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_GLOBAL=/dev/null
	git init -q repository 2>/dev/null
	for i in 1 2 3; do
		seq $i 200 >repository/numbers
		git -C repository add . && git -C repository commit -q -m "commit $i"
	done
	try git -- git -C "$work/repository" log -p --stat
}
have awk && try awk -- awk '{ a[$1 % 13] += $1; s = s substr($1, 1, 1) } END { for (i = 0; i < 13; i++) print a[i], length(s) }' "$work/numbers"
have sort && try sort --libs=libc.so.6 -- sort -r --parallel=2 "$work/numbers"
have bc && STDIN=$work/hello.c try bc -- bc -q
have jq && try jq --libs=libjq.so.1 -- jq -n '[range(50) | {a: ., b: (. * . | tostring)}] | group_by(.a % 3) | map(length), error("x")'
have gcc && try_long cc1 -- "$(gcc -print-prog-name=cc1)" -quiet -O0 "$work/hello.c" -o -
have gdb && try_long gdb -- gdb -nx -batch -ex 'print 6 * 7' -ex 'info line main' -ex 'nothing' /bin/true
have cmake && try_long cmake -- cmake -P "$work/exceptions.cmake"
have povray && try_long povray -- povray +W8 +H6 -D +WT1 +Oscene.tga +FT -GA -V "+I$work/scene.pov"
have node && try_long node -- node -e 'let s = 0; for (let i = 0; i < 1e4; i++) s += i % 7; console.log(s, [3, 1, 2].sort())'
have emacs && try_long emacs -- emacs -Q --batch --eval '(princ (apply (quote +) (number-sequence 1 100)))'

# ---- a server ----

redis()
{
	local socket=$PWD/socket status=0
	command sonde -q -o t --mem -- redis-server --port 0 --unixsocket "$socket" --save '' --dir "$PWD" \
		>server.out 2>server.err &
	local sonde=$!
	await 30 eval 'redis-cli -s "$socket" ping 2>/dev/null | grep -q PONG'
	redis-benchmark -s "$socket" -q -n 200 -c 10 -t set,get,lpush,lrange_100 >bench.out 2>&1 || fail "redis-benchmark"
	check_status 0 redis-cli -s "$socket" eval 'local s = 0; for i = 1, 1000 do s = s + i end; return s' 0
	check_contains out 500500
	kill -TERM "$sonde"
	wait "$sonde" || status=$?
	[ "$status" -eq 0 ] || { show server.out server.err; fail "exit status $status"; }
	check_contains server.out 'User requested shutdown'
	readable
}
if [ "$long" ] && have redis-server redis-cli redis-benchmark && wanted redis; then
	begin=$SECONDS
	mkdir -p redis.d
	(cd redis.d && redis) >redis.d/log 2>&1
	result redis $? "$((SECONDS - begin)) s, $(tail -n 1 redis.d/log)"
fi

all_same
