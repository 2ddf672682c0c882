# SPDX-License-Identifier: GPL-3.0-or-later
# main() ends by pthread_exit(), and other threads go on: of the first thread there is only a zombie, without memory or files, and
# what /proc has under the number of the process is empty.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace

cat >lib.c <<'END'
long in_lib(long v) { return v * 3 + 1; }
long many(long n) { long s = 0; for (long i = 0; i < n; i++) s += in_lib(i); return s; }
END
cat >leader.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned long cells[256];
static pthread_t first;

__attribute__((noinline)) static unsigned long early(unsigned long v)
{
	cells[v % 256] += v;
	return v * 6364136223846793005u + 1;
}

__attribute__((noinline)) static unsigned long late(unsigned long v)
{
	cells[v % 256] -= v;
	return v * 6364136223846793005u + 3;
}

__attribute__((noinline)) static unsigned long in_child(unsigned long v)
{
	cells[v % 256] ^= v;
	return v * 6364136223846793005u + 5;
}

static void *stays(void *how)
{
	unsigned long v = 1;
	long (*many)(long);
	int status;
	void *lib;

	pthread_join(first, NULL);
	for (int i = 0; i < 2000; i++)
		v = late(early(v));
	lib = dlopen("./lib.so", RTLD_NOW);
	many = (long (*)(long))dlsym(lib, "many");
	printf("%lu %ld\n", v, many(1000));
	fflush(stdout);
	if (fork() == 0) {
		for (int i = 0; i < 300; i++)
			v = in_child(v);
		printf("%lu\n", v);
		fflush(stdout);
		_exit(3);
	}
	wait(&status);
	printf("%d %d\n", status, system("exit 4"));
	fflush(stdout);
	if (strcmp(how, "exec") == 0)
		execlp("echo", "echo", "executed", NULL);
	if (strcmp(how, "sleep") == 0)
		sleep(60);
	if (strcmp(how, "kill") == 0)
		raise(SIGTERM);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;
	unsigned long v = 1;

	for (int i = 0; i < 100; i++)
		v = early(v);
	printf("%lu\n", v);
	first = pthread_self();
	pthread_create(&t, NULL, stays, argc > 1 ? argv[1] : "");
	pthread_exit(NULL);
}
END
"$CC" -O2 -w -fPIC -fno-inline -fsemantic-interposition -shared -o lib.so lib.c && "$CC" -O2 -w -pthread -o leader leader.c -ldl || fail "$CC"

for how in end exec kill; do
	same_run -o t -F 'early,late,in_child,in_lib,many' --libs -- ./leader $how
	events t
	check_calls 2100 early
	check_calls 2000 late
	check_calls 300 in_child
	check_calls 1 many
	check_calls 1000 in_lib
done
for options in '-F *' --mem '--mem --libs' '--mem --overhead=50%' '--mem --sample=burst:1ms,every:10ms' '--blocks --libs' '-m posixio' '-m memory'; do
	set -f
	same_run -q -o t $options -- ./leader
	set +f
	sonde info t >info.txt
	check_contains info.txt '^state  *intact$'
	check_contains info.txt '^lost  *nothing$'
done

./leader sleep >out &
leader=$!
await 20 eval '[ "$(wc -l <out)" -ge 4 ]'
check_usage_error sonde attach -o bad -F '*' $leader
check_contains err 'its first thread has ended'
kill $leader
