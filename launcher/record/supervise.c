// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/record/supervise.h"

/* All signals but our own faults, which are to end us. */
static void but_faults(sigset_t *all)
{
	sigfillset(all);
	sigdelset(all, SIGSEGV);
	sigdelset(all, SIGBUS);
	sigdelset(all, SIGILL);
	sigdelset(all, SIGFPE);
	sigdelset(all, SIGABRT);
}

void supervise_begin(struct supervisor *v)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t all;

	but_faults(&all);
	sigprocmask(SIG_BLOCK, &all, &v->original_mask);
	/* a parent that ignores SIGCHLD leaves us no status to wait for */
	sigaction(SIGCHLD, &dfl, &v->original_chld);
}

void supervise_in_child(void *supervisor)
{
	struct supervisor *v = supervisor;

	sigaction(SIGCHLD, &v->original_chld, NULL);
}

static bool is_job_control(int sig)
{
	return sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

/*
 * What the terminal sends goes to the whole foreground process group: the program has it too.
 * What somebody sends to us alone is meant for the program.
 */
static void pass_on(pid_t program, const siginfo_t *info)
{
	if (info->si_code == SI_KERNEL || info->si_pid == program)
		return;
	kill(program, info->si_signo);
}

struct state {
	pid_t program;
	bool job_stop; /* we have been asked to stop, and do when the program has */
	bool stopped;  /* the program; we may learn of that before we are asked */
	int status;
	bool ended;
};

static void stop_with_program(struct state *s)
{
	s->job_stop = s->stopped = false;
	raise(SIGSTOP);
	/* "fg" continues the whole group; "kill -CONT" perhaps only us */
	kill(s->program, SIGCONT);
}

static void look_at_program(struct state *s)
{
	int status;

	while (waitpid(s->program, &status, WNOHANG | WUNTRACED | WCONTINUED) == s->program) {
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			s->status = status;
			s->ended = true;
			return;
		}
		s->stopped = WIFSTOPPED(status);
		if (WIFCONTINUED(status))
			s->job_stop = false;
	}
	if (errno == ECHILD)
		s->ended = true;
	else if (s->stopped && s->job_stop)
		stop_with_program(s);
}

int supervise(struct supervisor *v, pid_t program)
{
	struct state s = { .program = program };
	siginfo_t info;
	sigset_t all;

	but_faults(&all);
	look_at_program(&s);
	while (!s.ended) {
		if (sigwaitinfo(&all, &info) < 0)
			continue;
		if (info.si_signo == v->toggle && info.si_code != SI_KERNEL) {
			v->toggled(v->arg);
		} else if (info.si_signo != SIGCHLD) {
			s.job_stop |= is_job_control(info.si_signo);
			pass_on(program, &info);
		}
		errno = 0;
		look_at_program(&s);
	}
	return s.status;
}

/* Ctrl-C ends that, as it would any program. */
static void finish(struct supervisor *v)
{
	if (!v->done)
		return;
	sigprocmask(SIG_SETMASK, &v->original_mask, NULL);
	v->done(v->done_arg);
}

void supervise_end(struct supervisor *v, int status)
{
	struct rlimit none = { 0, 0 };
	sigset_t set;
	int sig;

	finish(v);
	if (WIFEXITED(status))
		exit(WEXITSTATUS(status));
	/* the same signal, without a second core file */
	sig = WTERMSIG(status);
	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	kill(getpid(), sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	exit(128 + sig);
}
