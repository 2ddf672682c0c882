/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a configuration's entries to one recording: options of `sonde record' for what all of them want together.
 */
#ifndef SONDE_LAUNCHER_CONFIG_PLAN_H
#define SONDE_LAUNCHER_CONFIG_PLAN_H

#include "launcher/config/resolve.h"

struct config_plan {
	char **argv;	/* argv[0] is the verb's, argv[argc] NULL; the strings that are made here are in `made' */
	int argc;
	size_t room;
	struct config_texts made;
};

/*
 * Options for the entries of @rank (-1: no rank) after argv[0], before all others of @argv.  @plain: no other option chooses calls, or
 * says how they are recorded.  0, or an exit status after a message.
 */
int config_plan(struct config_plan *plan, const struct config_files *f, int rank, bool plain, int argc, char **argv)
	__attribute__((warn_unused_result));
void config_plan_free(struct config_plan *plan);

/* ---- a recording ---- */

struct supervisor;

/* `sonde record -c FILE': all zero without. */
struct config_run {
	struct config config;
	struct config_files files;
	struct config_plan plan;
	int rank;
	char *dir;
};

/*
 * If one of the options says so, reads the configuration, and has *argc and *argv be what is planned.  Then @v has the outputs written
 * by the process that waits, when all has been recorded.  Returns 0, or a negative value as opt_parse() does.
 */
int config_begin(struct config_run *run, struct supervisor *v, int *argc, char ***argv)
	__attribute__((warn_unused_result));
void config_end(struct config_run *run);

#endif
