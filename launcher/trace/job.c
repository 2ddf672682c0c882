/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/trace/job.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_ANCESTORS 32

/*
 * Who tells the rank, best first. Slurm's comes last and counts in a step of several tasks only: a
 * batch script has SLURM_PROCID=0 too, and so has everything that it starts.
 */
static const struct source {
	const char *rank, *ranks;
} sources[] = {
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
	{ "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE" },
	{ "PMI_RANK", "PMI_SIZE" },
	{ "PMIX_RANK", NULL },
	{ "PALS_RANKID", NULL },
	{ "SLURM_PROCID", "SLURM_STEP_NUM_TASKS" },
};
#define NSOURCES (sizeof(sources) / sizeof(sources[0]))

static bool number_from(const char *name, int *value)
{
	const char *text = name ? getenv(name) : NULL;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	long n = strtol(text, &end, 10);
	if (*end || n > INT_MAX)
		return false;
	*value = (int)n;
	return true;
}

static bool read_source(const struct source *s, struct job *job)
{
	int step;

	if (!number_from(s->rank, &job->rank))
		return false;
	if (!number_from(s->ranks, &job->ranks))
		job->ranks = 0;
	if (strcmp(s->rank, "SLURM_PROCID") == 0 &&
	    (job->ranks < 2 || !number_from("SLURM_STEP_ID", &step)))
		return false;
	return true;
}

/* ---- the job's key ---- */

/* A process' arguments, separated by NULs; the length, 0 when it cannot be read. */
static size_t read_cmdline(int pid, char *buf, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(buf, 1, size - 1, f) : 0;
	if (f)
		fclose(f);
	buf[n] = '\0';
	return n;
}

/* Parent and start time of a process; its name may hold blanks and parentheses. */
static bool read_stat(int pid, int *parent, unsigned long long *start)
{
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	const char *p = strrchr(text, ')');
	return p && sscanf(p + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
				  "%*d %*d %*d %llu", parent, start) == 2;
}

static const char *argument_after(const char *args, size_t len, const char *option)
{
	for (const char *p = args; p < args + len; p += strlen(p) + 1) {
		if (strcmp(p, option) == 0)
			return p + strlen(p) + 1 < args + len ? p + strlen(p) + 1 : NULL;
	}
	return NULL;
}

/*
 * MPICH's and Intel MPI's hydra puts no job id into the environment. Its proxies, of which each
 * node has one above its ranks, are all told where their mpiexec listens: host and port.
 */
static char *hydra_key(void)
{
	int pid = getppid();
	unsigned long long start;
	char args[4096];
	char *key = NULL;

	for (int i = 0; i < MAX_ANCESTORS && pid > 1; i++) {
		size_t len = read_cmdline(pid, args, sizeof(args));
		const char *port = argument_after(args, len, "--control-port");

		if (port) {
			if (asprintf(&key, "hydra:%s", port) < 0)
				key = NULL;
			return key;
		}
		if (!read_stat(pid, &pid, &start))
			return NULL;
	}
	return NULL;
}

/* Nothing else is known: ranks that one process has started. */
static char *parent_key(void)
{
	char host[256] = "";
	unsigned long long start = 0;
	int parent;
	char *key = NULL;

	gethostname(host, sizeof(host) - 1);
	read_stat(getppid(), &parent, &start);
	return asprintf(&key, "parent:%s:%d:%llu", host, (int)getppid(), start) < 0 ? NULL : key;
}

static char *join(const char *what, const char *first, const char *second)
{
	char *key = NULL;

	if (asprintf(&key, "%s:%s:%s", what, first, second ? second : "") < 0)
		return NULL;
	return key;
}

/*
 * Only what is equal in all ranks: under mpirun in a Slurm allocation, the ranks of the first node
 * have other SLURM_ variables than those elsewhere.
 */
static char *find_key(void)
{
	const char *space = getenv("PMIX_NAMESPACE");
	const char *pmi = getenv("PMI_JOBID");
	const char *pals = getenv("PALS_APID");
	const char *slurm = getenv("SLURM_JOB_ID");

	if (space)
		/* Open MPI 4 makes the name space of its own PID; the second is random. */
		return join("pmix", space, getenv("OMPI_MCA_orte_precondition_transports"));
	if (pmi)
		return join("pmi", pmi, NULL);
	if (pals)
		return join("pals", pals, NULL);
	char *hydra = getenv("PMI_RANK") ? hydra_key() : NULL;
	if (hydra)
		return hydra;
	if (slurm && getenv("SLURM_STEP_ID"))
		return join("slurm", slurm, getenv("SLURM_STEP_ID"));
	return parent_key();
}

static void make_line(char *s)
{
	for (; *s; s++) {
		if (*s == '\n')
			*s = ' ';
	}
}

int job_detect(struct job *job)
{
	bool found = false;

	*job = (struct job){ 0 };
	for (size_t i = 0; i < NSOURCES && !found; i++)
		found = read_source(&sources[i], job);
	if (!found) {
		*job = (struct job){ .rank = -1 };
		return 0;
	}
	job->key = find_key();
	if (!job->key)
		return -1;
	make_line(job->key);
	return 0;
}

void job_free(struct job *job)
{
	free(job->key);
	*job = (struct job){ .rank = -1 };
}
