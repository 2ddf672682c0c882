/* SPDX-License-Identifier: MIT */
/*
 * What the injector tells the runtime before the program runs: the exported variable
 * "sonde_rt_config" of the runtime's image.  All addresses are the program's.
 */
#ifndef SONDE_RUNTIME_CONFIG_H
#define SONDE_RUNTIME_CONFIG_H

#define RT_THUNKS 256	    /* signal handlers that can be led to the runtime */
#define RT_THUNK_BYTES 16
#define RT_CONFIG_PARKED 16 /* offset of rt_config.parked, for assembly */

#ifndef __ASSEMBLER__

#include <stdint.h>

#define RT_CONFIG_MAGIC 0x6749664365646e53ULL

#define RT_FSGSBASE 1u /* the kernel lets user code run rdgsbase and wrgsbase */

#define RT_ANALYZERS 16

struct rt_config {
	uint64_t magic;
	uint64_t flags;
	uint64_t parked;   /* copies keep registers of the program in the pool: thunks of signal handlers block signals at once */
	uint64_t control;  /* struct ring_control, then the first rings */
	uint64_t nrings;   /* rings that are mapped after it */
	uint64_t pools;	   /* first pool; private, anonymous, MADV_WIPEONFORK, zeroed */
	uint64_t npools;
	uint64_t nobody;   /* the GS base that the program starts with: a pool that is nobody's */
	uint64_t pre_tls;  /* what %fs:0 reads before a static program has set up its TLS */
	uint64_t r_debug;  /* the dynamic linker's struct r_debug, or 0 */
	uint64_t real_dl_debug_state; /* replay code of the linker's notification function */
	uint64_t real_exit;   /* replay code of exit(), in static programs with exit hooks */
	uint64_t exit_hooks;  /* addresses of void (*)(void) */
	uint64_t nexit_hooks;
	uint64_t codemaps;    /* struct rt_codemaps of trampolines/mirror/codemap.h, or 0 */
	uint64_t probe_mode;  /* enum rt_probe_mode */
	uint64_t probe_depth; /* FILTER, TIMED: calls that may be open at a time; 0: no bound */
	uint64_t probe_calls; /* FILTER, TIMED: of a function, by a thread, that are recorded; 0: all */
	uint64_t probe_time;  /* TIMED: ticks of the time-stamp counter, below 2^43 */
	uint64_t probe_under; /* not 0: only what functions with RT_ACT_UNDER call is recorded */
	uint64_t mem_slack;   /* bytes of a memory stream's sub-buffer that checks leave free */
	uint64_t nanalyzers;  /* modules that take memory accesses in the program's threads */
	uint64_t analyzers[RT_ANALYZERS]; /* their struct sonde_module */
	uint64_t compiled;    /* struct mt_head of memtrace/shared.h; 0: nothing is compiled for them */
	uint64_t compile_asks; /* struct mt_asks */
	uint64_t frames;      /* struct rt_frames, ascending: of modules that the unwinder does not know */
	uint64_t nframes;
	uint64_t real_find_fde; /* replay code of _Unwind_Find_FDE() */
	uint64_t unwind;      /* struct rt_unwind; 0: nobody asks who has called */
	/* functions of struct rt_guest_agent (runtime/guest/layout.h) */
	uint64_t guest_tcb;   /* of the program's first thread in the guest; 0: there is no guest */
	uint64_t guest_create, guest_begin, guest_finish;
	uint64_t guest_spare; /* the TCB of a thread that is to come */
	uint64_t guest_stack; /* top of a stack, for one thread at a time */
	uint64_t guest_mark;  /* an int32_t, MADV_WIPEONFORK: the process's number as it sees itself */
};

/* Code from @start up to that of the next one. */
struct rt_frames {
	uint64_t start;
	uint64_t fde; /* its entry in an unwind table; 0: it is nothing of ours */
};

/*
 * The unwind tables of files in memory, by which stacks are read.  The injector adds to the list while threads read it: n, and the end of one that is used
 * again, are written last; those that are gone have an end of 0.
 */
#define RT_UNWIND_FILES 1024 /* code of further ones is not known */
#define RT_STACK_UNKNOWN 1   /* in place of a return address: it, and all further ones, are not known */
struct rt_unwind_file {
	uint64_t begin, end;	     /* code */
	uint64_t tables, tables_end; /* memory of the segment that has them; without a header: of .eh_frame */
	uint64_t header, header_end; /* of .eh_frame_hdr; 0: there is none */
};
struct rt_unwind {
	uint64_t serial; /* grows when one is gone */
	uint64_t n;
	struct rt_unwind_file v[RT_UNWIND_FILES];
};

/*
 * What a stub hands to the gate in r11: where to go when the wrapper is to run, and where when it
 * is not (the replay code).
 */
struct rt_stub_desc {
	uint64_t wrapper;
	uint64_t replay;
};

#define RT_POOL_BYTES 4096u

/*
 * Memory that the runtime has mapped by itself, besides rings: the exported variable "sonde_rt_mapped".  An entry is
 * valid when its length is not 0.  What does not fit in here stays mapped when all else is taken out.
 */
#define RT_MAPPED 4096

struct rt_mapped {
	uint64_t n; /* entries that have been given out; may be more than there are */
	struct {
		uint64_t addr, bytes;
	} v[RT_MAPPED];
};

/*
 * Signal handlers: thunk i, of RT_THUNK_BYTES, at "sonde_rt_thunks" + i * RT_THUNK_BYTES stands for
 * handlers[i] of the exported variable "sonde_rt_handlers"; 0: it is free.
 */
struct rt_handlers {
	uint64_t handlers[RT_THUNKS];
	uint64_t restorers[RT_THUNKS]; /* that the kernel was not told of, because it has ours; 0: it was */
};

/*
 * What a stopped thread can be had to run, by whoever has stopped it: "sonde_rt_enter" and "sonde_rt_depart" get in rdi a ucontext
 * as the kernel makes it for a handler (with its signal mask's 8 bytes, and no more), with the thread's registers, change them, and end with the
 * `syscall` instruction at "sonde_rt_departed".  The word below the ucontext is theirs.
 *
 * enter: from the original code to a copy that records memory accesses; the word is 0 if the thread cannot go on there.
 * depart: back to the original.  If the PC is still in an arena then, the thread has to go on there.
 * come, rest: as enter and depart, of a thread whose process's windows were written in, or are to be taken out, where recording goes
 * by bursts: a burst begins, or is over, as well.
 */

/* The exported variable "sonde_rt_windows" of a process: are its windows switched, and where are they? */
enum rt_windows {
	RT_WINDOWS_STAY = 0,
	RT_WINDOWS_OUT,
	RT_WINDOWS_IN,
	RT_WINDOWS_MOVING, /* a thread runs come or rest: nobody else does anything meanwhile, so it must not wait */
};

#endif /* !__ASSEMBLER__ */

#endif /* SONDE_RUNTIME_CONFIG_H */
