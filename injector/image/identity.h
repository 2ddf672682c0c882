/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which ELF file it is, whatever its name: its build-id, and a hash of its code.  Both, since a build-id may be chosen by
 * hand, and a file may have none.  What strip takes away is part of neither.
 */
#ifndef SONDE_INJECTOR_IMAGE_IDENTITY_H
#define SONDE_INJECTOR_IMAGE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "injector/image/elffile.h"

struct inj_identity {
	char build_id[2 * INJ_BUILD_ID_MAX + 1]; /* hexadecimal; "": it has none */
	uint64_t code; /* hash of the executable segments, and of where they are */
};

void inj_identity_of(const struct inj_elf *file, struct inj_identity *id);

bool inj_identity_equal(const struct inj_identity *a, const struct inj_identity *b);

/* Of the file at @path.  Errors: those of inj_elf_open(). */
enum inj_status inj_identity_read(const char *path, struct inj_identity *id) INJ_CHECK;

#endif
