// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * `sonde top`: what `sonde report` says of a recording that runs, again and again.  Each time the recording writes what there is,
 * and a child of ours reports; so a trace that cannot be read ends the child.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/control/client.h"
#include "launcher/verbs.h"

#define ROWS 24
#define COLUMNS 80
#define SHARE 4 /* of the time at most one part in so many is spent on reading */
#define NS_OF_S UINT64_C(1000000000)

struct top_options {
	uint64_t delay, times, limit;
	const char *sort;
	const char *dir;
};

static const struct opt top_opts[] = {
	{ 'd', "delay", "DURATION", "time from one table to the next, from 100ms on (1s)", OPT_TIME,
	  offsetof(struct top_options, delay), NULL },
	{ 'c', "count", "N", "end after N tables", OPT_COUNT, offsetof(struct top_options, times), NULL },
	{ 'n', "limit", "N", "functions in a table (as many as fit the screen; 20 if there is none)", OPT_COUNT,
	  offsetof(struct top_options, limit), NULL },
	{ 's', "sort", "KEY", "self (default), total or calls", OPT_CHOICE, offsetof(struct top_options, sort),
	  "self\0total\0calls\0" },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command top_command = {
	.name = "top",
	.usage = "[OPTION]... [DIR]",
	.summary = "Shows the busiest functions of the recording that runs into DIR, again each second.",
	.opts = top_opts,
	.details = "DIR is " DEFAULT_TRACE " if not given. Figures are of the whole recording so far. At a terminal each table\n"
		   "takes the place of the one before; else they follow each other. Ends with the recording.\n",
	.examples = "sonde top\twhat the program spends its time on now\n"
		    "sonde top -c 1 run1 | head\tonce\n",
};

/* ---- the recording ---- */

struct asked {
	size_t answered;
	int err; /* of the last one that did not */
};

static void flush_one(void *arg, const char *dir)
{
	struct asked *a = arg;
	struct control_answer answer;
	int fd = control_connect(dir);

	if (fd >= 0 && control_ask(fd, CONTROL_FLUSH, &answer))
		a->answered++;
	else if (errno != ENOENT && errno != ECONNRESET)
		a->err = errno;
	if (fd >= 0)
		close(fd);
}

/* False: nothing records there any more, or there is nothing that may be asked. */
static bool flush_all(const char *dir, struct asked *a)
{
	*a = (struct asked){ 0 };
	if (!control_folders(dir, flush_one, a))
		a->err = errno;
	return a->answered > 0;
}

/* ---- a table ---- */

static void report_into(int fd, const struct top_options *o, uint64_t rows) __attribute__((noreturn));

static void report_into(int fd, const struct top_options *o, uint64_t rows)
{
	char limit[24], *argv[] = { (char[]){ "report" }, (char[]){ "-s" }, NULL, (char[]){ "-n" }, limit, NULL, NULL };
	char *sort = strdup(o->sort), *dir = strdup(o->dir);

	snprintf(limit, sizeof(limit), "%" PRIu64, rows);
	argv[2] = sort;
	argv[5] = dir;
	if (!sort || !dir || dup2(fd, STDOUT_FILENO) < 0)
		_exit(EXIT_TRACER);
	msg_quiet = true;
	(void)!verb_report(6, argv);
	fflush(stdout);
	_exit(0);
}

/* The text of a report, to be freed; NULL: it could not be made, or says nothing. */
static char *read_report(const struct top_options *o, uint64_t rows)
{
	int fd = memfd_create("sonde-top", MFD_CLOEXEC);
	char *text = NULL;
	off_t size;
	pid_t pid;

	if (fd < 0)
		return NULL;
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		report_into(fd, o, rows);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	size = lseek(fd, 0, SEEK_END);
	if (pid > 0 && size > 0)
		text = calloc(1, (size_t)size + 1);
	if (text && pread(fd, text, (size_t)size, 0) != size)
		*text = '\0';
	close(fd);
	return text;
}

/* That it still runs is no news here. */
static bool is_news(const char *line)
{
	return strncmp(line, "warning: the recording has no end", 33) != 0;
}

/* Bytes of the first @columns characters of UTF-8. */
static int fitting(const char *line, unsigned columns)
{
	int n = 0;

	for (unsigned at = 0; line[n]; n++) {
		at += ((unsigned char)line[n] & 0xc0) != 0x80;
		if (at > columns)
			break;
	}
	return n;
}

/* One write for all of it, over what is there. */
static void put_on_screen(char *text, const struct winsize *size)
{
	unsigned row = 1;
	char *line, *rest = text;

	fputs("\033[H", stdout);
	while ((line = strsep(&rest, "\n")) && row < size->ws_row) {
		if (!is_news(line))
			continue;
		printf("%.*s\033[K\n", fitting(line, size->ws_col), line);
		row++;
	}
	fputs("\033[J", stdout);
}

static void put_table(char *text)
{
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n")))
		if (is_news(line) && (*line || rest))
			puts(line);
	putchar('\n');
}

static void show(const struct top_options *o, bool screen)
{
	struct winsize size = { .ws_row = ROWS, .ws_col = COLUMNS };
	uint64_t rows = o->limit;
	char *text;

	if (screen && (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col))
		size = (struct winsize){ .ws_row = ROWS, .ws_col = COLUMNS };
	if (!rows)
		rows = screen ? size.ws_row : 20;
	text = read_report(o, rows);
	if (text && screen)
		put_on_screen(text, &size);
	else if (text)
		put_table(text);
	fflush(stdout);
	free(text);
}

/* A trace that takes long to read is read less often. */
static void wait_for_next(int64_t began, uint64_t delay)
{
	uint64_t took = (uint64_t)(clock_now_ns() - began), until = took * SHARE > delay ? took * SHARE : delay;
	struct timespec left = { .tv_sec = (time_t)((until - took) / NS_OF_S), .tv_nsec = (long)((until - took) % NS_OF_S) };

	if (until > took)
		nanosleep(&left, NULL);
}

static int run(const struct top_options *o)
{
	bool screen = isatty(STDOUT_FILENO);
	struct asked asked;

	if (!flush_all(o->dir, &asked)) {
		if (asked.err)
			msg_error("%s: the recording cannot be asked: %s", o->dir, strerror(asked.err));
		else
			msg_error("%s: no recording runs there that can be controlled from here", o->dir);
		return EXIT_USAGE;
	}
	if (screen)
		fputs("\033[2J", stdout);
	for (uint64_t n = 1;; n++) {
		int64_t began = clock_now_ns();

		show(o, screen);
		if (n == o->times || ferror(stdout))
			return 0;
		wait_for_next(began, o->delay);
		if (!flush_all(o->dir, &asked))
			break;
	}
	show(o, screen);
	return 0;
}

int verb_top(int argc, char **argv)
{
	struct top_options o = { .delay = NS_OF_S, .sort = "self", .dir = DEFAULT_TRACE };
	int first = opt_parse(&top_command, argc, argv, &o);

	if (first < 0)
		return OPT_STATUS(first);
	if (argc - first > 1)
		return opt_usage_error(&top_command, "more than one folder");
	if (o.delay < NS_OF_S / 10 || o.delay > 86400 * NS_OF_S)
		return opt_usage_error(&top_command, "--delay: not from 100ms to a day");
	if (argc > first)
		o.dir = argv[first];
	return run(&o);
}
