/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: mem_forks: forks in the middle of loops; both go on.  One child ends by a signal, one executes. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

static int v[100];

OPAQUE int forks(int n)
{
	int status = 0, codes = 0;

	for (int i = 0; i < n; i++) {
		pid_t pid;

		v[i] += i;
		if (i % 7 != 3)
			continue;
		pid = fork();
		if (pid == 0) {
			for (int k = i; k < 40; k++)
				v[k] = v[k - 1] + k;
			if (i == 10)
				raise(SIGKILL);
			if (i == 17)
				execl("/bin/true", "true", (char *)NULL);
			_exit(v[39] & 63);
		}
		waitpid(pid, &status, 0);
		codes = codes * 3 + status;
		for (int k = 0; k < 5; k++)
			v[k] += status;
	}
	return codes;
}

OPAQUE int vforks(void)
{
	volatile int n = 3;
	pid_t pid = vfork();

	if (pid == 0) {
		for (int i = 0; i < 10; i++)
			n += v[i] & 1;
		_exit(n);
	}
	waitpid(pid, NULL, 0);
	return n > 3;
}

int main(void)
{
	printf("%d\n", forks(30));
	printf("%d %d\n", vforks(), v[3]);
	return 0;
}
