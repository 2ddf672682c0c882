# SPDX-License-Identifier: GPL-3.0-or-later
# Modules are put into processes that run, dynamic and static, and taken out again.  A thread that waits in what a wrapper has called
# keeps it mapped, and is no reason why the process could not be attached to again; when it has returned, all goes.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/attach-lib.sh"
need_attach
need_program lingers busy

# ours: how much of ours is mapped
ours()
{
	grep -c memfd:sonde "/proc/$target/maps"
}

# both_wait: the thread in readv(), and so the main thread, which has told it to, in the next read() of standard input
both_wait()
{
	grep -qs '^19 ' "/proc/$target"/task/*/syscall && grep -qs '^0 0x0 ' "/proc/$target/task/$target/syscall"
}

# check_code_but_unwinder: a static program holds the unwinder, which needs to know of the wrapper as long as it is there.
check_code_but_unwinder()
{
	[ "$program" != lingers ] || check_code
}

for program in lingers lingers-static; do
	[ -x "$programs/$program" ] || continue
	start "$programs/$program"
	# a line, and the main thread reads the next one by the wrapper
	attach_begin -m posixio
	echo in >&9
	await 20 both_wait
	kill -INT "$attached"
	attach_end
	check_code_but_unwinder
	events t
	check_contains events.json '"function":"write"'
	ours >mapped.first || fail "what the thread is to return to is not mapped"
	for options in "-m posixio" "-m posixio,pthread,memory" "-F m*" "-m posixio -F w* --libs"; do
		read -ra options <<<"$options"
		attach_briefly "${options[@]}"
		check_code_but_unwinder
		ours >mapped.again
		check_same mapped.first mapped.again "what is mapped"
	done
	echo out >&9
	await 20 eval '! grep -qs "^19 " /proc/$target/task/*/syscall'
	attach_briefly -m posixio
	check_left
	# from one to the next, each in another one's wrapper
	for _ in 1 2; do
		attach_begin -m posixio
		echo in >&9
		await 20 both_wait
		kill -INT "$attached"
		attach_end
		ours >mapped.again
		check_same mapped.first mapped.again "what is mapped"
		echo out >&9
		await 20 eval '! grep -qs "^19 " /proc/$target/task/*/syscall'
	done
	attach_briefly -m posixio
	check_left
	finish
	check_contains target.out '^rounds 3, wrong 0$'
done

# What cannot be had.
start "$programs/lingers"
cat >starts.c <<'END'
#include <sonde/module.h>
SONDE_MODULE("starts", "");
SONDE_ON_START
{
	sonde_count("starts");
}
END
cat >needs.c <<'END'
#include <sonde/module.h>
SONDE_MODULE("needs", "");
int nobody_has_this(void);
SONDE_WRAP(long, wait_within, (void))
{
	sonde_enter();
	long ret = SONDE_REAL(wait_within)();
	sonde_leave(SONDE_I32("it", nobody_has_this()));
	return ret;
}
END
for module in starts needs; do
	check_usage_error sonde attach -m ./$module.c -o refused "$target"
	check_contains err "module .*$module"
	[ ! -e refused ] || fail "a trace of nothing"
	check_left
done
finish

# A library that a module needs and the process has not mapped: a thread in the program's own code loads it, and all goes on as before;
# where all of them wait, that is said.
cat >extra.c <<'END'
#include <string.h>
static double value;
static char text[64];
__attribute__((constructor)) static void begin(void) { value = 40; memset(text, 'x', sizeof(text) - 1); }
long extra_value(long n);
long extra_value(long n) { return n + (long)value + (text[62] == 'x'); }
END
$CC -shared -fPIC -O2 -o libextra.so extra.c || fail "a library for the module"
cat >further.c <<'END'
#include <sonde/module.h>
SONDE_MODULE("further", "");
long extra_value(long n);
SONDE_WRAP(unsigned long, leaf, (unsigned long n))
{
	sonde_enter();
	unsigned long ret = SONDE_REAL(leaf)(n);
	sonde_leave(SONDE_I64("extra", extra_value(1)));
	return ret;
}
END
SONDE_CFLAGS=$PWD/libextra.so sonde module build further.c || fail "a module that needs a library"
start "$programs/busy" 2
! grep libextra "/proc/$target/maps" || fail "the library is there before anybody needs it"
for _ in 1 2; do
	attach_briefly -m ./further.so
	events t
	check_contains events.json '"extra":42'
	grep -q libextra "/proc/$target/maps" || fail "the library is not there"
	[ -s code.noted ] && check_left || note_target
	echo noted >code.noted
done
finish
check_contains target.out 'wrong 0'
start "$programs/lingers"
check_usage_error sonde attach -m ./further.so -o refused "$target"
check_contains err 'module .*further.so needs .*/libextra.so, .*none of its threads'
[ ! -e refused ] || fail "a trace of nothing"
check_left
finish
