/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sonde record -c FILE': before the program, and after it. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/config/outputs.h"
#include "launcher/config/plan.h"
#include "launcher/record/supervise.h"
#include "launcher/trace/job.h"

/* The program's status is ours, whatever comes of this. */
static void write_outputs(void *arg)
{
	struct config_run *run = arg;

	(void)!config_outputs(&run->files, run->dir, run->rank);
}

static void say_notes(const struct config_files *f)
{
	for (size_t i = 0; i < f->config->n; i++)
		for (size_t k = 0; k < f->found[i].notes.n; k++)
			msg_debug("%s: %s", config_about[f->config->v[i].type].name, f->found[i].notes.v[k]);
}

/* 0, or an exit status after a message. */
static int prepare(struct config_run *run, const struct record_peek *peek, int argc, char **argv)
{
	struct job job = { .rank = -1 };
	int status;

	msg_quiet = peek->quiet;
	msg_verbose = peek->verbose;
	run->dir = strdup(peek->dir);
	if (!run->dir || job_detect(&job) < 0)
		return config_no_memory();
	run->rank = job.rank;
	job_free(&job);
	status = config_read(&run->config, peek->config);
	if (!status)
		status = config_resolve(&run->files, &run->config, peek->program[0]);
	if (!status)
		status = config_plan(&run->plan, &run->files, run->rank, peek->plain, argc, argv);
	if (!status)
		status = config_outputs_check(&run->files, run->rank);
	if (!status)
		say_notes(&run->files);
	config_files_close(&run->files);
	/* it is waited for the program's end in little memory */
	malloc_trim(0);
	return status;
}

int config_begin(struct config_run *run, struct supervisor *v, int *argc, char ***argv)
{
	struct record_peek peek;
	int status = record_options_peek(*argc, *argv, &peek);

	*run = (struct config_run){ .rank = -1 };
	/* without a program the options are not good anyway */
	if (status < 0 || !peek.config || !peek.program)
		return status;
	status = prepare(run, &peek, *argc, *argv);
	if (status)
		return -status - 1;
	*argc = run->plan.argc;
	*argv = run->plan.argv;
	v->done = write_outputs;
	v->done_arg = run;
	return 0;
}

void config_end(struct config_run *run)
{
	config_files_free(&run->files);
	config_plan_free(&run->plan);
	config_free(&run->config);
	free(run->dir);
}
