/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is this process a rank of a parallel job? Learnt from what the launchers put into the environment. */
#ifndef SONDE_LAUNCHER_TRACE_JOB_H
#define SONDE_LAUNCHER_TRACE_JOB_H

struct job {
	int rank;	/* -1: no rank */
	int ranks;	/* 0: not known */
	char *key;	/* the same in all ranks of a job and in no other job; NULL: no rank */
};

/* Returns 0, or -1 when there is no memory. */
int job_detect(struct job *job) __attribute__((warn_unused_result));
void job_free(struct job *job);

#endif
