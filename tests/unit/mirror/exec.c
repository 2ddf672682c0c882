// SPDX-License-Identifier: GPL-3.0-or-later
/* Random functions, original against mirrored.  Arguments: the first seed, and how many. */
#include "config.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/mirror/rig.h"

enum { PROGRAMS = 150, EVENTS_MIN = 2000 };

int main(int argc, char **argv)
{
	unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 0) : PROGRAMS;
	struct mirror_tally tally = { 0 };

	for (unsigned long seed = first; seed < first + n; seed++) {
		struct random_source source = { .state = seed * 0x9e3779b97f4a7c15ull | 1 };

		if (getenv("MIRROR_SEEDS"))
			fprintf(stderr, "seed %lu\n", seed);
		mirror_rig_run(&source, &tally);
	}
	printf("%zu functions, %zu refused, %zu short windows, %zu retargeted, %zu calls moved; "
	       "%zu steps, %zu events\n", tally.functions, tally.refused, tally.shorts,
	       tally.retargeted, tally.moved, tally.steps, tally.events);
	return tally.events < EVENTS_MIN || 4 * tally.refused > tally.functions;
}
