// SPDX-License-Identifier: GPL-3.0-or-later
/* What is asked for, done by who serves the collector. */
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "launcher/collect/collector-private.h"
#include "launcher/common/proc.h"

void collector_ask(struct collector *c, enum control_verb verb, struct control_answer *answer)
{
	c->answer = answer;
	c->asked = verb;
	collector_ring(c);
	while (c->asked)
		syscall(SYS_futex, &c->asked, FUTEX_WAIT, (uint32_t)verb, NULL, NULL, 0);
}

void collector_switch(struct collector *c, bool on)
{
	if (ring_switch_as(c->control, on, true))
		collector_ring(c);
}

bool collector_is_off(const struct collector *c)
{
	return atomic_load(&c->control->off) & RING_OFF;
}

void collector_snapshot(struct collector *c)
{
	c->snapshot_asked = true;
	collector_ring(c);
}

int collector_switched_to(struct collector *c)
{
	return atomic_exchange(&c->switched_to, -1);
}

bool collector_took_snapshot(struct collector *c)
{
	return atomic_exchange(&c->snapshot_taken, false);
}

static void tell_others(struct collector *c)
{
	if (c->exec_asked)
		c->exec_asked(c->exec_arg);
}

/* ---- how it stands ---- */

static struct control_process *add_process(struct control_answer *a, pid_t pid)
{
	struct control_process *p;

	for (uint32_t i = 0; i < a->nprocesses; i++)
		if (a->processes[i].pid == pid)
			return &a->processes[i];
	if (a->nprocesses == CONTROL_PROCESSES || pid <= 0)
		return NULL;
	p = &a->processes[a->nprocesses++];
	p->pid = pid;
	proc_comm(pid, pid, p->name, sizeof(p->name));
	return p;
}

static void add_thread(struct control_answer *a, const struct feed *f)
{
	struct control_process *p = add_process(a, f->pid);
	struct tf_thread_stats stats;

	tf_thread_stats(f->thread, &stats);
	a->events += stats.events;
	a->bytes += stats.file_bytes;
	a->lost += f->lost;
	a->threads++;
	if (p)
		p->threads++;
}

static void fill_in(struct collector *c, struct control_answer *a)
{
	a->events += c->totals.events;
	a->lost += c->totals.lost;
	a->bytes += c->totals.bytes + c->totals.memory_bytes;
	for (size_t i = 0; i < c->nprocesses; i++)
		if (!c->processes[i].gone)
			add_process(a, c->processes[i].pid);
	for (uint32_t i = 0, n = collector_rings(c); i < n; i++)
		if (c->feeds[i].thread)
			add_thread(a, &c->feeds[i]);
}

/* ---- doing it ---- */

static void note_switch(struct collector *c, uint64_t entry)
{
	if (c->weighed)
		collector_switch_weighed(c, entry & 1);
	collector_check(c, tf_writer_switch(c->writer, entry >> 2, entry & 1));
	if (entry & 2)
		return;
	c->switched_to = entry & 1;
	tell_others(c);
}

/* One that writes its limit at the same moment misses it: so it is done again at some of the next ticks. */
#define HURRIES 3

void collector_hurry(struct collector *c)
{
	if (!c->hurry)
		return;
	c->hurry--;
	for (uint32_t i = 0, n = collector_rings(c); i < n; i++)
		if (c->feeds[i].thread && c->feeds[i].memory >= 0)
			sampler_hurry(c->feeds[i].head, c->feeds[i].memory);
}

/* What the program makes of the log does no harm: entries are times, and there are so many at once. */
void collector_note_switches(struct collector *c)
{
	uint64_t n = atomic_load(&c->control->switched);

	if (n - c->noted > RING_SWITCHES)
		c->noted = n - RING_SWITCHES;
	if (c->noted != n)
		c->hurry = HURRIES;
	for (; c->noted != n; c->noted++) {
		uint64_t entry = atomic_exchange(&c->control->switches[c->noted % RING_SWITCHES], 0);

		if (!entry)
			break;
		note_switch(c, entry);
	}
	if (c->hurry == HURRIES)
		collector_hurry(c);
}

static void take_snapshot(struct collector *c)
{
	collector_drain_all(c, true);
	collector_check(c, tf_writer_snapshot(c->writer));
}

/* As often as the program may ask, one for all that it has asked for meanwhile will do. */
void collector_take_snapshots(struct collector *c)
{
	uint64_t wanted = c->options->flight ? atomic_load(&c->control->snapshots) : 0;
	bool asked = atomic_exchange(&c->snapshot_asked, false) && c->options->flight;

	if (wanted == c->snapshots && !asked)
		return;
	take_snapshot(c);
	if (wanted == c->snapshots)
		return;
	c->snapshots = wanted;
	c->snapshot_taken = true;
	tell_others(c);
}

/* The program runs on.  Its probes record no more, whatever becomes of this process. */
static void stop(struct collector *c)
{
	atomic_fetch_or(&c->control->off, RING_OFF_FOR_GOOD);
	c->stopped = true;
}

static void serve(struct collector *c, enum control_verb verb)
{
	switch (verb) {
	case CONTROL_STATUS:
		collector_drain_all(c, true);
		break;
	case CONTROL_FLUSH:
		collector_look_at_all(c);
		break;
	case CONTROL_STOP:
		stop(c);
		break;
	case CONTROL_SNAPSHOT:
		if (c->options->flight)
			take_snapshot(c);
		else
			c->answer->error = CONTROL_NO_FLIGHT;
		break;
	case CONTROL_ON:
	case CONTROL_OFF:
		/* threads that have begun since the last tick are found */
		collector_drain_all(c, false);
		/* all recordings are asked */
		ring_switch_as(c->control, verb == CONTROL_ON, true);
		collector_note_switches(c);
		break;
	case CONTROL_VERBS:
		break;
	}
	fill_in(c, c->answer);
}

void collector_serve_control(struct collector *c)
{
	if (!c->asked)
		return;
	serve(c, c->asked);
	c->asked = 0;
	collector_wake(&c->asked);
}
