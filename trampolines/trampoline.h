/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Machine code for wrapped functions: bytes and facts in, bytes and patches out.
 *
 * Nothing here touches a process. The caller reads a function's bytes, asks for a plan of how its
 * entry is patched, asks for the code that belongs into the arena beside it, and does the writing.
 *
 *	original function              arena, within 2 GiB
 *	┌────────────────────┐         ┌────────────────────────────────────────┐
 *	│ endbr64 (if any)   │   ┌────▶│ stub: is the pool this thread's own?   │──▶ wrapper
 *	│ jmp stub           │───┘     │       no: descriptor in r11, jmp gate  │──▶ gate
 *	│ nop (tail of what  │         ├────────────────────────────────────────┤
 *	│ the jump cut)      │         │ replay: the displaced instructions,    │◀── wrapper
 *	│ rest, untouched    │◀────────│         relocated; jmp to the rest     │
 *	└────────────────────┘         └────────────────────────────────────────┘
 *
 * Terms: the *window* is the 5 bytes of the jump. The *displaced* instructions are those that the
 * window touches; where a loop leads back into the window, all up to that loop's end. The *replay*
 * code is their copy, and the wrapper's pointer to the original.
 *
 * No function allocates, keeps state or fails for lack of memory, except the tramp_checker ones.
 * All are safe to call from several threads.
 */
#ifndef SONDE_TRAMPOLINES_TRAMPOLINE_H
#define SONDE_TRAMPOLINES_TRAMPOLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRAMP_MUST_CHECK __attribute__((warn_unused_result))

/* Upper bounds, for arrays of the caller's. */
#define TRAMP_JUMP_SIZE 5	/* the window: one jmp rel32 */
#define TRAMP_PATCH_MAX 19	/* 4 bytes of short instructions, then one of 15 */
#define TRAMP_DISPLACED_MAX 64	/* bytes of displaced instructions */
#define TRAMP_INSNS_MAX 24	/* displaced instructions */
#define TRAMP_REPLAY_MAX 256	/* any tramp_replay_size() */
#define TRAMP_STUB_MAX 128	/* bytes of any stub */
#define TRAMP_STUB_ALIGN 16	/* stubs, jumps and replay code start at multiples of this */
#define TRAMP_JUMP_STUB_MAX 16	/* any tramp_emit_jump() */

enum tramp_status {
	TRAMP_OK = 0,

	/* Refusals of tramp_plan_entry(): the function cannot be patched at its entry. */
	TRAMP_TOO_SHORT,	/* smaller than the window, and no padding after it */
	TRAMP_ENDS_EARLY,	/* a jump or return inside the window, and other code after it */
	TRAMP_BRANCH_TO_START,	/* a branch goes to the first instruction, out of no small loop */
	TRAMP_BRANCH_INTO,	/* the same, to the inside of the displaced bytes */
	TRAMP_ADDRESS_TAKEN,	/* the function refers to an address inside the displaced bytes */
	TRAMP_CALL_RETURNS,	/* a displaced call would return into the window */
	TRAMP_UNDECODABLE,	/* displaced bytes that are no instruction */
	TRAMP_UNMOVABLE,	/* a displaced instruction that does not work elsewhere */
	TRAMP_LENGTH_DIFFERS,	/* the known lengths contradict the decoder */
	TRAMP_TRUNCATED,	/* fewer bytes at hand than the window needs */
	TRAMP_SIGRETURN,	/* where signal handlers return to: unwinders know it by its bytes */

	/* Errors of the tramp_emit_ functions. */
	TRAMP_FAR,		/* a target is not within 2 GiB of the place of the code */
	TRAMP_NO_ROOM,		/* the buffer is too small */

	TRAMP_STATUS_COUNT
};

/* Text for a user, complete after "not instrumented: "; never NULL, static. */
const char *tramp_reason_text(enum tramp_status status);

/* A way to `to`; `from` is any byte of the branch, or 0 where there is none (landing pads). */
struct tramp_branch {
	uint64_t from;
	uint64_t to;
};

/* What is known of a function. Addresses are those in the traced process. */
struct tramp_function {
	uint64_t addr;		/* its first byte; also where code[0] is */
	const uint8_t *code;	/* at least `avail` bytes */
	size_t size;		/* from its symbol; 0 = not known */
	size_t avail;		/* bytes up to the next symbol or the end of the section, >= size */

	/*
	 * Optional, else NULL and 0: lengths of its first instructions as the processor sees them,
	 * endbr64 included, e.g. from single-stepping. The decoder has to agree with them.
	 */
	const uint8_t *lengths;
	size_t nlengths;

	/*
	 * Optional, else NULL and 0: known branches, ascending by `to`, as tramp_code_entries() of
	 * trampolines/flow/flow.h finds them.  A plan sees the branches of its own function alone; those from cold
	 * parts, and from functions that share code with others, need that: glibc's mempcpy enters memmove
	 * after its first instruction.  Those from inside the function do not
	 * matter, and those to its first or first patched byte are tail calls.
	 */
	const struct tramp_branch *branches;
	size_t nbranches;

	/*
	 * It has been planned before, with all that is known, and nothing but its first bytes mattered: only those are looked at.
	 */
	bool scanned;

	bool whole;		/* displace a short function without branches as a whole: faster */
};

/* What an instruction is to control flow. */
enum tramp_op_kind {
	TRAMP_OP_PLAIN,		/* goes on after itself; may be copied byte by byte */
	TRAMP_OP_RIP,		/* the same with a RIP-relative operand */
	TRAMP_OP_JMP,		/* direct */
	TRAMP_OP_JCC,		/* direct, conditional; also xbegin */
	TRAMP_OP_LOOP,		/* loop, loope, loopne, jrcxz, jecxz */
	TRAMP_OP_CALL,		/* direct */
	TRAMP_OP_CALL_IND,	/* through register or memory (which may be RIP-relative) */
	TRAMP_OP_JMP_IND,
	TRAMP_OP_RET,		/* also with a pop count, also iret and the like */
	TRAMP_OP_STOP,		/* ud2, hlt: nothing comes after it */
	TRAMP_OP_SYSCALL,
	TRAMP_OP_TRAP,		/* int3, int1: a signal handler may return after it */
};

/* A direct jump: the function's own, or to another one. */
static inline bool tramp_op_jumps(uint8_t kind)
{
	return kind == TRAMP_OP_JMP || kind == TRAMP_OP_JCC || kind == TRAMP_OP_LOOP;
}

static inline bool tramp_op_calls(uint8_t kind)
{
	return kind == TRAMP_OP_CALL || kind == TRAMP_OP_CALL_IND;
}

/* May control come to the next instruction? */
static inline bool tramp_op_goes_on(uint8_t kind)
{
	return kind != TRAMP_OP_JMP && kind != TRAMP_OP_JMP_IND && kind != TRAMP_OP_RET && kind != TRAMP_OP_STOP;
}

/* Neither jumps nor calls nor ends. */
static inline bool tramp_op_is_straight(uint8_t kind)
{
	return kind == TRAMP_OP_PLAIN || kind == TRAMP_OP_RIP || kind == TRAMP_OP_SYSCALL || kind == TRAMP_OP_TRAP;
}

struct tramp_insn {
	uint8_t offset;		/* from the patch address */
	uint8_t length;		/* 1..15 */
	uint8_t kind;		/* enum tramp_op_kind, up to CALL_IND: all others are PLAIN or RIP here */
	uint8_t aux;		/* private: where the displacement, ModRM or condition is */
	int32_t rel;		/* what it refers to, relative to its end; 0 = nothing */
};

/*
 * How a function's entry is patched. A value: copy it, keep it, forget it.
 *
 * displaced_len < patch_len when padding is patched over; displaced_len > patch_len when the
 * displaced instructions hold a loop that leads back into the window, or are all of the function
 * (tramp_function.whole). A thread that stands on any
 * of them when the patch is written has to be moved, see tramp_pc_to_replay(): left in such a loop,
 * it would branch into the middle of the jump.
 */
struct tramp_plan {
	uint64_t addr;		/* the function's first byte */
	uint64_t patch_addr;	/* the window's first byte: addr, or after an endbr64 */
	uint64_t resume;	/* first byte after the displaced instructions */
	uint8_t patch_len;	/* bytes to overwrite, from patch_addr: 5..TRAMP_PATCH_MAX */
	uint8_t displaced_len;	/* bytes of displaced instructions, see below */
	uint8_t ninsns;		/* 1..TRAMP_INSNS_MAX */
	bool falls_through;	/* replay code ends in a jump to `resume` */
	struct tramp_insn insns[TRAMP_INSNS_MAX];
	uint8_t original[TRAMP_DISPLACED_MAX];	/* undoing writes back the first patch_len */
};

/*
 * Plan the patch of a function's entry. Fills *plan when it returns TRAMP_OK; else returns one of
 * the refusals. Takes about half a microsecond.
 */
enum tramp_status tramp_plan_entry(const struct tramp_function *fn, struct tramp_plan *plan)
	TRAMP_MUST_CHECK;

/*
 * The bytes to write at plan->patch_addr, plan->patch_len of them: a jump to `target`, then
 * nops over what is left of the last instruction it cut, so that a disassembler keeps step.
 * buf: at least TRAMP_PATCH_MAX. Undoing writes plan->original. Error: TRAMP_FAR.
 */
enum tramp_status tramp_emit_patch(const struct tramp_plan *plan, uint64_t target, uint8_t *buf)
	TRAMP_MUST_CHECK;

/* Upper bound of the replay code's size: what to reserve in the arena. */
size_t tramp_replay_size(const struct tramp_plan *plan);

/*
 * Replay code to be placed at `replay_addr` (aligned to TRAMP_STUB_ALIGN). Writes at most `room`
 * bytes, their number to *len. Calls among the displaced instructions push the original return
 * address; no register and no flag is touched. Errors: TRAMP_FAR, TRAMP_NO_ROOM.
 */
enum tramp_status tramp_emit_replay(const struct tramp_plan *plan, uint64_t replay_addr,
				    uint8_t *buf, size_t room, size_t *len) TRAMP_MUST_CHECK;

/*
 * Where a thread that stands at `pc` goes on, for moving threads from displaced instructions to
 * their copies when a patch is written. `pc` is the address of a displaced instruction; 0 is
 * returned for every other address (let the thread take a step and ask again).
 */
uint64_t tramp_pc_to_replay(const struct tramp_plan *plan, uint64_t replay_addr, uint64_t pc);

/* How a thread tells whether a pool is its own. */
enum tramp_thread_id {
	TRAMP_ID_FS_ZERO,	/* the word at %fs:0, where the TCB points to itself */
	TRAMP_ID_FSBASE,	/* the FS base itself, by rdfsbase: needs the processor's FSGSBASE */
};

/*
 * A stub, entered by the patch's jump with the function's arguments in place: compares the thread's
 * identity with %gs:owner_offset; equal: jumps to wrapper; else: r11 = desc and jumps to gate.
 * Before that, if the word at off is not 0: jumps to replay.
 * Clobbers r11 and the flags, which are dead at a function's entry.
 */
struct tramp_stub {
	uint64_t wrapper;
	uint64_t gate;
	uint64_t desc;		/* a value for the gate, usually an address */
	int32_t owner_offset;	/* in the pool */
	enum tramp_thread_id id;
	uint64_t off;		/* address of a word of 8 bytes; 0: there is none */
	uint64_t replay;
	int32_t under;		/* in the pool; as for probes (probe/probe.h); 0: there is none */
};

/*
 * Targets within reach are reached by jmp rel32, others through an 8-byte slot after the code, so
 * nothing is too far. stub_addr: multiple of TRAMP_STUB_ALIGN. Error: TRAMP_NO_ROOM.
 */
enum tramp_status tramp_emit_stub(const struct tramp_stub *stub, uint64_t stub_addr, uint8_t *buf,
				  size_t room, size_t *len) TRAMP_MUST_CHECK;

/* A jump to anywhere that touches no register: rel32 (5 bytes), else through a slot (16 bytes). */
enum tramp_status tramp_emit_jump(uint64_t addr, uint64_t target, uint8_t *buf, size_t room,
				  size_t *len) TRAMP_MUST_CHECK;

/* Length of the instruction at code[0], 1..15; 0 when undecodable or cut off by `avail`. */
size_t tramp_insn_length(const uint8_t *code, size_t avail);

/* Its length if it goes on after itself and does the same anywhere, byte by byte; else 0. */
size_t tramp_insn_plain(const uint8_t *code, size_t avail);

/* What a second, unrelated decoder (libopcodes) says about a plan. */
enum tramp_agreement {
	TRAMP_AGREE,
	TRAMP_DISAGREE,		/* settle it by single-stepping, pass the lengths to a new plan */
	TRAMP_NO_SECOND,	/* built without it: settle by single-stepping */
};

/* A second decoder and what it remembers; for one thread at a time. NULL: no memory. */
struct tramp_checker;
struct tramp_checker *tramp_checker_new(void);
void tramp_checker_free(struct tramp_checker *checker);

/* Length of the instruction at code[0] as the second decoder sees it; 0: undecodable, or none. */
size_t tramp_checker_length(struct tramp_checker *checker, const uint8_t *code, size_t avail);

/* On TRAMP_DISAGREE *offset is that of the instruction, from plan->patch_addr. */
enum tramp_agreement tramp_check_boundaries(struct tramp_checker *checker,
					    const struct tramp_plan *plan, size_t *offset);

#endif
