// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A sonde that leaves less to the reader of a memory trace: as much as the number at the end of the name that it is run by
 * says (a link to it: sonde-rungs-7), a sum of enum tramp_mem_rungs.
 */
#include "config.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/record/recorded.h"

__attribute__((constructor)) static void choose_rungs(int argc, char **argv)
{
	const char *number = argc > 0 ? strrchr(argv[0], '-') : NULL;
	char *end;

	if (!number)
		errx(2, "run it by a name that ends in -N");
	recorded_rungs = (unsigned int)strtoul(number + 1, &end, 10);
	if (end == number + 1 || *end || recorded_rungs > TRAMP_MEM_ALL)
		errx(2, "%s: no number from 0 to %u at the end", argv[0], TRAMP_MEM_ALL);
}
