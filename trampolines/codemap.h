/* SPDX-License-Identifier: MIT */
/*
 * Which original instruction an address in an arena stands for: read-only tables that the injector lays
 * beside the code, for the runtime's signal shim.
 *
 * All offsets are relative to the map's `arena` and `object` addresses; pieces are ascending, without
 * holes between first and last.  Addresses are the program's.
 */
#ifndef SONDE_TRAMPOLINES_CODEMAP_H
#define SONDE_TRAMPOLINES_CODEMAP_H

#include <stdint.h>

enum rt_piece_kind {
	RT_PIECE_COPY,	 /* the same bytes, or of equal length: address - start + orig */
	RT_PIECE_INSN,	 /* one instruction of the original in other bytes, or a jump of ours: orig */
	RT_PIECE_PROBE,	 /* `probe` says more; orig is the instruction that follows it */
	RT_PIECE_SLOW,	 /* the way to the runtime and back */
};

#define RT_PIECE_RESUMABLE 0x80u /* execution may go on at the original address (not inside a window) */

struct rt_piece {
	uint32_t start;	 /* offset in the arena */
	uint32_t orig;	 /* offset in the object */
	uint16_t probe;	 /* PROBE: index into probes[], which hold each shape once */
	uint8_t kind;	 /* enum rt_piece_kind | RT_PIECE_RESUMABLE */
	uint8_t pad;
};

#define RT_PROBE_SAVES 6

/* See trampolines/probe.h. */
struct rt_probe_map {
	uint8_t length;	 /* of the probe */
	uint8_t saved;	 /* from this offset on registers differ */
	uint8_t commit;	 /* from this offset on it is done */
	uint8_t shifted, unshifted; /* between them rsp is lowered by `stack` */
	uint8_t stack;	 /* bytes; 0: rsp is left alone */
	uint8_t flags_at; /* RT_FROM_..., where lahf/seto's ax is kept; 0xff: flags are dead */
	uint8_t n;
	struct {
		uint8_t reg;  /* 0..15 */
		uint8_t from; /* 0..7 slot, 16..31 register, 32.. word on the lowered stack */
	} save[RT_PROBE_SAVES];
	uint8_t pad[4];
};
_Static_assert(sizeof(struct rt_probe_map) == 24, "probe map");

/* One arena's code for one object. */
struct rt_codemap {
	uint64_t arena, arena_end;
	uint64_t object;	/* link-time base + load address, what orig counts from */
	uint64_t pieces;	/* struct rt_piece[npieces] */
	uint64_t probes;	/* struct rt_probe_map[] */
	uint32_t npieces;
	uint32_t nprobes;
};

/* A thread in the runtime needs the list while it grows: count is written last. */
#define RT_MAX_CODEMAPS 1024
struct rt_codemaps {
	uint64_t count;
	struct rt_codemap v[RT_MAX_CODEMAPS];
};

#endif
