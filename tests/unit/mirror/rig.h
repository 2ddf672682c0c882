/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs random functions twice: as they are, single-stepped, which tells what functions were entered and
 * left; and mirrored.  Registers, memory and the recorded events have to be the same.
 */
#ifndef SONDE_TESTS_UNIT_MIRROR_RIG_H
#define SONDE_TESTS_UNIT_MIRROR_RIG_H

#include <stddef.h>

#include "tests/unit/mirror/random.h"

struct mirror_tally {
	size_t functions, refused, events, steps, shorts, retargeted, moved;
};

/* Exits with a message where anything differs. */
void mirror_rig_run(struct random_source *source, struct mirror_tally *tally);

#endif
