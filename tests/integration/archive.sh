# SPDX-License-Identifier: GPL-3.0-or-later
# An archived trace reads the same when the program, its debug file and its sources are gone.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command objcopy

cat >prog.c <<'EOF'
#include <stdio.h>
static long a[4096];
__attribute__((noinline)) void good(int n)
{
	for (int i = 0; i < n; i++)
		a[i & 4095] += i;
}
__attribute__((noinline)) void bad(int n)
{
	for (int i = 0; i < n; i++)
		a[i * 7 & 4095] += a[i & 4095];
	good(10);
	for (int i = 0; i < n; i++)
		a[i & 15] ^= i;
}
int main(void)
{
	bad(1000);
	good(1000);
	printf("%ld\n", a[1]);
	return 0;
}
EOF
cat >wrapped.c <<'EOF'
#include <sonde/module.h>
SONDE_MODULE("wrapped", "wraps bad");
SONDE_WRAP(void, bad, (int n))
{
	sonde_enter();
	SONDE_REAL(bad)(n);
	sonde_leave();
}
EOF

# make_program: origin/prog, stripped, with a debug file of its own.
make_program()
{
	rm -rf origin
	mkdir origin
	cp prog.c origin/
	(cd origin && $CC -O1 -g -fno-inline -Wl,--build-id -o prog prog.c && objcopy --only-keep-debug prog prog.debug &&
		objcopy --strip-all --add-gnu-debuglink=prog.debug prog) || fail "prog cannot be made"
}
make_program
sonde -F '*' -o calls origin/prog >prog.out || fail "no trace of calls"
sonde -m ./wrapped.c -o wraps origin/prog >prog.out || fail "no trace of a module"
sonde --mem -o accesses origin/prog >prog.out || fail "no trace of accesses"
sonde --blocks -o counts origin/prog >prog.out || fail "no trace of blocks"

# views DIR: what all verbs show of the trace.
views()
{
	sonde info "$1" | grep -v '^trace'
	case $1 in
	*accesses)
		for by in function loop line instruction; do
			sonde memory --csv -b $by "$1"
			sonde cache --csv -b $by "$1"
		done
		sonde dump --mem --lines --json "$1"
		sonde export -f callgrind "$1"
		;;
	*counts)
		sonde blocks --csv -b line "$1"
		sonde blocks --csv -b block -F bad "$1"
		sonde export -f callgrind "$1"
		;;
	*)
		sonde report --json -F @prog.c:10 "$1" | sed 's/"dir":"[^"]*"//'
		sonde report "$1"
		sonde dump "$1"
		sonde graph -F @prog.c:10 "$1"
		sonde export -f csv "$1"
		;;
	esac
	case $1 in
	*wraps) ;;
	*) sonde list "$1" ;;
	esac
}

for trace in calls wraps accesses counts; do
	check_status 0 sonde archive -o $trace.there $trace
	check_contains out "^$trace.there: 1 program or library, 1 debug file, 1 source, "
	[ ! -e $trace/objects ] || fail "archive -o has changed $trace"
	check_status 0 sonde archive $trace
	views $trace >$trace.now 2>err || { show err; fail "$trace cannot be shown"; }
	[ ! -s err ] || { show err; fail "something is said of an archived trace"; }
done
check_contains wraps.now ' bad$'
sonde disasm --lines origin/prog bad >disasm.now || fail "prog cannot be disassembled"
sonde blocks --csv origin/prog >blocks.now || fail "prog has no blocks"
check_contains disasm.now 'prog\.c:10'

# Somewhere else, and of the originals nothing is left.
cp origin/prog.c source
rm -rf origin
mkdir elsewhere
for trace in calls wraps accesses counts; do
	cp -r $trace elsewhere/
	rm -rf $trace
	mv elsewhere/$trace $trace
	views $trace >later 2>err || { show err; fail "$trace cannot be shown any more"; }
	[ ! -s err ] || { show err; fail "something is said of $trace"; }
	check_same $trace.now later "what is shown of $trace"
	check_contains later "^code of .*/origin/prog, build-id [0-9a-f]+, in the archive$"
	check_same source "$trace/sources/$(pwd -P)/origin/prog.c" "the source in $trace"
	(cd $trace.there && sonde report . >/dev/null 2>../err) || [ $trace = accesses ] || { show err; fail "no report of $trace.there"; }
	# again, from what it has itself
	check_status 0 sonde archive -o again $trace
	check_contains out '^again: 1 program or library, 1 debug file, 1 source, '
	rm -rf again
done
sonde disasm --lines calls/objects/*/prog bad >later || fail "the archived prog cannot be disassembled"
check_same disasm.now later "disasm"
sonde blocks --csv calls/objects/*/prog >later || fail "the archived prog has no blocks"
check_same blocks.now later "blocks"

# A trace without lines (its recorder was killed) has them from the archived file. Another file of that name is none.
cp -r wraps forged
rm forged/code.places
check_status 0 sonde report --csv -F @prog.c:10 forged
check_contains out '"bad"'
cp "$(type -P true)" forged/objects/*/prog
check_status 2 sonde report -F @prog.c:10 forged
sed -i 's/good(10)/good(11)/' prog.c
make_program
check_status 1 sonde archive forged
check_contains err 'warning: .*/origin/prog is not in the archive: it is not the file that was recorded$'
rm -rf origin
check_status 1 sonde archive forged
check_contains err 'warning: .*/origin/prog is not in the archive: it is not there any more$'

# Nothing is written through a symbolic link in a trace that somebody else has made.
cp -r calls linked
rm -r linked/sources
mkdir outside
ln -s ../outside linked/sources
mkdir origin
cp source origin/prog.c
check_usage_error sonde archive linked
[ -z "$(ls outside)" ] || fail "written outside of the trace"

check_usage_error sonde archive nowhere
check_usage_error sonde archive calls wraps
check_usage_error sonde archive -o calls wraps
check_contains err 'calls: it is there already'
check_usage_error sonde archive -o nowhere/x calls
[ ! -e nowhere ] || fail "something was left"
ls -d ./*.?????? 2>/dev/null | grep -v '\.there$' | grep . && fail "a temporary folder was left"
exit 0
