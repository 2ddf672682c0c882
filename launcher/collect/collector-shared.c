// SPDX-License-Identifier: GPL-3.0-or-later
/* What the collector's parts use of each other: where things are in the shared memory, waking, a writer's errors. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher/collect/collector-private.h"
#include "launcher/common/message.h"

uint64_t collector_bytes(const struct collector *c, uint32_t n)
{
	return RING_FIRST + c->choices_bytes + n * c->ring_bytes;
}

/* Within a ring, after its sub-buffers. */
uint64_t collector_counts_offset(const struct collector *c)
{
	return RING_PAGE + (uint64_t)c->nsub * c->sub_bytes;
}

uint64_t collector_memory_offset(const struct collector *c)
{
	return collector_counts_offset(c) + ((uint64_t)c->functions * 8 + COLLECTOR_PAGE - 1) / COLLECTOR_PAGE * COLLECTOR_PAGE;
}

uint64_t collector_analysis_offset(const struct collector *c)
{
	return c->inproc ? collector_memory_offset(c) + (uint64_t)COLLECTOR_MEM_SUBS * c->mem_bytes : 0;
}

/* To read a page that nobody has written to would make one. */
uint64_t collector_written(const struct collector *c, const struct feed *f, uint64_t offset, uint64_t bytes)
{
	off_t begin = (off_t)(collector_bytes(c, (uint32_t)(f - c->feeds)) + offset), end = begin + (off_t)bytes, at = begin, last = begin;

	while (at < end) {
		off_t data = lseek(c->fd, at, SEEK_DATA);

		if (data < 0 && errno != ENXIO)
			return bytes;
		if (data < 0 || data >= end)
			break;
		at = last = lseek(c->fd, data, SEEK_HOLE);
		if (at < data)
			return bytes;
	}
	return (uint64_t)((last < end ? last : end) - begin);
}

uint32_t collector_rings(struct collector *c)
{
	uint32_t n = atomic_load_explicit(&c->control->used_rings, memory_order_acquire);

	if (n > c->max_rings)
		n = c->max_rings;
	if (n > c->rings)
		c->rings = n;
	return c->rings;
}

void collector_wake_one(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void collector_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void collector_check(struct collector *c, enum sonde_trace_status status)
{
	if (status != SONDE_TRACE_OK)
		msg_error("%s; the program goes on, its events are discarded",
			  tf_writer_message(c->writer));
}
