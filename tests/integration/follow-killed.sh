# SPDX-License-Identifier: GPL-3.0-or-later
# Children that are killed while they execute a program, at any moment: their parent hears of the end of each, and nobody waits for ever.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace

cat >kills.c <<'X'
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	unsigned int dice = 1;
	int ended = 0, status;

	for (int i = 0; i < 150; i++) {
		pid_t child = fork();

		if (child == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		dice = dice * 1103515245 + 12345;
		nanosleep(&(struct timespec){ .tv_nsec = dice / 65536 % 30000 * 1000L }, NULL);
		kill(child, SIGKILL);
		ended += waitpid(child, &status, 0) == child;
	}
	printf("%d ended\n", ended);
	return 0;
}
X
"$CC" -O2 -o kills kills.c || fail "$CC"
same_run -q -F main -o t -- ./kills
check_contains traced.out '^150 ended$'
