/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/trace/job.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/common/proc.h"

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

static const char *argument_after(char *const *args, const char *option)
{
	for (; args && *args; args++)
		if (strcmp(*args, option) == 0)
			return args[1];
	return NULL;
}

/*
 * MPICH's and Intel MPI's hydra puts no job id into the environment. Its proxies, of which each
 * node has one above its ranks, are all told where their mpiexec listens: host and port.
 */
static char *hydra_key(void)
{
	struct proc_stat stat;
	pid_t pid = getppid();
	char *key = NULL;

	for (int i = 0; i < MAX_ANCESTORS && pid > 1 && !key; i++, pid = stat.parent) {
		char **args = proc_arguments(pid);
		const char *port = argument_after(args, "--control-port");

		if (port && asprintf(&key, "hydra:%s", port) < 0)
			key = NULL;
		free(args);
		if (port || !proc_stat(pid, &stat))
			break;
	}
	return key;
}

/* Nothing else is known: ranks that one process has started. */
static char *parent_key(void)
{
	char host[256] = "";
	struct proc_stat stat;
	char *key = NULL;

	gethostname(host, sizeof(host) - 1);
	proc_stat(getppid(), &stat);
	return asprintf(&key, "parent:%s:%d:%" PRIu64, host, (int)getppid(), stat.start) < 0 ? NULL : key;
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
