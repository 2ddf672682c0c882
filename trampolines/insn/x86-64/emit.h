/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code under construction. Errors stick: emit on, and look at status once at the end. Without a
 * buffer the bytes are only counted.
 */
#ifndef SONDE_TRAMPOLINES_INSN_X86_64_EMIT_H
#define SONDE_TRAMPOLINES_INSN_X86_64_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "trampolines/trampoline.h"

struct tramp_out {
	uint8_t *buf;
	size_t room;
	size_t len;
	uint64_t addr;		/* where buf[0] will be */
	enum tramp_status status;
};

/* Whether a displacement of 32 bits leads from `end`, an instruction's end, to `target`. */
static inline bool tramp_reaches(uint64_t end, uint64_t target)
{
	int64_t rel = (int64_t)(target - end);

	return rel == (int32_t)rel;
}

/* Inline, since most are of a constant size: of all that emits code this is called most. */
static inline void tramp_put_bytes(struct tramp_out *out, const void *bytes, size_t n)
{
	if (n > out->room - out->len) {
		out->status = TRAMP_NO_ROOM;
		return;
	}
	if (out->buf)
		memcpy(out->buf + out->len, bytes, n);
	out->len += n;
}

static inline void tramp_put_u8(struct tramp_out *out, uint8_t value)
{
	tramp_put_bytes(out, &value, sizeof(value));
}

static inline void tramp_put_u32(struct tramp_out *out, uint32_t value)
{
	tramp_put_bytes(out, &value, sizeof(value));
}

static inline void tramp_put_u64(struct tramp_out *out, uint64_t value)
{
	tramp_put_bytes(out, &value, sizeof(value));
}

/* A displacement to `target` in an instruction that has `rest` more bytes after it. */
void tramp_put_rel32(struct tramp_out *out, uint64_t target, size_t rest);

/* jmp target */
void tramp_put_jmp(struct tramp_out *out, uint64_t target);

/* jmp *slot(%rip), with the slot at offset `slot` from the start of the code. */
void tramp_put_jmp_slot(struct tramp_out *out, size_t slot);

/* int3 up to offset `to`. */
void tramp_put_pad(struct tramp_out *out, size_t to);

#endif
