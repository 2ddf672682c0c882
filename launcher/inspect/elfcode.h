/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The executable bytes of an ELF file, by link-time address. Nothing in the file is trusted. */
#ifndef SONDE_LAUNCHER_INSPECT_ELFCODE_H
#define SONDE_LAUNCHER_INSPECT_ELFCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELFCODE_MAX_SEGMENTS 256

struct elfcode_segment {
	uint64_t addr, len;
	const uint8_t *code;
};

struct elfcode {
	uint8_t *bytes; /* the whole file */
	uint64_t len;
	struct elfcode_segment segments[ELFCODE_MAX_SEGMENTS]; /* the executable ones */
	size_t nsegments;
	uint64_t hdr, hdr_offset, hdr_len; /* .eh_frame_hdr: address, place in the file, bytes */
};

/* Returns NULL after a message. */
struct elfcode *elfcode_read(const char *path);
void elfcode_free(struct elfcode *c);

/* The segment that holds addr, or NULL. */
const struct elfcode_segment *elfcode_segment(const struct elfcode *c, uint64_t addr);

/*
 * Starts of functions that the unwind table knows (the binary search table of the Linux Standard
 * Base, ".eh_frame_hdr"), in the file's order, at most `room`. Returns how many there are.
 */
size_t elfcode_unwind_starts(const struct elfcode *c, uint64_t *starts, size_t room);

#endif
