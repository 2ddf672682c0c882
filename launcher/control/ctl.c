// SPDX-License-Identifier: GPL-3.0-or-later
/* `sonde ctl`: asks recordings that run for something, each rank's of a job. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/trace/tracedir.h"
#include "launcher/common/units.h"
#include "launcher/control/client.h"
#include "launcher/verbs.h"

#define DEFAULT_DIR "sonde.data"

static const struct action {
	const char *name;
	enum control_verb verb;
} actions[] = {
	{ "status", CONTROL_STATUS },
	{ "flush", CONTROL_FLUSH },
	{ "stop", CONTROL_STOP },
};

#define ACTIONS (sizeof(actions) / sizeof(actions[0]))

static const struct opt ctl_opts[] = { OPT_HELP, OPT_END };

static const struct opt_command ctl_command = {
	.name = "ctl",
	.usage = "[DIR] ACTION",
	.summary = "Controls the recording that runs into DIR, " DEFAULT_DIR " if not given.",
	.opts = ctl_opts,
	.details = "ACTION is\n"
		   "  status     show what is recorded, and how much there is so far\n"
		   "  flush      write what has been recorded so far, so that it can be reported\n"
		   "  stop       end the recording and complete the trace; the program goes on without\n"
		   "Of a job, the recordings of all ranks of this machine are meant.\n",
	.examples = "sonde ctl status\thow the recording in " DEFAULT_DIR " stands\n"
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

static void print_status(const struct tracedir_part *part, const struct control_answer *a)
{
	char age[UNITS_MAX], since[UNITS_MAX], bytes[UNITS_MAX];
	char line[128];

	units_time(a->age, age);
	units_time(a->since, since);
	units_bytes(a->bytes, bytes);
	row("trace", part->path);
	snprintf(line, sizeof(line), "%s for %s", a->on ? "on" : "off", since);
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

static int ask_one(const struct action *action, int fd, const struct tracedir_part *part, bool first)
{
	struct control_answer answer;

	if (!control_ask(fd, action->verb, &answer))
		return say_failed(part->path);
	if (action->verb == CONTROL_STOP)
		control_await_end(fd);
	if (action->verb == CONTROL_STATUS) {
		if (!first)
			putchar('\n');
		print_status(part, &answer);
	}
	return 0;
}

/* Those of other machines in a shared folder, and those that have ended, are not there. */
static int ask_all(const struct action *action, const char *dir, const struct tracedir_part *parts, size_t n)
{
	size_t asked = 0;
	int status = 0, one;

	for (size_t i = 0; i < n; i++) {
		int fd = control_connect(parts[i].path);

		if (fd < 0 && errno == ENOENT)
			continue;
		one = fd < 0 ? say_failed(parts[i].path) : ask_one(action, fd, &parts[i], asked == 0);
		status = one ? one : status;
		asked++;
		if (fd >= 0)
			close(fd);
	}
	if (asked)
		return status;
	msg_error("%s: no recording runs there that can be controlled from here", dir);
	return EXIT_USAGE;
}

int verb_ctl(int argc, char **argv)
{
	struct { char none; } none;
	int first = opt_parse(&ctl_command, argc, argv, &none);
	struct tracedir_part *parts;
	const struct action *action;
	const char *dir = DEFAULT_DIR;
	int status;
	size_t n;

	if (first < 0)
		return OPT_STATUS(first);
	if (argc - first < 1 || argc - first > 2)
		return opt_usage_error(&ctl_command, argc == first ? "what is to be done?" : "more than a folder and an action");
	if (argc - first == 2)
		dir = argv[first];
	action = find_action(argv[argc - 1]);
	if (!action)
		return opt_usage_error(&ctl_command, "no action '%s'", argv[argc - 1]);
	status = tracedir_parts(dir, &parts, &n);
	if (status)
		return status;
	status = ask_all(action, dir, parts, n);
	tracedir_parts_free(parts, n);
	return status;
}
