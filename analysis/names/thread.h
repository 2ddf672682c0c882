/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread whose accesses are named: thread.c finds names, keys.c gives those of many accesses by what is known of their instructions. */
#ifndef SONDE_ANALYSIS_NAMES_THREAD_H
#define SONDE_ANALYSIS_NAMES_THREAD_H

#include "analysis/names/names-private.h"

#define NM_RED_ZONE 128

/* Of an instruction: where its last access went, and which others have the same name. */
struct nm_slot {
	uint64_t begin, size; /* of the variable */
	struct nm_extent same;
	const struct nm_name *name;
	uint64_t epoch; /* of heap blocks; 0: the name stays */
	uint32_t site;	/* of the block that was found last, if that was the only one that it can have been; NM_FREED: not so */
	uint64_t turn;	/* it is of another thread's stack, and the same as long as this is the thread's; 0: not so */
	bool once;	/* it is not said of other addresses in the block */
	bool nothing;	/* no object, block or thread has this address */
	uint64_t lo, hi; /* all accesses that begin there have the same name, which is none of a variable; lo == hi: not so */
	const struct nm_insn *about;
	/* of the stack: the name stays while this frame is where it is, and its function at this instruction */
	uint64_t serial; /* 0: it is not of the stack */
	size_t frame;
	const struct nm_insn *at;
	bool throughout; /* all of the frame has this name, for accesses of this kind */
	/* of an instruction's own frame, by a displacement alone: always the same variable, so far below the access */
	bool fixed;
	uint32_t bytes;
	uint64_t below;
};

/* What each access asks for: a line of the processor's cache. */
struct nm_quick {
	uint64_t insn;
	uint64_t lo, span; /* the key is that of accesses to [lo, lo + span) */
	uint64_t stamp;	   /* of `lasts' */
	uint64_t areas;	   /* AREAS: nm_thread.areas then */
	uint32_t key;	   /* 0: none */
	uint32_t next;	   /* index of the instruction that came after it last: a guess */
	uint32_t bytes;	   /* FIXED: of the access */
	uint8_t lasts;	   /* enum nm_lasts */
	bool begins;	   /* it is enough if the access begins there; else all of its bytes have to be there */
	bool shows;	   /* the instruction says something of the stack, or of the time */
	bool implicit;	   /* STACK: it is of accesses with MD_STACK, else of others */
};

enum nm_lasts {
	NM_LASTS,	/* always */
	NM_LASTS_FIXED,	/* always, wherever the access is */
	NM_LASTS_EPOCH,	/* as long as blocks are there: stamp is an epoch */
	NM_LASTS_AREAS,	/* likewise, and as long as no more of the stack has been seen */
	NM_LASTS_TURN,	/* until the next chunk: stamp is nm_thread.turn */
	NM_LASTS_STACK,	/* as EPOCH, and as long as the frame is there and its function at the instruction: see struct nm_slot */
};

struct nm_thread {
	struct nm *nm;
	int pid, tid;
	uint64_t fs, tsc, next;
	uint64_t turn; /* changes with tsc and next */
	uint64_t areas; /* changes with low and high */
	struct nm_cursor blocks;
	struct nm_stack stack;
	uint64_t left; /* CFA of a frame whose return was the last access; 0: none */
	uint64_t between[2]; /* no object is in there */
	uint64_t low, high; /* the part of the stack that has been seen; none: low > high */
	/* by instruction, as they came */
	struct nm_quick *quick;
	struct nm_slot *slot;
	uint32_t n, at;	 /* how many; the one of the last access */
	size_t room_quick, room_slot;
	uint32_t *table; /* of indices + 1, hashed */
	size_t room_table;
};

/* The index of an instruction; UINT32_MAX: no memory. */
uint32_t nm_thread_insn(struct nm_thread *t, uint64_t insn);
/* What an access says of the stack, and of when it was made. */
void nm_thread_note(struct nm_thread *t, const struct mt_access *a, const struct nm_insn *about);
/* nm_find(), when that has been done; @i: of its instruction. */
bool nm_thread_find(struct nm_thread *t, uint32_t i, const struct mt_access *a, struct nm_place *place);
/* Around @addr, of which nothing is known but that it is perhaps of the stack: [*lo, *hi) has no object, block or thread-local storage. */
void nm_thread_gap(const struct nm_thread *t, uint64_t addr, uint64_t *lo, uint64_t *hi);

/* Mostly the one that came after the one before the last time, too. */
static inline __attribute__((always_inline)) uint32_t nm_thread_next(struct nm_thread *t, uint64_t insn)
{
	uint32_t i = t->n ? t->quick[t->at].next : 0;

	if (__builtin_expect(i >= t->n || t->quick[i].insn != insn, 0)) {
		i = nm_thread_insn(t, insn);
		if (i == UINT32_MAX)
			return i;
		t->quick[t->at].next = i;
	}
	t->at = i;
	return i;
}

/* The instruction's index, when what the access says of the stack has been noted.  UINT32_MAX: no memory. */
static inline __attribute__((always_inline)) uint32_t nm_thread_noted(struct nm_thread *t, const struct mt_access *a)
{
	const uint32_t i = nm_thread_next(t, a->insn);

	if (i != UINT32_MAX && (t->left || t->quick[i].shows || (a->kind & MD_STACK)))
		nm_thread_note(t, a, t->slot[i].about);
	return i;
}

#endif
