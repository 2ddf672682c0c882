// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Memory that is shared with the program can be gone when it is read here: the system has no page for it any more, or the
 * page is broken.  Zeros take its place, and that of all after it in the same mapping, in our process only: as if nothing
 * had been recorded there.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "launcher/collect/collector-private.h"
#include "launcher/common/message.h"

static struct collector *guarded;
static atomic_flag locked = ATOMIC_FLAG_INIT; /* the list; nothing that may fault is done meanwhile */

static void lock_list(void)
{
	while (atomic_flag_test_and_set_explicit(&locked, memory_order_acquire))
		sched_yield();
}

static void unlock_list(void)
{
	atomic_flag_clear_explicit(&locked, memory_order_release);
}

/* The end of what is mapped at @at, if @addr lies in it; else 0. */
static uintptr_t end_of(uintptr_t addr, const void *at, uint64_t bytes)
{
	uintptr_t start = (uintptr_t)at;

	return at && addr >= start && addr - start < bytes ? start + bytes : 0;
}

/* ... of @c's, whose ring has had a fault, if it is one. */
static uintptr_t shared_end(struct collector *c, uintptr_t addr)
{
	uint64_t bytes = 0;
	const void *at = analysis_shared(c->analysis, &bytes);
	uintptr_t end = end_of(addr, c->control, RING_PAGE);

	if (!end)
		end = end_of(addr, at, bytes);
	for (uint32_t i = 0; i < c->max_rings && !end; i++) {
		end = end_of(addr, c->feeds[i].head, c->ring_bytes);
		c->feeds[i].faults += end != 0;
	}
	return end;
}

/* Whose memory that is: it is put right. */
static bool replace(uintptr_t page)
{
	uintptr_t end = 0;
	bool good;

	lock_list();
	for (struct collector *c = guarded; c && !end; c = c->guarded) {
		end = shared_end(c, page);
		c->faults += end != 0;
	}
	good = end && mmap((void *)page, end - page, PROT_READ | PROT_WRITE,
			   MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
	unlock_list();
	return good;
}

/* Whatever else faults ends us, as if there were no handler. */
static void on_fault(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (info->si_code > 0 && replace((uintptr_t)info->si_addr & ~(uintptr_t)(COLLECTOR_PAGE - 1))) {
		errno = saved;
		return;
	}
	analysis_fault(sig);
	signal(sig, SIG_DFL);
	raise(sig);
}

void collector_guard(struct collector *c)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	lock_list();
	c->guarded = guarded;
	guarded = c;
	unlock_list();
	sigaction(SIGBUS, &action, NULL);
}

void collector_unguard(struct collector *c)
{
	lock_list();
	for (struct collector **p = &guarded; *p; p = &(*p)->guarded)
		if (*p == c) {
			*p = c->guarded;
			break;
		}
	unlock_list();
}

void collector_note_faults(struct collector *c, struct feed *f)
{
	if (c->faults && !c->faults_told)
		msg_error("memory that is shared with the program is gone: what was recorded there is lost");
	c->faults_told |= c->faults != 0;
	if (f->faults == f->faults_noted)
		return;
	f->faults_noted = f->faults;
	tf_thread_damaged(f->thread);
}
