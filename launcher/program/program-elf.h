/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ELF side of program.c: what kind of executable it is. */
#ifndef SONDE_LAUNCHER_PROGRAM_PROGRAM_ELF_H
#define SONDE_LAUNCHER_PROGRAM_PROGRAM_ELF_H

#include "launcher/program/program.h"

/*
 * Fills in interp, needed, is_static and is_pie from a file that begins like an ELF file. Returns 0, or
 * EXIT_CANNOT_RUN after a message. Nothing in the file is trusted.
 */
int program_read_elf(const char *path, struct program *p) __attribute__((warn_unused_result));

#endif
