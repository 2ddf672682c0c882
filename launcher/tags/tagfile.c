/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/tags/tagfile.h"
#include "launcher/common/message.h"

/* True: what there is can be used. */
static bool say(const char *path, enum tags_status status, const struct tags *tags)
{
	switch (status) {
	case TAGS_OK:
		break;
	case TAGS_OTHER_VERSION:
		msg_error("%s: its tags are of version %u of the format, this Sonde reads version %u: compile it with this Sonde's sonde-tags.so",
			  path, tags->version, TAGS_VERSION);
		return false;
	case TAGS_DAMAGED:
		msg_warn("%s: its tags are damaged after the first %zu", path, tags->n);
		break;
	case TAGS_MEMORY:
		msg_error("%s: out of memory", path);
		return false;
	}
	return true;
}

enum tagfile_status tagfile_open(const char *path, struct tagfile *t)
{
	const struct inj_elf_section *section;

	if (inj_elf_open(path, &t->elf) != INJ_OK)
		return TAGFILE_NONE;
	section = inj_elf_section(&t->elf, TAGS_SECTION);
	if (!section || section->type != SHT_PROGBITS) {
		inj_elf_close(&t->elf);
		return TAGFILE_NONE;
	}
	if (say(path, tags_read(t->elf.map + section->offset, section->size, &t->tags), &t->tags))
		return TAGFILE_OK;
	tagfile_close(t);
	return TAGFILE_BAD;
}

void tagfile_close(struct tagfile *t)
{
	tags_free(&t->tags);
	inj_elf_close(&t->elf);
}
