# SPDX-License-Identifier: GPL-3.0-or-later
# Between bursts a program runs its plain copies: it comes to the runtime when a burst is to begin, and not otherwise.  (A
# thread may be on its way there when that has been done: seldom, and then once.  What is wrong is so each time.)
. "$top_srcdir/tests/integration/lib.sh"
need_program bursts recurse malloc_mix
need_ptrace

# Without unwind information nothing is known of the flags where a function ends, nor so where it begins.
cat >bare.c <<'END'
#include <stdio.h>
#include <string.h>
__asm__(".text\n.globl thread\n.type thread, @function\nthread: mov %fs:0, %rax\n ret\n.size thread, . - thread\n"
	".globl first\n.type first, @function\nfirst: mov (%rdi), %al\n mov %al, (%rsi)\n ret\n.size first, . - first\n");
unsigned long thread(void);
void first(const char *from, char *to);
int main(void)
{
	static char to[8];
	unsigned long sum = 0;
	for (int i = 0; i < 1000000; i++) {
		sum += thread() != 0;
		first("abcdefgh" + i % 8, to + i % 8);
	}
	printf("%lu %.8s\n", sum, to);
	return 0;
}
END
"$CC" -O2 -o bare bare.c || fail "$CC"

seq 1 40000 >numbers

# visits COMMAND...: by number, by time and by what it costs
visits()
{
	local plain=0
	"$@" >native || plain=$?
	for how in --sample=burst:100,every:10k --sample=burst:10k,every:200k --sample=burst:100us,every:2ms --overhead=5%; do
		status=0
		sonde -q --mem $how -o t -- "$@" >out 2>err || status=$?
		[ $status = $plain ] || fail "$*: exit status $status: $(cat err)"
		check_same native out "what $* ($how) prints"
		grep '"type":"sampled"' t/metadata | tail -n 1 >sampled
		grep -q '"bursts":[0-9]*[1-9]' sampled || fail "$* ($how): no burst has ended"
		count=$(sed -n 's/.*"visits":\([0-9]*\).*/\1/p' sampled)
		[ "${count:-0}" -lt 10 ] || fail "$* ($how): $count visits between bursts"
	done
	programs_tried=$((programs_tried + 1))
}

# if_there COMMAND...
if_there()
{
	! command -v "$1" >/dev/null || visits "$@"
}

programs_tried=0
visits ./bare
visits "$programs/bursts" 1 20
visits "$programs/recurse" 1 20
visits "$programs/malloc_mix"
# the first burst is over before a static program has a TCB
for program in recurse-static malloc_mix-static; do
	[ ! -x "$programs/$program" ] || visits "$programs/$program" 1 20
done
visits sh -c 's=; i=0; while [ $i -lt 20000 ]; do s=a$i${s#b}; s=${s%9*}; i=$((i + 1)); case $s in ????????*) s=;; esac; done'
if_there bash -c 's=; for ((i = 0; i < 5000; i++)); do s=a${s:0:30}$i; t=${s//1/x}; done'
if_there sort numbers
if_there gzip -c numbers
if_there awk '{ s += length($0 "x") } END { print s }' numbers
if_there sed 's/\(.\)1/x\1/g' numbers
if_there grep -c '1.*2' numbers
if_there perl -e '$h{$_ * 7 % 101} .= "a" for 1 .. 100000; print length $h{3}'
if_there od -c numbers
echo "$programs_tried programs"
[ $programs_tried -ge 12 ] || skip "only $programs_tried programs are here"
