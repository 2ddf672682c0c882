// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "tests/unit/mememit/stream.h"

#include <asm/prctl.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trampolines/mirror/codemap.h"
#include "memtrace/description.h"

enum { STREAM = 1 << 26, CHUNKS = 1 << 20, SLACK = 1 << 16, EVENTS = 1 << 16 };

static struct {
	struct stream_pool pool;
	uint8_t *bytes;
	uint64_t base;		/* of the chunk that is being written */
	struct { size_t at, len; } chunks[CHUNKS];
	size_t nchunks, next, owners;
	uint64_t tcb;
	uint64_t fs;
	uint64_t random;
	uint64_t behind;	/* the last chunk, while recording is off */
	bool sampled;
	uint32_t sizes;		/* of chunks, without head: up to so many bytes */
	uint64_t events[EVENTS];
} stream;

void stream_gate(void) __attribute__((visibility("hidden")));

/* The gate leaves vector registers alone. */
#define GENERAL __attribute__((target("general-regs-only")))
GENERAL void stream_slow(const void *ret, uint64_t *regs) __attribute__((visibility("hidden"), used));

/*
 * Saves the registers in the order of their numbers, and puts back what stream_slow() leaves there.
 */
asm(".pushsection .text\n"
    "	.globl	stream_gate\n"
    "	.hidden	stream_gate\n"
    "	.type	stream_gate, @function\n"
    "stream_gate:\n"
    "	pushf\n"
    "	push	%r15\n	push	%r14\n	push	%r13\n	push	%r12\n"
    "	push	%r11\n	push	%r10\n	push	%r9\n	push	%r8\n"
    "	push	%rdi\n	push	%rsi\n	push	%rbp\n	push	%rsp\n"
    "	push	%rbx\n	push	%rdx\n	push	%rcx\n	push	%rax\n"
    "	mov	%rsp, %rbx\n"
    "	mov	136(%rbx), %rdi\n"
    "	mov	%rbx, %rsi\n"
    "	and	$-16, %rsp\n"
    "	cld\n"
    "	call	stream_slow\n"
    "	mov	%rbx, %rsp\n"
    "	pop	%rax\n	pop	%rcx\n	pop	%rdx\n	pop	%rbx\n"
    "	lea	8(%rsp), %rsp\n"
    "	pop	%rbp\n	pop	%rsi\n	pop	%rdi\n"
    "	pop	%r8\n	pop	%r9\n	pop	%r10\n	pop	%r11\n"
    "	pop	%r12\n	pop	%r13\n	pop	%r14\n	pop	%r15\n"
    "	popf\n"
    "	ret\n"
    ".popsection\n");

struct tramp_probe_env stream_probe_env(bool fsbase)
{
	return (struct tramp_probe_env){
		.mode = TRAMP_PROBE_RECORD, .id = fsbase ? TRAMP_ID_FSBASE : TRAMP_ID_FS_ZERO,
		.owner = offsetof(struct stream_pool, probes), .ptr = offsetof(struct stream_pool, events),
		.room = offsetof(struct stream_pool, events_end), .gate = 0x10,
	};
}

struct tramp_mem_env stream_mem_env(bool fsbase, bool stack, unsigned int rungs)
{
	return (struct tramp_mem_env){
		.id = fsbase ? TRAMP_ID_FSBASE : TRAMP_ID_FS_ZERO,
		.owner = offsetof(struct stream_pool, owner), .ptr = offsetof(struct stream_pool, ptr),
		.limit = offsetof(struct stream_pool, limit), .park = offsetof(struct stream_pool, park),
		.slot = { offsetof(struct stream_pool, slot[0]), offsetof(struct stream_pool, slot[1]),
			  offsetof(struct stream_pool, slot[2]) },
		.gate = (uint64_t)(uintptr_t)stream_gate, .slack = SLACK, .stack = stack,
		.rungs = rungs, .off = offsetof(struct stream_pool, off),
		.left = offsetof(struct stream_pool, left),
	};
}

void stream_set_up(void)
{
	asm("mov %%fs:0, %0" : "=r"(stream.tcb));
	stream.bytes = malloc(STREAM);
	if (!stream.bytes)
		err(99, "malloc");
	if (syscall(SYS_arch_prctl, ARCH_SET_GS, &stream.pool) != 0 ||
	    syscall(SYS_arch_prctl, ARCH_GET_FS, &stream.fs) != 0)
		err(99, "arch_prctl");
}

static GENERAL uint32_t random_size(void)
{
	stream.random ^= stream.random << 13;
	stream.random ^= stream.random >> 7;
	stream.random ^= stream.random << 17;
	return (uint32_t)(stream.random >> 32) % stream.sizes;
}

static GENERAL void close_chunk(uint64_t end)
{
	if (stream.nchunks == CHUNKS)
		abort();
	stream.chunks[stream.nchunks].at = stream.base - (uint64_t)stream.bytes;
	stream.chunks[stream.nchunks++].len = end - stream.base;
}

/* Where its words go. */
static GENERAL uint64_t open_chunk(uint64_t base, enum md_chunk_kind kind)
{
	struct md_chunk *head = (struct md_chunk *)base;

	if (base + sizeof(*head) + stream.sizes + SLACK > (uint64_t)stream.bytes + STREAM)
		abort();
	head->kind = kind;
	head->depth = 0;
	head->fs = stream.fs;
	head->tsc = 0;
	head->head = sizeof(*head) +
		     (kind == MD_CHUNK_SIGNAL || kind == MD_CHUNK_STATE ? sizeof(struct md_interrupt) : 0);
	stream.base = base;
	stream.pool.ptr = base + head->head;
	stream.pool.limit = stream.pool.ptr + random_size() + 1;
	return stream.pool.ptr;
}

static GENERAL uint64_t next_place(uint64_t end)
{
	return (end + 7) & ~UINT64_C(7);
}

enum { RSP_AT = 4, FLAGS_AT = 16, RETURN_AT = 17 };	/* in what the gate saves, in words */

static GENERAL void put_interrupt(const struct rt_mem_desc *desc, const uint64_t *regs)
{
	volatile struct md_interrupt *at = (volatile struct md_interrupt *)((struct md_chunk *)stream.base + 1);

	for (int i = 0; i < 16; i++)
		at->regs[i] = regs[i];
	at->regs[RSP_AT] = (uint64_t)(regs + RETURN_AT + 1) + desc->above;
	at->flags = regs[FLAGS_AT];
	at->node = desc->node;
	at->insn = desc->insn;
	at->written = desc->written;
}

/* Recording goes off: @regs are the program's, and the words of the stream end at @end. */
static GENERAL void go_off(const struct rt_mem_desc *desc, const uint64_t *regs, uint64_t end)
{
	close_chunk(end);
	open_chunk(next_place(end), MD_CHUNK_SIGNAL);
	((struct md_chunk *)stream.base)->depth = 1;
	put_interrupt(desc, regs);
	close_chunk(stream.pool.ptr);
	open_chunk(next_place(stream.pool.ptr), MD_CHUNK_END);
	close_chunk(stream.pool.ptr);
	stream.behind = next_place(stream.pool.ptr);
	stream.base = 0;
	stream.pool.limit = 0;
	stream.pool.off = stream.tcb;
}

static GENERAL uint64_t *pointer(const struct rt_mem_desc *desc, uint64_t *regs)
{
	return desc->reg == RT_MEM_NO_REG ? &stream.pool.ptr : &regs[desc->reg & 15];
}

/* `left` is negative: recording may go on, as soon as there is a check; or it is to go off. */
static GENERAL bool is_spent(void)
{
	if (stream.pool.left >= 0)
		return false;
	(void)random_size();
	stream.pool.left = stream.sampled ? (int64_t)(stream.random >> 32 & 511) + 40 : INT64_MAX;
	if (stream.pool.off)
		stream.pool.off = 0;
	else
		return true;
	return false;
}

/* To the plain copy. */
static GENERAL bool leaves(const struct rt_mem_desc *desc, uint64_t *regs)
{
	bool spent = is_spent(), counts = desc->flags & RT_MEM_COUNTS;
	uint64_t *ptr = pointer(desc, regs), was = *ptr;
	bool goes_off = stream.sampled && !stream.pool.off && stream.base &&
			was >= stream.base + sizeof(struct md_chunk) &&
			(counts ? spent : stream.random >> 40 & 1);

	if (!stream.pool.off && !goes_off)
		return false;
	*ptr = desc->flags & RT_MEM_PARKED ? stream.pool.park : 0;
	if (goes_off)
		go_off(desc, regs, was + desc->written);
	regs[RETURN_AT] = (uint64_t)desc + RT_MEM_LEAVE;
	return true;
}

void stream_slow(const void *ret, uint64_t *regs)
{
	const struct rt_mem_desc *desc = (const void *)((const char *)ret + RT_MEM_DESC);
	uint64_t *ptr = pointer(desc, regs);
	const volatile uint8_t *from = (const volatile uint8_t *)*ptr;
	volatile uint8_t *to;

	if (desc->reg == RT_MEM_NO_REG && !(desc->flags & (RT_MEM_COUNTS | RT_MEM_LANDS))) {
		stream.owners++;
		stream.pool.owner = stream.tcb;
		return;
	}
	if (stream.pool.owner != stream.tcb)
		abort();
	if (leaves(desc, regs) || desc->flags & RT_MEM_COUNTS)
		return;
	if (desc->flags & RT_MEM_LANDS) {
		if (stream.base)
			abort();
		open_chunk(stream.behind, MD_CHUNK_STATE);
		put_interrupt(desc, regs);
		return;
	}
	if (!stream.base) {
		if (desc->written)
			abort();
		*ptr = open_chunk(stream.behind, MD_CHUNK_START);
		return;
	}
	/* Where the node was interrupted, its words are in two chunks already. */
	if (*ptr < stream.base + sizeof(struct md_chunk)) {
		uint64_t end = *ptr + desc->written;

		close_chunk(end);
		*ptr = open_chunk((end + 7) & ~UINT64_C(7), MD_CHUNK_MORE) - desc->written;
		return;
	}
	close_chunk(*ptr);
	/* Words before the check come along; they are below what is written next. */
	*ptr = open_chunk((*ptr + desc->written + 7) & ~UINT64_C(7), MD_CHUNK_MORE);
	to = (volatile uint8_t *)*ptr;
	for (unsigned int i = 0; i < desc->written; i++)
		to[i] = from[i];
}

bool stream_is_open(void)
{
	return stream.base && stream.pool.owner == stream.tcb;
}

struct stream_pool *stream_pool(void)
{
	return &stream.pool;
}

const uint64_t *stream_events(size_t *n)
{
	*n = (stream.pool.events - (uint64_t)stream.events) / sizeof(*stream.events);
	return stream.events;
}

void stream_sample(void)
{
	stream.sampled = true;
}

bool stream_was_off(void)
{
	return stream.behind != (uint64_t)stream.bytes;
}

uint64_t stream_interrupt(uint64_t end, const struct md_interrupt *at)
{
	close_chunk(end);
	open_chunk(next_place(end), MD_CHUNK_SIGNAL);
	((struct md_chunk *)stream.base)->depth = 1;
	memcpy((struct md_chunk *)stream.base + 1, at, sizeof(*at));
	close_chunk(stream.pool.ptr);
	open_chunk(next_place(stream.pool.ptr), MD_CHUNK_RESUME);
	((struct md_chunk *)stream.base)->depth = 1;
	return stream.pool.ptr;
}

void stream_start(struct random_source *source)
{
	static const uint32_t sizes[] = { 1, 16, 64, 300, 4096, 1 << 20 };

	stream.pool = (struct stream_pool){
		.owner = random_below(source, 3) ? stream.tcb : 1,
		.probes = stream.tcb, .left = (int64_t)random_below(source, 2000),
		.events = (uint64_t)stream.events, .events_end = (uint64_t)(stream.events + EVENTS - 2),
	};
	stream.sizes = sizes[random_below(source, sizeof(sizes) / sizeof(sizes[0]))];
	stream.random = random_below(source, UINT32_MAX) | 1;
	stream.base = 0;
	stream.behind = (uint64_t)stream.bytes;
	stream.sampled = false;
	stream.nchunks = stream.next = stream.owners = 0;
}

size_t stream_end(void)
{
	uint64_t end = (stream.pool.ptr + 7) & ~UINT64_C(7);

	if (stream.base) {
		close_chunk(stream.pool.ptr);
		open_chunk(end, MD_CHUNK_END);
		close_chunk(stream.pool.ptr);
	}
	return stream.owners;
}

const void *stream_next(size_t *bytes)
{
	if (stream.next == stream.nchunks)
		return NULL;
	*bytes = stream.chunks[stream.next].len;
	return stream.bytes + stream.chunks[stream.next++].at;
}
