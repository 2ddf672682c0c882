/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: fn_forks: processes that go on in the middle of functions, and leave them. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

OPAQUE int child(int i)
{
	return work(i) & 63;
}

OPAQUE int forks(int i)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (i % 2)
			_exit(child(i));
		return -child(i);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status) + work(i);
}

OPAQUE int between(int i)
{
	int r = forks(i);

	HIDE(r);
	return r;
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 4; i++) {
		int r = between(i);

		if (r < 0)
			_exit(-r);
		sum = sum * 31 + r;
	}
	printf("%d\n", sum);
	return 0;
}
