// SPDX-License-Identifier: GPL-3.0-or-later
/* `sonde attach': records processes that run already, one after the other begun, all of them ended together. */
#include "config.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/pages.h"
#include "launcher/common/message.h"
#include "launcher/record/attach/attached.h"
#include "launcher/record/follow.h"
#include "launcher/verbs.h"

struct attach {
	struct record_options opt;
	struct follow follow; /* v[0]: of the first process that could be attached to */
	int signals; /* those that end the recording */
	int timer;   /* -1: no --duration */
};

static int check_wanted(const struct record_options *opt)
{
	if (opt->modules.n || opt->select.functions.n || opt->memory.n)
		return 0;
	msg_error("nothing is to be recorded: say which functions, as by -F '*', which module, as by -m posixio, or --mem");
	return EXIT_USAGE;
}

static int listen_for_signals(struct attach *a)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		sigaddset(&set, ending[i]);
	if (a->opt.toggle)
		sigaddset(&set, a->opt.toggle);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	a->signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (a->opt.duration)
		a->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (a->signals >= 0 && (a->timer >= 0 || !a->opt.duration))
		return 0;
	msg_error("cannot wait for signals: %s", strerror(errno));
	return EXIT_TRACER;
}

/* ---- beginning ---- */

static int begin(struct attach *a, struct recording *r, const char *pid)
{
	struct follow *f = &a->follow;
	int status = attached_find(r, pid);

	if (status != 0)
		return status;
	r->first = f->n ? f->v[0] : NULL;
	r->opt = a->opt;
	r->opt.no_follow |= f->bell < 0;
	status = recording_prepare(r);
	if (status != 0)
		return status;
	follow_ask(f, r);
	status = attached_begin(r);
	if (status != 0)
		return status;
	status = follow_add(f, r);
	if (status != 0) {
		attached_leave(r);
		recording_finish(r);
	}
	return status;
}

/* All that can be attached to.  Returns 0, or the exit status that the first of the others is worth. */
static int begin_all(struct attach *a)
{
	int ret = 0;

	for (char **pid = a->opt.program; *pid; pid++) {
		struct recording *r = recording_new();
		int status = r ? begin(a, r, *pid) : EXIT_TRACER;

		if (status != 0 && r)
			recording_discard(r);
		ret = ret ? ret : status;
	}
	return ret;
}

/* ---- the end ---- */

/* A signal has come.  Is it to end the recording? */
static bool is_to_end(struct attach *a)
{
	struct signalfd_siginfo info;

	if (read(a->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	if ((int)info.ssi_signo != a->opt.toggle)
		return true;
	follow_signalled(&a->follow);
	return false;
}

static void await_end(struct attach *a)
{
	struct follow *f = &a->follow;
	struct pollfd fds[] = {
		{ .fd = follow_fd(f), .events = POLLIN },
		{ .fd = a->signals, .events = POLLIN },
		{ .fd = a->timer, .events = POLLIN },
	};

	while (!follow_is_finished(f)) {
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), follow_patience(f)) < 0)
			continue;
		if (fds[2].revents || (fds[1].revents && is_to_end(a))) {
			follow_leave(f);
			return;
		}
		follow_serve(f);
	}
}

static void start_timer(const struct attach *a)
{
	const uint64_t second = 1000000000;
	struct itimerspec t = { .it_value = { .tv_sec = (time_t)(a->opt.duration / second),
					      .tv_nsec = (long)(a->opt.duration % second) } };

	if (a->timer >= 0)
		timerfd_settime(a->timer, 0, &t, NULL);
}

static int record(struct attach *a)
{
	struct recording *first;
	int status = begin_all(a);

	if (a->follow.n) {
		first = a->follow.v[0];
		start_timer(a);
		await_end(a);
		follow_end(&a->follow);
		recording_discard(first);
	} else {
		follow_end(&a->follow);
	}
	return status;
}

int verb_attach(int argc, char **argv)
{
	static struct attach a = { .signals = -1, .timer = -1 };
	int status = attach_options_parse(argc, argv, &a.opt);

	if (status < 0)
		return OPT_STATUS(status);
	mallopt(M_ARENA_MAX, 1);
	pages_keep_heap();
	status = check_wanted(&a.opt);
	if (status == 0)
		status = listen_for_signals(&a);
	if (status == 0)
		status = follow_begin(&a.follow, &a.opt);
	if (status == 0) {
		a.follow.leave = attached_leave;
		status = record(&a);
	}
	record_options_free(&a.opt);
	return status;
}
