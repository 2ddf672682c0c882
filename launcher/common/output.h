/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files and folders that are there when they are whole, and not before. */
#ifndef SONDE_LAUNCHER_COMMON_OUTPUT_H
#define SONDE_LAUNCHER_COMMON_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Where the output goes: standard output (@path NULL or "-"), or a file that is named @path when output_close() has been called,
 * of which nothing is left when that is not.  What is no regular file is written at once.
 */
struct output {
	FILE *f;
	const char *path;
	char *temporary; /* NULL: none */
};

/* False after a message. */
bool output_open(struct output *o, const char *path) __attribute__((warn_unused_result));
/* @keep: it is whole.  False after a message. */
bool output_close(struct output *o, bool keep);

/* The same for a folder, which may not be there before: what is written goes into @temporary. */
struct output_folder {
	const char *path;
	char *temporary; /* NULL: not opened */
};

/* False after a message. */
bool output_folder_open(struct output_folder *f, const char *path) __attribute__((warn_unused_result));
/* @keep: it is whole.  False if it was not, or after a message. */
bool output_folder_close(struct output_folder *f, bool keep);

#endif
