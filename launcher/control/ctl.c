// SPDX-License-Identifier: GPL-3.0-or-later
/* `sonde ctl`: asks recordings that run for something, each rank's of a job. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/common/units.h"
#include "launcher/control/client.h"
#include "launcher/verbs.h"


static const struct action {
	const char *name;
	enum control_verb verb;
} actions[] = {
	{ "status", CONTROL_STATUS },
	{ "flush", CONTROL_FLUSH },
	{ "snapshot", CONTROL_SNAPSHOT },
	{ "off", CONTROL_OFF },
	{ "on", CONTROL_ON },
	{ "stop", CONTROL_STOP },
};

#define ACTIONS (sizeof(actions) / sizeof(actions[0]))

static const struct opt ctl_opts[] = { OPT_HELP, OPT_END };

static const struct opt_command ctl_command = {
	.name = "ctl",
	.usage = "[DIR] ACTION",
	.summary = "Controls the recording that runs into DIR, " DEFAULT_TRACE " if not given.",
	.opts = ctl_opts,
	.details = "ACTION is\n"
		   "  status     show what is recorded, and how much there is so far\n"
		   "  flush      write what has been recorded so far, so that it can be reported\n"
		   "  snapshot   write what a flight recorder (record --flight) keeps\n"
		   "  off        record nothing for a while\n"
		   "  on         record again\n"
		   "  stop       end the recording and complete the trace; the program goes on without\n"
		   "Of a job, the recordings of all ranks of this machine are meant.\n",
	.examples = "sonde ctl status\thow the recording in " DEFAULT_TRACE " stands\n"
		    "sonde ctl run1 stop\tend that in run1\n",
};

static const struct action *find_action(const char *name)
{
	for (size_t i = 0; i < ACTIONS; i++)
		if (strcmp(actions[i].name, name) == 0)
			return &actions[i];
	return NULL;
}

/* ---- status ---- */

static void row(const char *what, const char *text)
{
	printf("%-12s%s\n", what, text);
}

static void print_process(const struct control_process *p)
{
	printf("%-12s%" PRId32 " ", "process", p->pid);
	units_text(stdout, p->name, 0, false);
	printf(", %" PRIu32 " thread%s\n", p->threads, p->threads == 1 ? "" : "s");
}

static void print_status(const char *dir, const struct control_answer *a)
{
	static const char *const on[] = { "off", "on", "on in some processes" };
	char age[UNITS_MAX], since[UNITS_MAX], bytes[UNITS_MAX];
	char line[128];

	units_time(a->age, age);
	units_time(a->since, since);
	units_bytes(a->bytes, bytes);
	row("trace", dir);
	snprintf(line, sizeof(line), "%s for %s", on[a->on], since);
	row("recording", line);
	if (a->since < a->age)
		row("begun", strcat(age, " ago"));
	for (uint32_t i = 0; i < a->nprocesses; i++)
		print_process(&a->processes[i]);
	snprintf(line, sizeof(line), "%" PRIu32, a->threads);
	row("threads", line);
	snprintf(line, sizeof(line), "%" PRIu64, a->events);
	row("events", line);
	snprintf(line, sizeof(line), "%" PRIu64 " events", a->lost);
	row("lost", a->lost ? line : "nothing so far");
	row("written", bytes);
}

/* ---- asking ---- */

static int say_failed(const char *path)
{
	switch (errno) {
	case EPERM:
		msg_error("%s: the recording is another user's", path);
		break;
	case EPROTO:
		msg_error("%s: recorded by another version of Sonde, or its file '" CONTROL_FILE "' is none of Sonde's",
			  path);
		break;
	case ECONNRESET:
		msg_error("%s: the recording has ended meanwhile", path);
		break;
	default:
		msg_error("%s: cannot ask the recording: %s", path, strerror(errno));
	}
	return EXIT_USAGE;
}

struct asking {
	const struct action *action;
	size_t asked;
	int status;
	int *ending; /* connections of those that are to end */
	size_t nending;
};

static int ask_one(struct asking *a, int fd, const char *dir)
{
	struct control_answer answer;

	if (!control_ask(fd, a->action->verb, &answer))
		return say_failed(dir);
	if (answer.error == CONTROL_NO_FLIGHT) {
		msg_error("%s: recorded without --flight, so all is written; 'flush' is what you need", dir);
		return EXIT_USAGE;
	}
	if (a->action->verb == CONTROL_STATUS) {
		if (a->asked)
			putchar('\n');
		print_status(dir, &answer);
	}
	return 0;
}

/* One process may record several ranks: it ends when all of them have been asked, and with it the connections. */
static bool keep(struct asking *a, int fd)
{
	if (a->action->verb != CONTROL_STOP || !array_one_more(a->ending, a->nending))
		return false;
	a->ending[a->nending++] = fd;
	return true;
}

static void await_ends(struct asking *a)
{
	for (size_t i = 0; i < a->nending; i++) {
		control_await_end(a->ending[i]);
		close(a->ending[i]);
	}
	free(a->ending);
}

/* Those of other machines in a shared folder, and those that have ended, are not there. */
static void ask(void *asking, const char *dir)
{
	struct asking *a = asking;
	int fd = control_connect(dir), status;

	if (fd < 0 && errno == ENOENT)
		return;
	status = fd < 0 ? say_failed(dir) : ask_one(a, fd, dir);
	a->status = status ? status : a->status;
	a->asked++;
	if (fd >= 0 && (status || !keep(a, fd)))
		close(fd);
}

int verb_ctl(int argc, char **argv)
{
	struct { char none; } none;
	int first = opt_parse(&ctl_command, argc, argv, &none);
	struct asking a = { 0 };
	const char *dir = DEFAULT_TRACE;

	if (first < 0)
		return OPT_STATUS(first);
	if (argc - first < 1 || argc - first > 2)
		return opt_usage_error(&ctl_command, argc == first ? "what is to be done?" : "more than a folder and an action");
	if (argc - first == 2)
		dir = argv[first];
	a.action = find_action(argv[argc - 1]);
	if (!a.action)
		return opt_usage_error(&ctl_command, "no action '%s'", argv[argc - 1]);
	if (!control_folders(dir, ask, &a)) {
		msg_error("%s: cannot be read: %s", dir, strerror(errno));
		return EXIT_USAGE;
	}
	await_ends(&a);
	if (a.asked)
		return a.status;
	msg_error("%s: no recording runs there that can be controlled from here", dir);
	return EXIT_USAGE;
}
