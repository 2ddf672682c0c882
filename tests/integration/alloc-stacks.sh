# SPDX-License-Identifier: GPL-3.0-or-later
# --alloc-stack: the stacks in which blocks were allocated are those that a program says, whatever its frames are like; what is not known is said.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command python3
source=$top_srcdir/tests/programs/alloc_stacks.c

# stacks DIR: of the allocations in leaf(), a line each, up to main() or a thread's function; what is between the program's own functions is "..."
stacks()
{
	check_status 0 sonde memory -b allocation --csv "$1"
	mv out stacks.csv
	python3 - stacks.csv <<-'END' >stacks
		import csv, sys
		ours = 'plain variable aligned large deep compare sorts thread on_signal raises main'.split()
		for row in csv.DictReader(open(sys.argv[1])):
		    if row['name'] != 'malloc in leaf':
		        continue
		    names = []
		    for frame in row['callers'].split('; '):
		        name = frame if frame.startswith('[') else frame.split(' ')[0]
		        if name in ours:
		            assert 'alloc_stacks.c:' in frame, frame
		        elif not frame.startswith('['):
		            name = '...'
		        if name != '...' or names[-1:] != ['...']:
		            names.append(name)
		        if name in ('main', 'thread'):
		            break
		    print(' '.join(names))
	END
	sort stacks >stacks.sorted
}

# agrees COMPILER FLAG...
agrees()
{
	"$@" -g -pthread -o program "$source" 2>/dev/null || fail "$@"
	same_run -q --mem -m memory --alloc-stack=8 -o t -- ./program
	sed 's/^[0-9]* //' plain.out | sort >expected
	stacks t
	check_same expected stacks.sorted "the stacks of $*"
}

echo 'int main(void) { return 0; }' >empty.c
if "$CC" -static -o empty empty.c 2>/dev/null; then
	agrees "$CC" -O2 -static
fi
if [ -n "$(command -v clang)" ]; then
	agrees clang -O2
fi
agrees "$CC" -O0
agrees "$CC" -O2 -fomit-frame-pointer -no-pie -fno-pie

# As many frames as were asked for; the others do not make rows of their own.
check_status 0 sonde -q --mem -m memory --alloc-stack=2 -o two -- ./program
stacks two
check_same <(echo plain) <(sort -u stacks) "two frames"
[ "$(wc -l <stacks)" -eq 1 ] || { show stacks; fail "rows of equal stacks"; }
check_status 0 sonde -q --mem -m memory -o one -- ./program
check_status 0 sonde memory -b allocation one
[ "$(grep -c 'malloc in leaf' out)" -eq 1 ] || { show out; fail "rows without stacks"; }
check_lacks out '^ +plain alloc_stacks'
# What is printed, and where stacks do not matter.
check_status 0 sonde memory -b allocation t
check_contains out '^ +variable alloc_stacks.c:[0-9]+$'
check_contains out '^ +\[not known\]$'
check_status 0 sonde memory -b allocation --json t
check_contains out '"callers":\["plain alloc_stacks.c:[0-9]+","main alloc_stacks.c:[0-9]+"'
check_status 0 sonde memory -b variable t
[ "$(grep -c 'malloc in leaf' out)" -eq 1 ] || { show out; fail "rows by variable"; }

# A library that is loaded late and unloaded again, and another one in its place.
for i in 1 2; do
	cat >late$i.c <<-END
		#include <stdlib.h>
		char *block;
		static volatile int after;
		__attribute__((noinline, noipa)) void inner$i(int n) { volatile char here[$i * 64]; here[n] = 0; block = malloc(50 + $i); block[0] = 1; after += here[n]; }
		void outer$i(int n) { inner$i(n); free(block); after++; }
	END
	"$CC" -O2 -g -fPIC -shared -o late$i.so late$i.c || fail "late$i.c"
done
cat >loads.c <<'END'
	#include <dlfcn.h>
	#include <stdio.h>
	int main(void)
	{
		for (int i = 0; i < 40; i++) {
			void *lib = dlopen(i % 2 ? "./late2.so" : "./late1.so", RTLD_NOW);
			void (*f)(int) = (void (*)(int))dlsym(lib, i % 2 ? "outer2" : "outer1");
			f(3);
			dlclose(lib);
		}
		return puts("done") < 0;
	}
END
"$CC" -O2 -g -o loads loads.c -ldl || fail loads.c
same_run -q -m memory --alloc-stack=8 -o late -- ./loads
check_status 0 sonde dump late
grep -E 'enter +malloc bytes=5[12] ' out >blocks
[ "$(wc -l <blocks)" -eq 40 ] || { show out; fail "blocks of late libraries"; }
# inner, outer, main, and two or three more
check_lacks blocks ' code[2-5]=0x[01]( |$)'

# A forked child goes on, and its stacks are known as long as its libraries are those of the parent.
cat >forks.c <<'END'
	#include <stdlib.h>
	#include <sys/wait.h>
	#include <unistd.h>
	static volatile int after;
	char *volatile block;
	__attribute__((noinline, noipa)) void inner(void) { block = malloc(77); after++; }
	__attribute__((noinline, noipa)) void outer(void) { inner(); after++; }
	int main(void)
	{
		int status = 0;
		if (fork() == 0) {
			outer();
			_exit(3);
		}
		wait(&status);
		outer();
		return WEXITSTATUS(status);
	}
END
"$CC" -O2 -g -o forks forks.c || fail forks.c
same_run -q -m memory --alloc-stack=4 -o f -- ./forks
check_status 0 sonde dump f
[ "$(grep -cE 'enter +malloc bytes=77 code=0x[0-9a-f]{3,} code2=0x[0-9a-f]{3,} code3=0x[0-9a-f]{3,} code4=0x[0-9a-f]{3,} code5=0x0' out)" -eq 2 ] || {
	grep bytes=77 out
	fail "stacks of two processes"
}

# Bad input.
check_usage_error sonde --alloc-stack=0 -m memory ./forks
check_contains err 'not from 1 to 8'
check_usage_error sonde --alloc-stack=9 -m memory ./forks
check_usage_error sonde --alloc-stack=4 ./forks
check_contains err 'add -m memory'
