/* SPDX-License-Identifier: MIT */
/*
 * Which original instruction an address in an arena stands for: read-only tables that the injector lays
 * beside the code, for the runtime's signal shim.
 *
 * All offsets are relative to the map's `arena` and `object` addresses; pieces are ascending, without
 * holes between first and last.  Addresses are the program's.
 */
#ifndef SONDE_TRAMPOLINES_MIRROR_CODEMAP_H
#define SONDE_TRAMPOLINES_MIRROR_CODEMAP_H

#include <stdint.h>

#include "memtrace/description.h"

enum rt_piece_kind {
	RT_PIECE_COPY,	 /* the same bytes, or of equal length: address - start + orig */
	RT_PIECE_INSN,	 /* one instruction of the original in other bytes, or a jump of ours: orig */
	RT_PIECE_PROBE,	 /* `probe` says more; orig is the instruction that follows it */
	RT_PIECE_SLOW,	 /* slow path: calls the runtime and returns */
};

#define RT_PIECE_RESUMABLE 0x80u /* execution may go on at the original address (not inside a window) */

struct rt_piece {
	uint32_t start;	 /* offset in the arena */
	uint32_t orig;	 /* offset in the object */
	uint32_t probe : 24; /* PROBE: index into probes[], which hold each shape once; COPY, INSN: 1 + that of a struct rt_kept, or 0 */
	uint32_t kind : 8; /* enum rt_piece_kind | RT_PIECE_RESUMABLE */
};
_Static_assert(sizeof(struct rt_piece) == 12, "piece");

/*
 * A call that a copy makes, whose return address is the original's, would leave the processor's predictions of returns one off, for
 * all calls that are open.  So it begins with a call that is taken back; a signal that arrives at RT_CALL_TAKEN finds rsp 8 bytes lower.
 *
 *	call 1f
 *	int3
 * 1:	lea  8(%rsp), %rsp	no flag is touched
 */
#define RT_CALL "\xe8\x01\x00\x00\x00\xcc\x48\x8d\x64\x24\x08"
#define RT_CALL_OPCODE 0xe8 /* no other INSN piece begins so */
#define RT_CALL_TAKEN 6
#define RT_CALL_SIZE (sizeof(RT_CALL) - 1)

/* Where a saved register is. */
#define RT_FROM_REG 16u	  /* + number of a register that is dead in the program */
#define RT_FROM_STACK 32u /* + k: the word at rsp + 8 * k, rsp lowered */
#define RT_FROM_RED 64u	  /* + k: the word at rsp - 8 * (k + 1) */
#define RT_FROM_KEPT 128u /* + number of a register: the pool's place for it while it holds a counter of blocks, or is in the way */
#define RT_FROM_NONE 0xffu

/*
 * A value that is recorded beside an event: an argument, or what a function returns.  It is where RT_FROM_REG, RT_FROM_STACK or
 * RT_FROM_RED say, rsp as in the probe; or
 */
#define RT_FROM_VECTOR 0xe0u /* + k: the low half of xmm<k>, 0..7 */
#define RT_FROM_FRAME 0xf0u  /* the word `offset` bytes above the frame address */
#define RT_FROM_CONST 0xf1u  /* `offset` itself */

enum rt_value_kind {
	RT_VALUE_WORD,	 /* the word there, whatever its upper bytes are */
	RT_VALUE_STRING, /* the word points to a string, which ends with a zero byte */
	RT_VALUE_INDIRECT, /* it points to an integer of `bytes`, sign-extended; RT_VALUE_UNREADABLE: it cannot be read */
	RT_VALUE_INDIRECT_UNSIGNED, /* the same, extended with zeros */
	RT_VALUE_INDIRECT_FLOAT, /* a number of 4 or 8 bytes, its bits; NaN: it cannot be read */
};

#define RT_VALUE_UNREADABLE (UINT64_C(1) << 63)
#define RT_VALUE_STRING_MAX 256u /* bytes of a string that are kept */
#define RT_VALUES 12

struct rt_probe_value {
	uint8_t from;
	uint8_t kind;	/* enum rt_value_kind */
	uint8_t bytes;	/* 1, 2, 4, 8 */
	uint8_t reserved;
	int32_t offset;
} __attribute__((packed));

#define RT_PROBE_SAVES 3
#define RT_PROBE_RECORD_BYTES 16 /* what a probe adds to the pool's ptr */

/*
 * A probe's shape: what to do when a signal arrives at offset x of it.  See trampolines/probe/probe.h;
 * members are offsets where nothing else is said.  An offset of `..._done` is that after the instruction
 * that does it, 0: the probe does not do that.
 */
struct rt_probe_map {
	uint16_t length;
	uint16_t saved;	      /* from here on registers differ, and save[] is filled */
	uint16_t flags_saved;  /* from here on flags differ, and flags_at is filled */
	uint16_t commit;	      /* from here on it counts: what is not done yet is to be done */
	uint16_t ptr_done;     /* ptr += RT_PROBE_RECORD_BYTES + 8 * words */
	uint16_t shadow_done;  /* shadow += shadow_step */
	uint16_t count_done;   /* counts[]: the offset into counts is the 4 bytes in front */
	uint16_t shifted;      /* from here on up to the end rsp is lowered by `stack` */
	int8_t shadow_step;   /* bytes */
	uint8_t stack;	      /* bytes; 0: rsp is left alone */
	uint8_t flags_at;     /* RT_FROM_...: ax after lahf and seto %al; RT_FROM_NONE: flags are dead */
	uint8_t ptr_reg;      /* from the commit to ptr_done this register holds what ptr held */
	uint8_t n;	      /* of save[] */
	struct {
		uint8_t reg;  /* 0..15 */
		uint8_t from; /* RT_FROM_... */
	} save[RT_PROBE_SAVES];
	uint8_t count_first;  /* it counts or else records: count_done is where it has counted, and jumps to its end */
	uint8_t how;	      /* BLOCKS: enum rt_count */
	union {
		uint8_t kept;	      /* the register that this is about, where it is about one; BEGIN, ADD: and the number */
		uint8_t words;	      /* not BLOCKS: values in the record */
	};
	int8_t by;
	uint8_t kept_saved;   /* BEGIN, END, LEFT_KEPT: its value is in the pool's place for it meanwhile */
};
_Static_assert(sizeof(struct rt_probe_map) == 32, "probe map");

/* What a counter of blocks does. */
enum rt_count {
	RT_COUNT_ONE,	/* counts[] += 1 */
	RT_COUNT_BEGIN,	/* a counter is in a register: it is set */
	RT_COUNT_ADD,	/* it is added to */
	RT_COUNT_END,	/* counts[] += it */
	RT_COUNT_ENTER,	/* a loop is entered whose trips are counted in memory */
	RT_COUNT_LEFT,	/* a loop is left whose trips are counted in memory, if it was entered */
	RT_COUNT_LEFT_KEPT, /* ... in a register */
};

/* What is in counts[] of a loop whose trips are counted. */
enum rt_trips {
	RT_TRIPS_RUNNING, /* of the entry that has not come to its exit, unless they are in a register */
	RT_TRIPS_MOST,	/* of all entries; 0: it has not been left */
	RT_TRIPS_LEAST,	/* likewise */
	RT_TRIPS_UNKNOWN, /* not 0: it was entered while it was running: the others say nothing */
	RT_TRIPS_WORDS
};

/* Where counters are in registers: which ones, and what they are to be added to.  Among probes[]. */
#define RT_KEPT_MAX 6
#define RT_KEPT_SAVED 0x80u
#define RT_KEPT_TRIPS 0x40u /* in reg[]: `counter` is the first of enum rt_trips */
struct rt_kept {
	uint32_t counter[RT_KEPT_MAX];
	uint8_t reg[RT_KEPT_MAX]; /* with RT_KEPT_SAVED: its value is in the pool's place for it; RT_KEPT_TRIPS */
	uint16_t n;
};
_Static_assert(sizeof(struct rt_kept) == sizeof(struct rt_probe_map), "kept counters");

/*
 * By a jump, see tracefmt/ring.h: EXIT_TO to `target`, EXIT_BY to what the word at `target` says, EXIT_AT to what the
 * word says that is `target` bytes above rsp before the call.
 */
enum rt_probe_kind { RT_PROBE_ENTRY, RT_PROBE_EXIT, RT_PROBE_EXIT_TO, RT_PROBE_EXIT_BY, RT_PROBE_EXIT_AT };
enum rt_probe_mode { RT_PROBE_RECORD, RT_PROBE_COUNT, RT_PROBE_FILTER, RT_PROBE_TIMED,
		     RT_PROBE_CHOSEN, /* recorded or counted, as enum ring_choice says */
		     RT_PROBE_BLOCKS /* counts[] of edges between blocks */ };

/* What a function's calls do besides: sets of RT_ACT(). */
enum rt_act {
	RT_ACT_ON,	/* recording is switched on, for all threads */
	RT_ACT_OFF,
	RT_ACT_SNAPSHOT, /* what a flight recorder keeps is written */
	RT_ACT_UNDER,	/* the thread records while the call lasts, and not otherwise: runtime/under.c */
	RT_ACTS
};
#define RT_ACT(act) (1u << (act))
#define RT_ACT_SWITCHES (RT_ACT(RT_ACT_ON) | RT_ACT(RT_ACT_OFF))
#define RT_ACT_ENTRIES (RT_ACT_SWITCHES | RT_ACT(RT_ACT_SNAPSHOT)) /* those of entries alone */

/*
 * What a slow path tells the runtime's gate, which it calls: after the call's return address, at
 * RT_PROBE_DESC bytes.  Not aligned.
 */
#define RT_PROBE_DESC 26
#define RT_PROBE_SLOW_BELOW 136 /* rsp is so far below where it is in the probe */
struct rt_probe_desc {
	uint32_t event;
	uint32_t function;
	uint8_t kind;	/* enum rt_probe_kind */
	uint8_t mode;	/* enum rt_probe_mode */
	uint8_t acts;
	uint16_t above; /* the frame address is so far above rsp before the call */
	uint64_t target;
	uint8_t nvalues;	/* at most RT_VALUES */
	struct rt_probe_value value[];
} __attribute__((packed));

/*
 * Memory traces: where the stream's pointer is, at each byte of a mirror that records memory.  From `start` up
 * to the next piece's.
 */
#define RT_MEM_NO_REG 0xffu
#define RT_MEM_NO_NODE UINT32_MAX /* from here on there is another function's mirror, which records none */

enum rt_mem_flags {
	RT_MEM_PARKED = 1, /* the program's value of reg is in the pool's park */
	RT_MEM_BACK = 2,   /* in the middle of what is ours: go `back` bytes before the start, and do it again */
	RT_MEM_SLOT0 = 4,  /* slots are in use: BACK has to put these registers back first (slot 0: rax; of PLAIN, `reg`) ... */
	RT_MEM_FLAGS = 8,  /* ... and flags (slot 1: as lahf and seto left them in rax) */
	RT_MEM_MOVED = 16, /* the pointer has been moved over the node's words: `written` is how many bytes are in front */
	RT_MEM_RUN = 32,   /* copies of equal length: insn counts on with the address */
	RT_MEM_SLOT2 = 32, /* with BACK and SLOT0: likewise, slot 2: rdx */
	/*
	 * rsp is lowered by RT_MEM_BELOW; BACK has to put that back, too.  What SLOT0 and FLAGS
	 * stand for is at (rsp) and 8(rsp) then, since the pool may be another thread's.
	 */
	RT_MEM_LOWERED = 64,
	RT_MEM_PLAIN = 128, /* the copy that records nothing, or the branch to either copy: no pointer, no node */
};

#define RT_MEM_BELOW 152

struct rt_mem_piece {
	uint32_t start;	 /* offset in the arena */
	uint32_t node;	 /* its id */
	uint16_t insn;	 /* offset, from the node's start in the original, of the instruction that comes next */
	uint16_t written; /* bytes that stand after the pointer already */
	uint16_t back;	 /* see BACK; without it, not 0: a probe, or elsewhere: who is interrupted from here on does not go on before it */
	uint8_t reg;	 /* holds the pointer; NO_REG, PLAIN: the pool does, and all registers are the program's */
	uint8_t flags;	 /* enum rt_mem_flags */
};
_Static_assert(sizeof(struct rt_mem_piece) == 16, "memory piece");

/* What a check's slow path tells the runtime's memory gate, which it calls; as for probes. */
#define RT_MEM_DESC 26
#define RT_MEM_COUNTS 128 /* it is not about room: what the thread may do until it looks again is done */
#define RT_MEM_LANDS 64 /* nor that: recording goes on here, and the stream does not say so yet */
struct rt_mem_desc {
	uint32_t node;
	uint16_t insn, written;
	uint16_t above;	 /* the program's rsp is so far above rsp before the call */
	uint8_t reg;	 /* to get the pointer (less `written`); NO_REG: only the pool has to be made ready */
	uint8_t flags;	 /* RT_MEM_PARKED; otherwise reg's value is of no use to the program.  RT_MEM_COUNTS, _LANDS */
} __attribute__((packed));

/* Where recording goes off and on: from the descriptor to where to return to instead, for the plain copy. */
#define RT_MEM_LEAVE (sizeof(struct rt_mem_desc) + 5)

/*
 * What is jumped to at the entry of a function that is instrumented at its first call (trampolines/mirror/first.h); offsets.  The
 * runtime's gate is called from there, with this at its return address.
 */
#define RT_FIRST_ASK 6	    /* what its word says as long as it has not been called */
#define RT_FIRST_DESC 17
#define RT_FIRST_REPLAY 40 /* runs the original */
struct rt_first_desc {
	uint32_t index;
	uint64_t word;
	uint8_t pad[3];
	uint64_t undo;	/* struct rt_first_undo[], written before the body is; 0: it has not been written anywhere */
} __attribute__((packed));

/*
 * What is written over in the body.  Who finds nobody that answers may have a body of which a part has been written: the collector
 * died meanwhile, or the process was forked.
 */
struct rt_first_undo {
	uint64_t addr;
	uint8_t len;	 /* 0: the end */
	uint8_t bytes[]; /* len that were there, len that are written */
} __attribute__((packed));

/* One arena's code for one object. */
struct rt_codemap {
	uint64_t arena, arena_end;
	uint64_t object;	/* link-time base + load address, what orig counts from */
	uint64_t pieces;	/* struct rt_piece[npieces] */
	uint64_t probes;	/* struct rt_probe_map[] */
	uint64_t mems;		/* struct rt_mem_piece[nmems], ascending */
	uint32_t npieces;
	uint32_t nprobes;
	uint32_t nmems;
	uint32_t orig_lo, orig_hi; /* least and greatest orig of the pieces */
	uint32_t pad;
};

/* How many bytes of the original piece @i of the map's @pieces stands for. */
static inline uint64_t rt_piece_span(const struct rt_codemap *map, const struct rt_piece *pieces, uint32_t i)
{
	uint64_t end = i + 1 < map->npieces ? pieces[i + 1].start : map->arena_end - map->arena;

	switch (pieces[i].kind & ~RT_PIECE_RESUMABLE) {
	case RT_PIECE_COPY: return end - pieces[i].start;
	case RT_PIECE_INSN:
	case RT_PIECE_PROBE: return 1;
	default: return 0;
	}
}

/* What the machine has to know of code whose memory accesses are analysed in the program. */
struct rt_described {
	struct md_object object;
	uint64_t next;		/* the one before; 0: none */
};

/* A thread in the runtime needs the list while it grows: count is written last. */
#define RT_MAX_CODEMAPS 1024
#define RT_MAX_RESTORERS 8
struct rt_codemaps {
	uint64_t count;
	uint64_t described;	/* struct rt_described, the newest, written last; 0: none */
	uint64_t restorers[RT_MAX_RESTORERS]; /* what signal handlers return to, led to the runtime; 0: none */
	struct rt_codemap v[RT_MAX_CODEMAPS];
};

#endif
