// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "launcher/collect/taken.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OFTEN_NS 50000000

uint64_t taken_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

bool taken_parse(const char *schedstat, struct taken_times *to)
{
	return sscanf(schedstat, "%" SCNu64 " %" SCNu64 " %*u", &to->ran, &to->waited) == 2;
}

static bool read_times(pid_t pid, pid_t tid, struct taken_times *to)
{
	char path[64], line[80];
	bool ok;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fgets(line, sizeof(line), f) && taken_parse(line, to);
	fclose(f);
	return ok;
}

/* That we may run on, and so the program. */
static unsigned int count_cpus(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		return (unsigned int)CPU_COUNT(&set);
	return online > 0 ? (unsigned int)online : 1;
}

static uint64_t since(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

uint64_t taken_since(struct taken *t, struct taken_all *all, const struct taken_times *times, uint64_t now)
{
	uint64_t worked = t->worked - t->worked_then, waited = since(times->waited, t->waited);
	double part;

	all->in_use -= t->in_use;
	t->in_use = t->at && now > t->at ? (double)since(times->ran, t->ran) / (double)(now - t->at) : 1;
	all->in_use += t->in_use;
	t->worked_then = t->worked;
	t->ran = times->ran;
	t->waited = times->waited;
	t->at = now;
	part = all->in_use / all->cpus;
	return (uint64_t)((double)(waited < worked ? waited : worked) * (part < 1 ? part : 1));
}

uint64_t taken_look(struct taken *t, struct taken_all *all, pid_t pid, pid_t tid, uint64_t now)
{
	struct taken_times times;

	if (now - t->at < OFTEN_NS || !read_times(pid, tid, &times))
		return 0;
	if (!all->cpus)
		all->cpus = count_cpus();
	return taken_since(t, all, &times, now);
}

void taken_end(struct taken *t, struct taken_all *all)
{
	all->in_use -= t->in_use;
	memset(t, 0, sizeof(*t));
}
