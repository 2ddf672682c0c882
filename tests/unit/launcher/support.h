/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the launcher's unit tests share. A failure of the machinery itself ends the program. */
#ifndef SONDE_TESTS_UNIT_LAUNCHER_SUPPORT_H
#define SONDE_TESTS_UNIT_LAUNCHER_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <sys/types.h>

/* Catches what is written to a file descriptor (1 or 2); the text is valid until the next call. */
void capture_begin(int fd);
const char *capture_end(void);

void write_file(const char *path, const void *bytes, size_t len, mode_t mode);
void write_text(const char *path, const char *text);
void *read_whole(const char *path, size_t *len);

/* A fresh folder below the current one; the same static buffer every time. */
const char *fresh_folder(void);

bool is_one_line(const char *text);

/* Runs child() in n processes at once; returns how many ended with status 0. */
int run_children(int n, int (*child)(int index));

/* Numbers that are the same in every run. */
uint64_t next_random(uint64_t *state);

#endif
