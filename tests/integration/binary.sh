# SPDX-License-Identifier: GPL-3.0-or-later
# Which binary: what a trace says of recorded code is of the program that was recorded, whatever has become of its file.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace

# swapped FIRST SECOND: two functions of the same code but for a constant, in this order.
swapped()
{
	printf '#include <stdio.h>\n#include <stdlib.h>\nstatic long a[4096];\n'
	printf '__attribute__((noinline)) void %s(int n) { for (int i = 0; i < n; i++) a[i & 4095] += %s; }\n' "$1" 3 "$2" 5
	printf 'int main(int argc, char **argv)\n{\n\t(void)argv;\n\tbad(1000 * argc);\n\tgood(10 * argc);\n'
	printf '\tprintf("%%ld\\n", a[1]);\n\treturn 0;\n}\n'
}

# compile SOURCE OPTION...: as the program `prog`.
compile()
{
	$CC -O1 -g -no-pie -fno-inline -o prog.new "$@" || fail "prog does not compile: $*"
	mv prog.new prog
}

# views: all that shows where accesses come from, without the order of rows.
views()
{
	for by in function loop line instruction; do
		sonde memory --csv -b $by "$@"
	done
	sonde dump --mem --lines --json "$@"
}

# check_views FILE: the accesses of bad and good are where they were made.
check_views()
{
	grep -q '"function":"bad"' "$1" || { show "$1"; fail "bad has no accesses in $1"; }
	grep -Eq '^"?bad"?,' "$1" || { show "$1"; fail "bad has no row in $1"; }
	grep -Eq 'bad, loop at prog\.c:[0-9]+' "$1" || { show "$1"; fail "bad has no loop in $1"; }
	grep -Eq 'bad\+0x[0-9a-f]+ prog\.c:[0-9]+' "$1" || { show "$1"; fail "bad has no lines in $1"; }
}

# recorded NAME: `prog` into trace NAME, what it shows now into NAME.now.
recorded()
{
	rm -rf "$1"
	sonde --mem=bad,good -o "$1" ./prog >prog.out || fail "prog is not recorded"
	views "$1" >"$1.now" 2>err || { show err; fail "$1 cannot be shown"; }
	[ ! -s err ] || { show err; fail "something is said of a file that is the same"; }
	check_views "$1.now"
}

# as_recorded NAME WANTED-LINES DIR: what is shown of NAME has not changed; so many lines are said to each of five views.
as_recorded()
{
	(cd "${3:-.}" && views "$here/$1") >later 2>err || { show err; fail "$1 cannot be shown any more"; }
	check_same "$1.now" later "what is shown of $1"
	[ "$(wc -l <err)" -eq $((5 * $2)) ] || { show err; fail "$(wc -l <err) lines of warnings, not $((5 * $2))"; }
	[ "$2" -eq 0 ] || check_contains err "warning: $here/prog is not the file that was recorded: names and lines are those of"
}
here=$(pwd -P)

# ---- patterns for source lines: the file is read, if it is the same ----

swapped bad good >prog.c
compile prog.c
sonde -F 'bad,good' -o events ./prog >prog.out || fail "prog is not recorded"
sonde --mem=bad,good -o accesses ./prog >prog.out || fail "prog is not recorded"
check_status 0 sonde report --csv -F @prog.c:4 events
check_contains out '(^|,)"?bad"?,'
check_lacks out '(^|,)"?good"?,'
check_status 0 sonde memory --csv -F @prog.c:4 accesses
check_contains out '^"?bad"?,'
check_lacks out '^"?good"?,'
check_status 0 sonde info events
check_contains out "^code of +$here/prog, build-id [0-9a-f]+$"
swapped good bad >prog.c
compile prog.c
check_usage_error sonde report -F @prog.c:4 events
check_contains err "@prog.c:4: the program's file is not the one that was recorded"
check_status 2 sonde memory -F @prog.c:4 accesses
check_contains err "@prog.c:4: the program's file is not the one that was recorded"
check_status 0 sonde info events
check_contains out "^code of +$here/prog, build-id [0-9a-f]+, by now another file$"
mv prog away
check_status 0 sonde info events
check_contains out "^code of +$here/prog, build-id [0-9a-f]+, not there any more$"

# ---- another folder; the trace moved; the program gone ----

swapped bad good >prog.c
compile prog.c
recorded one
as_recorded one 0 /
mkdir -p elsewhere
mv one elsewhere/one
(cd elsewhere && views one) >later 2>err || fail "a trace that was moved cannot be shown"
check_same one.now later "what is shown of a trace that was moved"
[ ! -s err ] || { show err; fail "something is said of a trace that was moved"; }
mv elsewhere/one one
mv prog away
as_recorded one 0 /
mv away prog

# ---- compiled anew: the functions have changed places ----

cp prog prog.one
swapped good bad >prog.c
compile prog.c
as_recorded one 1
as_recorded one 1 /
if [ "$(nm prog | grep -c ' T bad$')" -eq 1 ] && cmp -s prog prog.one; then
	fail "the programs are the same"
fi
# put back it is the same again
cp prog.one prog
as_recorded one 0

# ---- symbols and lines stripped in between: still that file ----

strip prog -o prog.new && mv prog.new prog
as_recorded one 0

# ---- without a build-id, and with one that is always the same ----

for id in none 0x1234; do
	swapped bad good >prog.c
	compile prog.c -Wl,--build-id=$id
	recorded two
	if [ $id = none ]; then
		readelf -n prog | grep -q 'Build ID' && fail "it has a build-id"
		check_lacks two/metadata '"build-id"'
	else
		check_contains two/metadata '"build-id":"1234"'
	fi
	cp prog prog.two
	swapped good bad >prog.c
	compile prog.c -Wl,--build-id=$id
	as_recorded two 1
	strip prog.two -o prog.new && mv prog.new prog
	as_recorded two 0
done

# ---- libraries that have no name, or another one for the program ----

cat >hidden.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char name[64] = "/plug.so";
	if (argc > 1) {
		if (chroot(argv[1]) != 0 || chdir("/") != 0)
			return 2;
	} else {
		int from = open("plug.so", O_RDONLY), to = memfd_create("plug", 0);
		while (sendfile(to, from, NULL, 1 << 20) > 0)
			;
		snprintf(name, sizeof(name), "/proc/self/fd/%d", to);
	}
	void *plug = dlopen(name, RTLD_NOW);
	long (*sum)(int) = plug ? (long (*)(int))dlsym(plug, "plug_sum") : NULL;
	printf("%ld\n", sum ? sum(100) : -1);
	return !sum;
}
END
printf 'static long a[100];\nlong plug_sum(int n)\n{\n\tlong s = 0;\n\tfor (int i = 0; i < n; i++)\n\t\ts += a[i]++;\n\treturn s;\n}\n' >plug.c
$CC -O1 -g -shared -fPIC -o plug.so plug.c || fail "plug.so does not compile"
$CC -O1 -g -o hidden hidden.c -ldl || fail "hidden does not compile"

# check_hidden PATH ARGUMENT...: of that name, whatever Sonde opens.
check_hidden()
{
	local path=$1
	shift
	same_run -q --mem='plug_sum@*' -o five -- ./hidden "$@"
	sonde memory -b instruction five >out 2>err || { show err; fail "five cannot be shown"; }
	check_contains out '^ *100 .* plug_sum\+0x[0-9a-f]+ plug\.c:6$'
	[ ! -s err ] || { show err; fail "something is said of a file that nobody can find"; }
	check_contains five/metadata "\"path\":\"$path\",\"build-id\""
}
check_hidden '/memfd:plug \(deleted\)'
if [ "$(id -u)" -eq 0 ]; then
	mkdir root
	mv plug.so root
	check_hidden /plug.so root
fi

# ---- replaced while it runs: what ran is recorded ----

cat >prog.c <<'END'
#include <stdio.h>
#include <unistd.h>
static long a[4096];
__attribute__((noinline)) void bad(int n) { for (int i = 0; i < n; i++) a[i & 4095] += 3; }
int main(void)
{
	for (int i = 0; i < 50000; i++) /* more than a buffer of what is written */
		bad(2);
	printf("started\n");
	fflush(stdout);
	while (access("go", F_OK) != 0)
		usleep(1000);
	bad(1000);
	return 0;
}
END
compile prog.c
rm -f go
sonde --mem=bad -o three ./prog >started &
await 30 grep -q started started
sed 's/^static long/\n\n\n&/' prog.c >prog2.c
compile prog2.c
touch go
wait $! || fail "the program failed"
sonde memory -b instruction three >out 2>err || { show err; fail "three cannot be shown"; }
check_contains out ' bad\+0x[0-9a-f]+ prog\.c:4$'
check_lacks out 'prog2\.c'
[ "$(wc -l <err)" -eq 1 ] || { show err; fail "not one line about the file"; }

# ---- a recorder that was killed: names and loops are there, lines are those of the same file ----

rm -f go
compile prog.c
command sonde --mem=bad --mem-buffer=256K -o four ./prog >started &
sonde=$!
await 30 grep -q started started
recorder=$(child_of $sonde sonde) || exit
kill -KILL $sonde "$recorder"
wait $sonde
touch go
sonde memory -b instruction four >out 2>err || { show err; fail "four cannot be shown"; }
check_contains out ' bad\+0x[0-9a-f]+ prog\.c:4$'
compile prog2.c
sonde memory -b instruction four >out 2>err || { show err; fail "four cannot be shown"; }
check_contains out ' bad\+0x[0-9a-f]+$'
check_contains err 'prog is not the file that was recorded: its source lines are not known$'
exit 0
