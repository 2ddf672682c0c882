# SPDX-License-Identifier: GPL-3.0-or-later
# Programs as other linkers, other C libraries and older systems make them: without section headers, notes, a word on the stack; at
# other addresses; with a stack that may be executed; of dietlibc, klibc, musl, of no C library at all.  They do the same with Sonde,
# and their functions are recorded.  What UPX has packed is refused, and left alone where another program executes it.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command objcopy readelf

cat >prog.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static int depth(int n)
{
	return n <= 1 ? n : depth(n - 1) + depth(n - 2);
}

int main(int argc, char **argv)
{
	int v[50];
	char text[100] = "";

	for (int i = 0; i < 50; i++)
		v[i] = i * 7919 % 101;
	qsort(v, 50, sizeof(*v), by_number);
	for (int i = 0; i < 50; i += 10)
		sprintf(text + strlen(text), "%d ", v[i]);
	printf("%s%d %d\n", text, depth(12), argc + (argv[argc] == NULL));
	return 7;
}
END
cat >bare.s <<'END'
	.globl _start
	.text
say:	push %rbx
	mov $1, %eax
	mov $1, %edi
	lea text(%rip), %rsi
	mov $6, %edx
	syscall
	pop %rbx
	ret
	.balign 16
thrice:	push %rbx
	mov $3, %ebx
1:	call say
	dec %ebx
	jne 1b
	pop %rbx
	ret
	.balign 16
_start:	call thrice
	mov $231, %eax
	mov $5, %edi
	syscall
	hlt
	.section .rodata
text:	.ascii "hello\n"
END

# without_segment TYPE FILE: its program header of that type says nothing
without_segment()
{
	local at
	at=$(readelf -lW "$2" | awk -v type="$1" '/^ +[A-Z_]+ +0x/ { if ($1 == type) { print n; exit } n++ }')
	[ -n "$at" ] || return 0
	printf '\0\0\0\0' | dd of="$2" bs=1 seek=$((64 + 56 * at)) conv=notrunc status=none
}

without_sections()
{
	printf '\0\0\0\0\0\0\0\0' | dd of="$1" bs=1 seek=40 conv=notrunc status=none
	printf '\0\0\0\0' | dd of="$1" bs=1 seek=60 conv=notrunc status=none
}

# recorded FILE OPTION...: the same with Sonde, and calls are recorded
recorded()
{
	[ -x "$1" ] || return 0
	same_run "${@:2}" -F '*' -o t -- "./$1"
	events t
	[ "$(count 'enter()')" -gt 2 ] || fail "$1: $(count 'enter()') calls"
	same_run -q -F '*' --guess -o t -- "./$1"
	same_run -q --mem -o t -- "./$1"
	tried="$tried $1"
}
tried=

# ---- C libraries ----

$CC -O2 -static -o glibc prog.c || skip "no static C library"
recorded glibc
! command -v musl-gcc >/dev/null || musl-gcc -O2 -static -o musl prog.c
! command -v diet >/dev/null || diet gcc -O2 -o diet prog.c 2>diet.err
! command -v klcc >/dev/null || klcc -O2 -o klibc prog.c 2>klcc.err || klcc -O2 -static -o klibc prog.c 2>klcc.err
for libc in musl diet klibc; do
	recorded $libc
	[ ! -x $libc ] || objcopy --strip-all --remove-section=.eh_frame --remove-section=.eh_frame_hdr $libc $libc.bare
	recorded $libc.bare
done
$CC -nostdlib -static -o none bare.s || fail "no program of assembly"
recorded none
check_count 0 'num("depth") > 2'
$CC -nostdlib -static -Wl,-Ttext-segment=0x5a5a5a000000 -o high bare.s
recorded high
strip -o high.bare high
without_sections high.bare
recorded high.bare

# ---- what old linkers left out, or said otherwise ----

$CC -O2 -static -no-pie -Wl,-Ttext-segment=0x10000 -o low prog.c && recorded low
$CC -O2 -static -no-pie -Wl,-Ttext-segment=0x71230000 -o odd prog.c && recorded odd
$CC -O2 -static -no-pie -z execstack -o execstack prog.c && recorded execstack
$CC -O2 -static -no-pie -Wl,-z,noseparate-code,-z,norelro,--build-id=none -o joined prog.c && recorded joined
strip -o joined.bare joined && without_sections joined.bare && recorded joined.bare
! command -v ld.gold >/dev/null || ! $CC -O2 -static -no-pie -fuse-ld=gold -s -o gold prog.c || { without_sections gold && recorded gold; }
$CC -nostdlib -static -s -Wl,-N -o omagic bare.s 2>omagic.err && without_sections omagic && recorded omagic -q # its notes are no code
objcopy --strip-all --remove-section='.note*' --remove-section=.eh_frame glibc old
without_segment GNU_STACK old
without_segment NOTE old
without_segment GNU_PROPERTY old
without_segment GNU_RELRO old
without_sections old
recorded old

# The page that the kernel has for programs older than the vDSO.
cat >vsyscall.c <<'END'
#include <stdio.h>
#include <time.h>
static long now(time_t *t) { return ((long (*)(time_t *))0xffffffffff600400)(t); }
int main(void)
{
	long t = now(NULL);
	puts(t > 1000000000 ? "some time" : "no time");
	return 3;
}
END
$CC -O0 -static -no-pie -o vsyscall vsyscall.c
status=0
./vsyscall >vsyscall.out 2>vsyscall.err || status=$?
if [ $status -eq 3 ]; then
	recorded vsyscall
else
	echo "vsyscalls are not allowed here"
fi
echo "recorded:$tried"

# ---- packed ----

# As UPX writes them: checksum, UPX!, length, version 13, format 22; at the end UPX!, version, format, method, level, ...
phnum=$(readelf -hW glibc | awk '/Number of program headers/ { print $NF }')
cp glibc packed
printf '\1\2\3\4UPX!\1\1\015\026' | dd of=packed bs=1 seek=$((64 + 56 * phnum)) conv=notrunc status=none
cp glibc appended
printf 'UPX!\015\026\002\010aaaabbbbccccddddeeeeffffgggg' >>appended
for file in packed appended; do
	check_status 126 sonde -o refused -F '*' -- ./$file
	check_contains err "^sonde: .*/$file: is packed by UPX; unpack it with .upx -d.\$"
	[ "$(wc -l <err)" -eq 1 ] && [ ! -e refused ] || fail "not one line, or a trace"
	check_status 2 sonde list ./$file
	check_contains err 'is packed by UPX'
done
printf 'UPX!\015\027\002\010aaaabbbbccccddddeeeeffffgggg' >>glibc # of another kind of file
recorded glibc
cat >job <<'END'
#!/bin/sh
./appended a b
echo $?
END
chmod +x job
same_run -q -F '*' -o t -- ./job
