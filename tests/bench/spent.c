// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: spent PROGRAM [ARGUMENT]...
 *
 * Runs a program, whose standard output goes nowhere, and prints the CPU time that it took, in ms: below Sonde, that of
 * the program alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double ms(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec * 1e-3;
}

static int run(char **argv)
{
	int null = open("/dev/null", O_WRONLY);

	if (null >= 0 && dup2(null, STDOUT_FILENO) >= 0)
		execvp(argv[0], argv);
	fprintf(stderr, "spent: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

int main(int argc, char **argv)
{
	struct rusage usage;
	int status;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: spent PROGRAM [ARGUMENT]...\n");
		return 2;
	}
	pid = fork();
	if (pid == 0)
		return run(argv + 1);
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
		perror("spent");
		return 1;
	}
	printf("spent - %.3f\n", ms(usage.ru_utime) + ms(usage.ru_stime));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
