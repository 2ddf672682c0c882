// SPDX-License-Identifier: MIT
/*
 * Before the program executes another one: see x86-64/exec.S.  Whoever collects is asked, and then traces this thread until
 * the new program stands at its first instruction, or does not exist.  What is here runs in children of vfork(), too, on
 * their parent's memory.
 */
#include "runtime/mail.h"
#include "runtime/x86-64/sys.h"
#include "runtime/thread.h"

#define SET_PTRACER 0x59616d61 /* PR_SET_PTRACER */
#define MAY_EXECUTE 1

RT_HIDDEN void rt_before_exec(uint64_t path, uint64_t nr);

void rt_before_exec(uint64_t path, uint64_t nr)
{
	struct ring_control *c = rt_control();
	int64_t ignored;

	if (!(c->flags & RING_FOLLOW) || ring_collector_gone(c))
		return;
	/* a search along PATH: nobody need know */
	if (nr == __NR_execve && sys2(__NR_access, path, MAY_EXECUTE) < 0)
		return;
	if (rt_pid_namespace((int32_t)sys0(__NR_getpid)) != c->pid_ns) {
		__atomic_fetch_add((uint64_t *)&c->unfollowed, 1, __ATOMIC_RELAXED);
		return;
	}
	if (c->flags & RING_PERMIT)
		sys2(__NR_prctl, SET_PTRACER, (uint64_t)c->tracer);
	if (!rt_mail_ask(RING_MAIL_EXEC, &ignored))
		__atomic_fetch_add((uint64_t *)&c->unfollowed, 1, __ATOMIC_RELAXED);
}
