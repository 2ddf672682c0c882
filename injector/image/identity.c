// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "injector/image/identity.h"

/* The file's header is left out where it lies in such a segment: it says where the sections are, which strip moves. */
static uint64_t hash_code(const struct inj_elf *file)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < file->nsegs; i++) {
		const struct inj_elf_segment *s = &file->segs[i];
		uint64_t skip = s->bytes == file->map ? sizeof(Elf64_Ehdr) : 0;

		if ((s->flags & PF_X) && s->len > skip)
			hash = XXH3_64bits_withSeed(s->bytes + skip, s->len - skip, hash ^ s->addr);
	}
	return hash;
}

void inj_identity_of(const struct inj_elf *file, struct inj_identity *id)
{
	memset(id, 0, sizeof(*id));
	for (size_t i = 0; i < file->build_id_len; i++)
		snprintf(id->build_id + 2 * i, 3, "%02x", file->build_id[i]);
	id->code = hash_code(file);
}

bool inj_identity_equal(const struct inj_identity *a, const struct inj_identity *b)
{
	return a->code == b->code && strcmp(a->build_id, b->build_id) == 0;
}

enum inj_status inj_identity_read(const char *path, struct inj_identity *id)
{
	struct inj_elf file;
	enum inj_status status = inj_elf_open(path, &file);

	if (status != INJ_OK)
		return status;
	inj_identity_of(&file, id);
	inj_elf_close(&file);
	return INJ_OK;
}
