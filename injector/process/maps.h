/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a process has memory mapped, and where there is room; what the kernel has passed to it. */
#ifndef SONDE_INJECTOR_PROCESS_MAPS_H
#define SONDE_INJECTOR_PROCESS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "injector/status.h"

struct inj_map {
	uint64_t start, end;
	bool readable, writable, executable, shared;
	bool grows; /* the stack: leave room below */
	uint64_t offset;
	uint64_t inode;
	char path[512]; /* "" for anonymous memory; cut if longer */
};

struct inj_maps {
	struct inj_map *v; /* ascending */
	size_t n, room;
};

/* Reads /proc/PID/maps.  Errors: GONE, SYSTEM, MEMORY. */
enum inj_status inj_maps_read(pid_t pid, struct inj_maps *maps) INJ_CHECK;
void inj_maps_free(struct inj_maps *maps);
/* [start, start + len) is mapped now, too.  Error: MEMORY. */
enum inj_status inj_maps_add(struct inj_maps *maps, uint64_t start, uint64_t len) INJ_CHECK;
const struct inj_map *inj_maps_find(const struct inj_maps *maps, uint64_t addr);

/*
 * A free range of @len bytes (a multiple of the page size) such that every address in it is
 * within 2 GiB of every address in [lo, hi).  Below is preferred: above an executable its heap grows.
 * 0: there is none.
 */
uint64_t inj_maps_gap(const struct inj_maps *maps, uint64_t lo, uint64_t hi, uint64_t len);

/* A value of the process's auxiliary vector (AT_... of <elf.h>); 0 when it is not there. */
uint64_t inj_auxv(pid_t pid, uint64_t type);

#endif
