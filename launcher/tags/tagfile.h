/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tags of an ELF file (tags/format.h). */
#ifndef SONDE_LAUNCHER_TAGS_TAGFILE_H
#define SONDE_LAUNCHER_TAGS_TAGFILE_H

#include "injector/image/elffile.h"
#include "tags/read.h"

struct tagfile {
	struct inj_elf elf;
	struct tags tags;
};

enum tagfile_status {
	TAGFILE_OK,
	TAGFILE_NONE,		/* no such section, or no such file: nothing was said, and there is nothing to close */
	TAGFILE_BAD,		/* after a message; likewise */
};

/* What is damaged is said, too, with what comes before it in t->tags: that is OK. */
enum tagfile_status tagfile_open(const char *path, struct tagfile *t) __attribute__((warn_unused_result));
void tagfile_close(struct tagfile *t);

#endif
