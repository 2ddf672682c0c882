/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts for the flow of functions: of a byte string, or of a file as its sections and relocations tell. */
#ifndef SONDE_TESTS_UNIT_FLOW_SUPPORT_H
#define SONDE_TESTS_UNIT_FLOW_SUPPORT_H

#include "tests/unit/wrap/elf.h"
#include "trampolines/flow/flow.h"

struct file_facts {
	struct tramp_facts facts;
	struct elf_code elf;
	struct tramp_bytes *bytes;
	struct tramp_fn *fns;
	const char **names;
	uint64_t *taken;
};

/* Exits with a message where the file cannot be read. */
void file_facts_open(struct file_facts *f, const char *path);
void file_facts_close(struct file_facts *f);

#endif
