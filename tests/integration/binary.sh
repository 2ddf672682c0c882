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

# ---- patterns for source lines: of what was recorded, whatever has become of the file ----

swapped bad good >prog.c
compile prog.c
printf '#include <sonde/module.h>\nSONDE_MODULE("wrapped", "wraps bad");\nSONDE_WRAP(void, bad, (int n))\n{\n\tsonde_enter();\n\tSONDE_REAL(bad)(n);\n\tsonde_leave();\n}\n' >wrapped.c
sonde -F 'bad,good,main' -o events ./prog >prog.out || fail "prog is not recorded"
sonde -m ./wrapped.c -F good -o wraps ./prog >prog.out || fail "prog is not recorded with a module"
sonde --mem=bad,good -o accesses ./prog >prog.out || fail "prog is not recorded"
sonde -F bad --mem=good -o both ./prog >prog.out || fail "prog is not recorded with accesses"

# chooses FUNCTION LINE: by that line, in each kind of trace.
chooses()
{
	for trace in events wraps; do
		check_status 0 sonde report --csv -F "@prog.c:$2" $trace
		[ "$(tail -n +2 out | cut -d, -f1)" = "\"$1\"" ] || { show out; fail "line $2 of $trace is not $1's alone"; }
		[ ! -s err ] || { show err; fail "something is said of the lines of $trace"; }
		check_status 0 sonde dump -F "@prog.c:$2" $trace
		check_contains out "enter *$1( |$)"
		check_status 0 sonde graph -F "@prog.c:$2" $trace
		check_contains out "[^a-z]$1$"
		check_status 0 sonde replay -F "@prog.c:$2" $trace
		check_contains out " $1\("
	done
	check_status 0 sonde memory --csv -F "@prog.c:$2" accesses
	[ "$(tail -n +2 out | cut -d, -f1)" = "\"$1\"" ] || { show out; fail "line $2 of accesses is not $1's alone"; }
}

# choose: all lines that anybody would name; 4 and 5 are the only ones of functions.
choose()
{
	chooses bad 4
	chooses good 5
	check_status 0 sonde report --csv -F @prog.c:4 both
	check_contains out '^"bad",'
	check_status 0 sonde memory --csv -F @prog.c:5 both
	check_contains out '^"good",'
	check_status 0 sonde report --csv -F @prog.c:6 events
	check_contains out '^"main",'
	check_status 0 sonde report --csv -N @prog.c:4 events
	check_lacks out '^"bad",'
	check_contains out '^"good",'
	check_usage_error sonde report -F @prog.c:1 events
	check_contains err "@prog.c:1: there is no code at this line in the trace's functions"
	check_usage_error sonde report -F @other.c:1 events
	check_contains err "@other.c:1: no such source file in the trace"
}
choose
check_status 0 sonde info events
check_contains out "^code of +$here/prog, build-id [0-9a-f]+$"
swapped good bad >prog.c
compile prog.c
choose
check_status 0 sonde info events
check_contains out "^code of +$here/prog, build-id [0-9a-f]+, by now another file$"
mv prog away
choose
check_status 0 sonde info events
check_contains out "^code of +$here/prog, build-id [0-9a-f]+, not there any more$"

# a trace that was not completed has none: then the file has to be the same
mv away prog
cp prog prog.now
sonde -F bad,good -o unfinished ./prog >prog.out || fail "prog is not recorded"
rm unfinished/code.places
check_status 0 sonde report --csv -F @prog.c:5 unfinished
check_contains out '^"bad",'
swapped bad good >prog.c
compile prog.c
check_usage_error sonde report -F @prog.c:5 unfinished
check_contains err "@prog.c:5: the program's file is not the one that was recorded"
# one that was recorded without debug information has none, but it may be there by now
strip prog.now -o prog.new && mv prog.new prog
sonde -F '*' -o stripped ./prog >prog.out || fail "a stripped program is not recorded"
check_usage_error sonde report -F @prog.c:5 stripped
check_contains err "@prog.c:5: there are no line numbers"
mv prog.now prog
check_status 0 sonde report --csv -F @prog.c:5 stripped

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
rm -f go started
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

rm -f go started
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
