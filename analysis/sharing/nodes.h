/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * NUMA nodes, and which threads are on them: this machine's, by sysfs, or those of a YAML file:
 *
 *	nodes:
 *	  - { cpus: 0-15,32-47, threads: 0-3 }
 *	  - { cpus: [16-31, 48-63], threads: [4, 5, 6-7] }
 *
 * Threads are numbered as their streams begin, from 0 on.  One that no node lists is on the processor of that number among those that are listed,
 * modulo how many there are, as if threads were bound in that order; without processors, on the node of that number modulo theirs.
 */
#ifndef SONDE_ANALYSIS_SHARING_NODES_H
#define SONDE_ANALYSIS_SHARING_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SH_NODES 1024
#define SH_NUMBERS (1 << 16) /* processors and threads: numbers below that */

struct sh_nodes {
	uint32_t n;
	uint16_t *cpu;	  /* of each processor's number, ascending: the node + 1; 0: none has it */
	uint16_t *thread; /* likewise of threads */
	uint32_t *cpus;	  /* numbers of those that a node has, ascending */
	size_t ncpus;
};

/* False: @error, of @room bytes, says why. */
bool sh_nodes_read(struct sh_nodes *nodes, const char *text, size_t bytes, char *error, size_t room) __attribute__((warn_unused_result));
/* As sysfs-devices-node in the kernel's documentation says in folder @dir: "/sys/devices/system/node".  One node where it says nothing.  False: no memory. */
bool sh_nodes_here(struct sh_nodes *nodes, const char *dir) __attribute__((warn_unused_result));
void sh_nodes_free(struct sh_nodes *nodes);

/* The node of thread @number. */
uint32_t sh_node(const struct sh_nodes *nodes, uint32_t number);

#endif
