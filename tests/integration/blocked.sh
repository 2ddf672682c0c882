# SPDX-License-Identifier: GPL-3.0-or-later
# --blocked: how long functions were blocked and preempted, as the program knows it: what it slept, waited for a lock, and computed by its
# own clock of CPU time.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command jq

cat >naps.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static long cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

__attribute__((noinline)) void naps(void)
{
	for (int i = 0; i < 20; i++)
		usleep(2000);
}

__attribute__((noinline)) void burn(long ns)
{
	long end = cpu() + ns;

	while (cpu() < end)
		;
}

__attribute__((noinline)) void locks(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void *thread(void *arg)
{
	locks();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc > 1 && strcmp(argv[1], "exec") == 0) {
		if (fork() == 0) {
			execl(argv[0], argv[0], (char *)NULL);
			_exit(127);
		}
		wait(NULL);
		puts("waited");
		return 0;
	}
	pthread_mutex_lock(&mutex);
	pthread_create(&t, NULL, thread, NULL);
	naps();
	pthread_mutex_unlock(&mutex);
	pthread_join(t, NULL);
	burn(100000000);
	puts("done");
	return 4;
}
END
"$CC" -O1 -g -o naps naps.c -pthread || fail "$CC"

"${limit[@]}" sonde --blocked -F naps,burn,locks -o t -- ./naps >out 2>err
if grep -q -- '--blocked: when threads are blocked is not recorded' err; then
	[ "$(wc -l <err)" -eq 1 ] || { show err; fail "more than a line"; }
	skip "this system does not tell when threads are blocked"
fi

# figures: blocked, preempted and self of a function
figures()
{
	check_status 0 sonde report --raw --json t
	jq -r ".tables[0].functions[] | select(.function == \"$1\") | \"\(.blocked_ns) \(.preempted_ns) \(.self_ns)\"" out
}

# what the program slept is at least that, and it did nothing else; what it computed is what is left of burn()
check_figures()
{
	local blocked preempted self ran
	events t
	read -r blocked preempted self < <(figures naps)
	[ "$blocked" -ge 39000000 ] && [ $((blocked + preempted)) -le "$self" ] || fail "naps: blocked $blocked, preempted $preempted of $self"
	read -r blocked preempted self < <(figures locks)
	[ "$blocked" -gt 0 ] && [ $((blocked + preempted)) -le "$self" ] || fail "locks: blocked $blocked, preempted $preempted of $self"
	read -r blocked preempted self < <(figures burn)
	ran=$((self - blocked - preempted))
	[ $ran -ge 95000000 ] || fail "burn: $ran ns of CPU time; blocked $blocked, preempted $preempted of $self"
}

same_run --blocked -F naps,burn,locks -o t -- ./naps
check_figures
check_status 0 sonde report -s blocked t
check_contains out '^blocked '
check_contains out 'blocked +preempted .*function$'
check_status 0 sonde report --csv t
check_contains out 'error_ns,blocked_ns,preempted_ns'

# with another one on the same processor it is preempted
if command -v taskset >/dev/null; then
	processor=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
	taskset -c "$processor" sh -c 'while :; do :; done' &
	other=$!
	same_run --blocked -F naps,burn,locks -o t -- taskset -c "$processor" ./naps
	kill "$other"
	check_figures
	read -r blocked preempted self < <(figures burn)
	[ "$preempted" -gt 0 ] || fail "burn was never preempted"
fi

# of what it executes, too, in that program's folder
same_run --blocked -F naps,burn,locks -o t -- ./naps exec
check_figures

# without it nothing is said of it
same_run -F naps -o t2 -- ./naps
check_status 0 sonde report t2
check_lacks out 'blocked|preempted'

# damage: said, and what was before it is shown
check_status 0 sonde report t
cp out whole
for size in 0 63 64 70 500; do
	cp -r t "damaged$size"
	truncate -s "$size" "damaged$size/cpu.switches"
	check_status 1 sonde report "damaged$size"
	check_contains out 'when threads were blocked is damaged'
	check_contains out ' naps$'
done
cp -r t flipped
printf '\377' | dd of=flipped/cpu.switches bs=1 seek=100 conv=notrunc 2>dd.err || fail dd
check_status 1 sonde report flipped

check_usage_error sonde attach --blocked -F naps $$
