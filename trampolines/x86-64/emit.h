/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code under construction. Errors stick: emit on, and look at status once at the end. Without a
 * buffer the bytes are only counted.
 */
#ifndef SONDE_TRAMPOLINES_X86_64_EMIT_H
#define SONDE_TRAMPOLINES_X86_64_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trampolines/trampoline.h"

struct out {
	uint8_t *buf;
	size_t room;
	size_t len;
	uint64_t addr;		/* where buf[0] will be */
	enum tramp_status status;
};

/* Whether a displacement of 32 bits leads from `end`, an instruction's end, to `target`. */
static inline bool reaches(uint64_t end, uint64_t target)
{
	int64_t rel = (int64_t)(target - end);

	return rel == (int32_t)rel;
}

void out_bytes(struct out *out, const void *bytes, size_t n);
void out_u8(struct out *out, uint8_t value);
void out_u32(struct out *out, uint32_t value);
void out_u64(struct out *out, uint64_t value);

/* A displacement to `target` in an instruction that has `rest` more bytes behind it. */
void out_rel32(struct out *out, uint64_t target, size_t rest);

/* jmp target */
void out_jmp(struct out *out, uint64_t target);

/* jmp *slot(%rip), with the slot at offset `slot` from the start of the code. */
void out_jmp_slot(struct out *out, size_t slot);

/* int3 up to offset `to`. */
void out_pad(struct out *out, size_t to);

#endif
