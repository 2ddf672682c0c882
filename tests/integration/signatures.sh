# SPDX-License-Identifier: GPL-3.0-or-later
# A static program that was stripped has the names of its C library's functions again, by signatures of the archive that it was
# linked with: modules record the same calls as before it was stripped.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program io_mix-static malloc_mix-static threads_locks-static
libc=$($CC -print-file-name=libc.a)
[ -r "$libc" ] || skip "no libc.a"

# ---- making ----

check_usage_error sonde signature
check_usage_error sonde signature make
check_usage_error sonde signature make -o c.txt "$libc"
check_usage_error sonde signature make nothing.a
check_contains err 'nothing.a: No such file'
echo 'int f(void) { return 1; }' >one.c
$CC -c -o one.o one.c
ar rc one.a one.o
echo '/* GNU ld script */ GROUP ( one.a )' >script.a
check_usage_error sonde signature make script.a
check_contains err 'script for the linker'
check_usage_error sonde signature make one.c
check_contains err 'neither an archive nor an object file'
check_usage_error sonde signature make "$programs/io_mix-static"
check_contains err 'is linked'
[ ! -e cache/sonde/signatures/one.sig ] || fail "something was written"
check_usage_error sonde signature match "$programs/io_mix-static"
check_contains err 'there are no signatures'
check_status 0 sonde signature list
check_contains err 'no signatures in'

# Of a program without names, nothing is recorded; what is remembered of it is not used when there are signatures.
strip -o io "$programs/io_mix-static"
strip -o malloc "$programs/malloc_mix-static"
strip -o threads "$programs/threads_locks-static"
check_status 2 sonde list ./malloc malloc
same_run -q -o before -F 'sub_*' -- ./malloc
check_status 0 sonde -o unnamed -m memory -- ./malloc
check_contains err "nothing is recorded: .*its symbols have been stripped; .sonde signature' names"

check_status 0 sonde signature make "$libc"
check_contains out '^.*/signatures/libc.sig: [0-9]+ functions, .* of code, in '
check_status 0 sonde signature list
check_contains out '/signatures/libc.sig: .*; of libc.a$'

# ---- names ----

# What symbols say before they are stripped: nothing is named otherwise, and nearly all.
for program in io_mix malloc_mix threads_locks; do
	check_status 0 sonde signature match -b "$programs/$program-static"
	check_contains out '; [0-9]{3,} as its symbols say, 0 otherwise$'
done
check_status 0 sonde signature match ./threads
check_contains out '^ +[0-9a-f]+ +[0-9a-f]+  .*\bpthread_mutex_lock\b.*  libc.sig$'
awk '/functions named/ { exit !($2 > 0.9 * $4) }' out || { show out; fail "few functions are named"; }
check_status 0 sonde list ./malloc malloc memcpy
check_contains out '\bmalloc\b.*  \(signature libc.sig\)'
check_contains out '\bmemcpy\b.*  \(signature libc.sig\) \(IFUNC'
check_status 0 sonde list -F malloc ./malloc
check_contains out '\bmalloc\b.*\(signature libc.sig\)$'
check_status 2 sonde list --signatures=none ./malloc malloc
check_usage_error sonde list --signatures="$PWD" ./malloc malloc
check_contains err 'holds no \*\.sig'

# ---- calls ----

# calls_of PROGRAM OPTION...: how often which function was called.
calls_of()
{
	local program=$1
	shift
	same_run -q -o t "$@" -- "$program"
	events t
	grep '"type":"enter"' events.json | grep -o '"function":"[^"]*"' | sort | uniq -c
}

# The heap depends on the length of the program's path.
cp "$programs/io_mix-static" IO
cp "$programs/malloc_mix-static" MALLOC
cp "$programs/threads_locks-static" THREADS
for program in io malloc threads; do
	calls_of ./${program^^} -m memory,posixio,pthread >wanted
	calls_of ./$program -m memory,posixio,pthread >got
	[ "$(wc -l <wanted)" -gt 5 ] || fail "little was recorded of $program"
	# how often its threads wait, and so what they do, is by chance
	[ $program != threads ] || sed -i 's/^ *[0-9]* //' wanted got
	check_same wanted got "what modules record of $program"
done
calls_of ./malloc -F 'malloc,free' >got
check_contains got ' "function":"malloc"'
calls_of ./malloc --signatures=none -m memory >got
[ ! -s got ] || fail "names without signatures"

# ---- functions that are alike ----

cat >twins.c <<'END'
extern int other(int), another(int);
int first(int a) { return (a * 7 + 12345) ^ (a >> 3); }
int second(int a) { return (a * 7 + 12345) ^ (a >> 3); }
int large(int a, int b)
{
	int sum = 0;
	for (int i = 0; i < a; i++) {
		sum += other(i) * b - (sum >> 3);
		sum ^= another(sum + i) % 13 + (b * 17) / (a | 1);
		if (sum & 64)
			sum = sum * 31 + a * b - i;
	}
	return sum + (a * b) % 13 + (b * 17) / (a | 1) * (sum | 5);
}
END
cat >uses.c <<'END'
extern int first(int), second(int), large(int, int);
int other(int a) { return a + 1; }
int another(int a) { return a + 2; }
int main(int argc, char **argv) { return (first(argc) + second(argc) + large(argc, 2) + !argv) & 1; }
END
$CC -O2 -ffunction-sections -c -o twins.o twins.c
$CC -O2 -c -o uses.o uses.c
$CC -static -o uses uses.o twins.o
mkdir own
check_status 0 sonde signature make -o own/twins.sig twins.o
check_contains out '^own/twins.sig: 3 functions'
check_status 0 sonde signature match --signatures=own ./uses
check_contains out '  (first\|second|second\|first)  twins.sig \(alike\)$'
check_lacks out '  (first|second)  twins.sig$'
check_lacks out '; [1-9][0-9]* as its symbols say, [1-9]'
strip -o alike uses
check_status 0 sonde list -F 'sub_*' --signatures=own ./alike
check_contains out '  sub_[0-9a-f]+  \((may be first or second|may be second or first): signature twins.sig, alike\)$'

# ---- what is kept ----

# A result is used as long as the file and the signatures are as they were, and is made again if it is damaged.
named()
{
	check_status 0 sonde list ./malloc malloc
	check_contains out '\bmalloc\b.*  \(signature libc.sig\)'
	[ ! -s err ] || { show err; fail "a complaint"; }
}
sig=cache/sonde/signatures/libc.sig
named
kept=$(grep -l pthread_mutex_lock cache/sonde/names-*) || fail "nothing is kept"
cp $sig good.sig
printf '\377\377\377\377' | dd of=$sig bs=1 seek=5000 conv=notrunc 2>dd.err
named
for file in $kept; do
	printf '\377' | dd of="$file" bs=1 seek=200 conv=notrunc 2>dd.err
done
check_status 2 sonde list ./malloc malloc
check_contains err '/libc.sig is damaged; make it again'
cp good.sig $sig
named
check_status 0 sonde signature make -o $sig "$libc" one.o
named

# ---- files that cannot be used ----

cp $sig own/version.sig
printf '\011' | dd of=own/version.sig bs=1 seek=8 conv=notrunc 2>dd.err
check_usage_error sonde list --signatures=own/version.sig ./malloc malloc
check_contains err 'has another version of the format'
head -c 30000 $sig >own/short.sig
check_usage_error sonde signature match --signatures=own/short.sig ./malloc
check_contains err 'is damaged'
mv own/version.sig cache/sonde/signatures/other.sig
check_status 0 sonde list ./malloc malloc
check_contains err '^sonde: warning: .*/other.sig has another version of the format; make it again'
