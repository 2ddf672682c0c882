/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of names: the variables of the test itself, by its own debug information. */
#ifndef SONDE_TESTS_UNIT_ANALYSIS_SELF_H
#define SONDE_TESTS_UNIT_ANALYSIS_SELF_H

#include <link.h>

#include "analysis/names/names.h"

static int first_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(uint64_t *)arg = info->dlpi_addr;
	return 1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* *state: a struct nm. */
static int setup(void **state)
{
	const struct nm_options options = { .callbacks = &callbacks };
	struct nm_object self = { .path = "/somewhere/self", .file = "/proc/self/exe", .program = true };
	struct nm *nm = nm_new(&options);

	dl_iterate_phdr(first_object, &self.load);
	assert_non_null(nm);
	assert_true(nm_add_object(nm, &self));
	*state = nm;
	return 0;
}

static int teardown(void **state)
{
	nm_free(*state);
	return 0;
}

#endif
