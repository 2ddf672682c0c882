// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: interleave RUNS SECONDS <LIST
 *
 * Runs commands in turns, A B C A B C ..., so that what else the machine does meets all of them.
 * A line of LIST is LABEL, PREPARE and COMMAND, separated by tabs: PREPARE is for the shell and not
 * measured; COMMAND is split at blanks and run directly.  Its output is added to LABEL.out and
 * LABEL.err.  One that takes longer than SECONDS is killed, with its process group.
 *
 * Prints for each, in order: LABEL, median of the wall time and of the CPU time (its own and that of
 * the children it waited for), the least wall time, all in milliseconds, and how many runs failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_COMMANDS 64
#define MAX_WORDS 256
#define MAX_RUNS 1000

extern char **environ;

struct command {
	char *label, *prepare;
	char *argv[MAX_WORDS + 1];
	double wall[MAX_RUNS], cpu[MAX_RUNS];
	int failed;
};

static struct command commands[MAX_COMMANDS];
static int ncommands;

static void die(const char *what)
{
	fprintf(stderr, "interleave: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void parse(char *line)
{
	struct command *c = &commands[ncommands++];
	int n = 0;

	line[strcspn(line, "\n")] = '\0';
	c->label = strsep(&line, "\t");
	c->prepare = strsep(&line, "\t");
	for (char *word; n < MAX_WORDS && (word = strsep(&line, " "));)
		if (*word)
			c->argv[n++] = word;
	if (n == 0 || line) {
		errno = n ? E2BIG : EINVAL;
		die(c->label);
	}
}

static void read_list(void)
{
	char *line = NULL;
	size_t size = 0;

	while (ncommands < MAX_COMMANDS && getline(&line, &size, stdin) > 0)
		parse(strdup(line));
	free(line);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double ms(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec * 1e-3;
}

/* -1, and a message, where there is no such program. */
static pid_t spawn(const struct command *c)
{
	const int append = O_WRONLY | O_CREAT | O_APPEND;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	char out[256], err[256];
	pid_t pid;

	snprintf(out, sizeof(out), "%s.out", c->label);
	snprintf(err, sizeof(err), "%s.err", c->label);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, out, append, 0666);
	posix_spawn_file_actions_addopen(&files, 2, err, append, 0666);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
	errno = posix_spawnp(&pid, c->argv[0], &files, &attr, c->argv, environ);
	if (errno) {
		fprintf(stderr, "interleave: %s: %s\n", c->argv[0], strerror(errno));
		pid = -1;
	}
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return pid;
}

/* Leaves the process to be waited for. */
static void wait_or_kill(pid_t pid, int timeout_ms)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

	if (p.fd < 0)
		die("pidfd_open");
	if (poll(&p, 1, timeout_ms) == 0)
		kill(-pid, SIGKILL);
	close(p.fd);
}

static void run(struct command *c, int r, int timeout_ms)
{
	struct rusage usage;
	double begin;
	int status;
	pid_t pid;

	if (*c->prepare && system(c->prepare) != 0)
		die(c->prepare);
	begin = now_ms();
	pid = spawn(c);
	if (pid < 0) {
		c->failed++;
		return;
	}
	wait_or_kill(pid, timeout_ms);
	if (wait4(pid, &status, 0, &usage) != pid)
		die("wait4");
	c->wall[r] = now_ms() - begin;
	c->cpu[r] = ms(usage.ru_utime) + ms(usage.ru_stime);
	c->failed += status != 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), compare);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void report(struct command *c, int runs)
{
	double wall = median(c->wall, runs), cpu = median(c->cpu, runs);

	printf("%s %.2f %.2f %.2f %d\n", c->label, wall, cpu, c->wall[0], c->failed);
}

int main(int argc, char **argv)
{
	int runs = argc == 3 ? atoi(argv[1]) : 0, seconds = argc == 3 ? atoi(argv[2]) : 0;

	if (runs < 1 || runs > MAX_RUNS || seconds < 1) {
		fprintf(stderr, "usage: interleave RUNS SECONDS <LIST\n");
		return 2;
	}
	read_list();
	for (int r = 0; r < runs; r++)
		for (int i = 0; i < ncommands; i++)
			run(&commands[i], r, seconds * 1000);
	for (int i = 0; i < ncommands; i++)
		report(&commands[i], runs);
	return 0;
}
