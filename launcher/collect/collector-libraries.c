// SPDX-License-Identifier: GPL-3.0-or-later
/* What threads of the program ask for: libraries that are loaded late are to be instrumented, programs followed. */
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "injector/mirror/first.h"
#include "base/clock.h"
#include "injector/process/procpath.h"
#include "launcher/collect/collector-private.h"
#include "launcher/common/message.h"
#include "launcher/record/describe/metadata.h"

enum inj_status collector_mail_syscall(struct inj_target *t, long nr, const uint64_t args[6], int64_t *result)
{
	struct collector *c = t->arg;
	struct ring_mail *m = &c->control->mail;
	struct timespec timeout = { .tv_nsec = 100000000 };
	enum inj_status status = INJ_GONE;
	bool waits = false;

	m->nr = (uint32_t)nr;
	memcpy(m->args, args, sizeof(m->args));
	atomic_store_explicit(&m->state, RING_MAIL_CALL, memory_order_release);
	collector_wake(&m->state);
	for (int tries = 0; tries < 50; tries++) {
		uint32_t state = atomic_load_explicit(&m->state, memory_order_acquire);

		if (state == RING_MAIL_ASKED) {
			*result = __atomic_load_n(&m->result, __ATOMIC_RELAXED);
			status = INJ_OK;
			break;
		}
		if (state != RING_MAIL_CALL || kill(t->pid, 0) < 0)
			break;
		/* it does not come at once: stopped, perhaps, which is not to hold up others */
		if (tries && !waits) {
			waits = true;
			pool_waits();
		}
		syscall(SYS_futex, &m->state, FUTEX_WAIT, state, &timeout, NULL, 0);
	}
	if (waits)
		pool_goes_on();
	return status;
}

/* What has been instrumented since the last time. */
void collector_tell(struct collector *c)
{
	const struct inj_mirrors *m = &c->session->mirrors;

	if (inj_first_keep(c->session) != INJ_OK)
		msg_error("out of memory");
	metadata_publish(c->session, c->writer, c->options);
	collector_budget_known(c);
	for (; c->analysis && c->analyzed < m->ndescribed; c->analyzed++) {
		const struct inj_described *d = &m->described[c->analyzed];
		const struct inj_object *o = &c->session->objects[d->object];
		struct md_object object = inj_described_object(d, o);

		object.number = (uint32_t)c->analyzed;
		analysis_object(c->analysis, &object, d->nodes, d->ops);
	}
}

static void instrument_late(struct collector *c, pid_t pid)
{
	struct inj_target target;
	enum inj_status status = inj_target_open(&target, pid);

	if (status == INJ_OK) {
		target.syscall = collector_mail_syscall;
		target.arg = c;
		status = inj_session_library(c->session, &target);
		inj_target_close(&target);
	}
	collector_trim_soon(c);
	collector_tell(c);
	if (status != INJ_OK && status != INJ_GONE)
		msg_warn("a library that was loaded late could not be instrumented: %s",
			 inj_status_text(status));
}

static void answer(struct collector *c)
{
	struct ring_mail *m = &c->control->mail;
	uint32_t asked = RING_MAIL_ASKED;

	if (atomic_compare_exchange_strong(&m->state, &asked, RING_MAIL_DONE))
		collector_wake(&m->state);
}

static void serve_libraries(struct collector *c, pid_t pid)
{
	const bool looks = pid == c->program;

	if (pid == c->program) {
		instrument_late(c, c->program);
	} else if (!c->told_children) {
		c->told_children = true;
		msg_warn("libraries that forked children load are not instrumented");
	}
	c->control->mail.result = !looks;
	answer(c);
}

/* Nothing of it can be left out to keep within what recording may cost. */
static void serve_timed(struct collector *c, bool first)
{
	struct ring_mail *m = &c->control->mail;
	uint64_t began = clock_thread_ns();

	if (first)
		collector_serve_first(c, atomic_load(&m->holder), __atomic_load_n(&m->tid, __ATOMIC_RELAXED));
	else
		serve_libraries(c, atomic_load(&m->holder));
	collector_windows_changed(c);
	c->asked_ns += clock_thread_ns() - began;
}

static bool asks(const struct collector *c)
{
	return !c->exec_waits && atomic_load_explicit(&c->control->mail.state, memory_order_acquire) == RING_MAIL_ASKED;
}

void collector_serve_exec(struct collector *c)
{
	if (!asks(c) || !c->exec_asked || c->no_requests ||
	    __atomic_load_n(&c->control->mail.kind, __ATOMIC_RELAXED) != RING_MAIL_EXEC)
		return;
	c->exec_waits = true;
	c->exec_asked(c->exec_arg);
}

bool collector_serve_mail(struct collector *c)
{
	struct ring_mail *m = &c->control->mail;

	if (atomic_load_explicit(&m->silent, memory_order_relaxed))
		atomic_store(&m->silent, 0);
	if (!asks(c))
		return false;
	if (c->no_requests) {
		m->result = 1;
		answer(c);
	} else if (__atomic_load_n(&m->kind, __ATOMIC_RELAXED) == RING_MAIL_LIBRARIES) {
		serve_timed(c, false);
	} else if (__atomic_load_n(&m->kind, __ATOMIC_RELAXED) == RING_MAIL_FIRST) {
		serve_timed(c, true);
	} else if (c->exec_asked) {
		c->exec_waits = true;
		c->exec_asked(c->exec_arg);
	} else {
		answer(c);
	}
	return true;
}

void collector_no_requests(struct collector *c)
{
	c->no_requests = true;
	collector_publish(c);
	if (c->exec_waits)
		collector_exec_done(c);
}

bool collector_exec_waits(const struct collector *c)
{
	return c->exec_waits;
}

bool collector_exec_asked(struct collector *c, pid_t *pid, pid_t *tid)
{
	struct ring_mail *m = &c->control->mail;

	*pid = atomic_load(&m->holder);
	*tid = __atomic_load_n(&m->tid, __ATOMIC_RELAXED);
	return c->exec_waits && *pid > 0 && *tid > 0 && atomic_load(&m->state) == RING_MAIL_ASKED;
}

bool collector_is_shared_with(const struct collector *c, pid_t pid)
{
	char path[INJ_PROC_PATH], line[512];
	unsigned long inode;
	bool found = false;
	struct stat st;
	FILE *f;

	inj_proc_path(path, pid, "maps");
	f = fstat(c->alive, &st) == 0 ? fopen(path, "re") : NULL;
	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "sonde-alive") && sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1 && inode == st.st_ino;
	if (f)
		fclose(f);
	return found;
}

void collector_exec_done(struct collector *c)
{
	c->exec_waits = false;
	answer(c);
}
