/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/select/processes.h"
#include "base/array.h"
#include "launcher/common/message.h"
#include "launcher/select/near.h"
#include "launcher/trace/processtree.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct wanted {
	char *text; /* a number is the pid of a process, or the name of a program */
	int pid;    /* 0: none */
	bool hit;
};

struct choice {
	struct wanted *v;
	size_t n;
};

/* ---- what the user wrote ---- */

static int pid_of(const char *text)
{
	char *end;
	long pid;

	if (*text < '0' || *text > '9')
		return 0;
	errno = 0;
	pid = strtol(text, &end, 10);
	return errno || *end || pid > INT_MAX ? 0 : (int)pid;
}

static bool add(struct choice *c, const char *text, size_t n)
{
	if (!array_one_more(c->v, c->n))
		return false;
	c->v[c->n] = (struct wanted){ .text = strndup(text, n) };
	if (!c->v[c->n].text)
		return false;
	c->v[c->n].pid = pid_of(c->v[c->n].text);
	c->n++;
	return true;
}

static bool parse(struct choice *c, const struct opt_list *values)
{
	for (size_t i = 0; i < values->n; i++) {
		const char *at = values->v[i];

		for (;;) {
			size_t n = strcspn(at, ",");

			if (n && !add(c, at, n))
				return false;
			if (!at[n])
				break;
			at += n + 1;
		}
	}
	return true;
}

static void choice_free(struct choice *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->v[i].text);
	free(c->v);
}

/* ---- what there is ---- */

static bool want(const struct sonde_trace_rank *program, int pid, void *arg)
{
	struct choice *c = arg;
	bool any = false;

	for (size_t i = 0; i < c->n; i++) {
		struct wanted *w = &c->v[i];

		if ((w->pid && w->pid == pid) || fnmatch(w->text, program_name(program->program), 0) == 0)
			any = w->hit = true;
	}
	return any;
}

/* What was meant by one that nothing matches. */
static void say(const struct sonde_trace *trace, const struct wanted *w, bool error)
{
	enum near_how how = strpbrk(w->text, "*?[") ? NEAR_GLOB : NEAR_WORD;
	struct near_names near = { 0 };
	char text[NEAR_MAX_TEXT];

	for (size_t i = 0; !w->pid && i < sonde_trace_ranks(trace); i++) {
		struct function_name name = { .symbol = program_name(sonde_trace_rank(trace, i)->program) };

		near_note(&near, w->text, how, &name);
		function_name_free(&name);
	}
	near_text(&near, text, sizeof(text));
	(error ? msg_error : msg_warn)("--process %s: no such %s in the trace%s", w->text, w->pid ? "process" : "program",
				       near.n ? text : "; `sonde info' shows what there is");
}

/* Returns whether one of them matches anything; if not, the first is what went wrong. */
static bool say_misses(const struct sonde_trace *trace, const struct choice *c)
{
	bool any = false;

	for (size_t i = 0; i < c->n; i++)
		any |= c->v[i].hit;
	for (size_t i = 0; i < (any ? c->n : 1); i++)
		if (!c->v[i].hit)
			say(trace, &c->v[i], !any);
	return any;
}

static int open_some(struct sonde_trace **trace, struct choice *c)
{
	struct sonde_trace_message why;
	struct sonde_trace *some = NULL;
	enum sonde_trace_status status = sonde_trace_open_some(*trace, want, c, &some, &why);

	if (!say_misses(*trace, c))
		status = SONDE_TRACE_E_NOTRACE;
	else if (status)
		msg_error("%s", why.text);
	if (status && some)
		sonde_trace_close(some);
	sonde_trace_close(*trace);
	*trace = status ? NULL : some;
	return status ? EXIT_USAGE : 0;
}

int processes_choose(struct sonde_trace **trace, const struct opt_list *values)
{
	struct choice c = { 0 };
	int status;

	if (!values->n)
		return 0;
	if (!parse(&c, values)) {
		msg_error("no memory");
		status = EXIT_USAGE;
	} else if (!c.n) {
		msg_error("--process: neither a PID nor the name of a PROGRAM");
		status = EXIT_USAGE;
	} else {
		status = open_some(trace, &c);
	}
	if (status && *trace) {
		sonde_trace_close(*trace);
		*trace = NULL;
	}
	choice_free(&c);
	return status;
}
