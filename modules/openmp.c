// SPDX-License-Identifier: MIT
/*
 * openmp: parallel regions, loops and their chunks, barriers, locks, tasks: what a program compiled by GCC asks of its
 * OpenMP runtime (libgomp; libomp's functions of the same names).  openmp-llvm.h has what Clang's programs ask.
 *
 * What is recorded are constructs, not calls.  The runtime is given functions of this module in place of the program's, with
 * the program's function and data in an argument of ours; so each thread's part of a region is seen, and each task, though
 * nothing tells of either.  The argument of a region is on the stack of who meets it, which waits for the region's end.
 * That of a task is copied by the runtime, with the program's data behind it.
 *
 * Prototypes, and what the runtime does with arguments before it copies them: GCC's libgomp_g.h, task.c, parallel.c.
 * doc/modules.md has constructs and fields.
 */
#include <stdbool.h>
#include <stdalign.h>
#include <sonde/module.h>

SONDE_MODULE("openmp", "OpenMP: regions, loops, chunks, barriers, locks, tasks (GCC; Clang without tasks)");

#define INLINE static inline __attribute__((always_inline))
#define CALLER __builtin_return_address(0)
#define CODE(address) SONDE_PTR("code", address) /* readers say what is there */
#define BARRIERS SONDE_WAIT_FOR("OpenMP barriers")
#define LOCKS SONDE_WAIT_FOR("OpenMP locks")
#define TASKS SONDE_WAIT_FOR("OpenMP tasks")
#define POINT(construct, name, ...)                                                                                    \
	SONDE__RECORD(SONDE_POINT, construct, name, 0, SONDE__AS_IT_WAS, ##__VA_ARGS__)

typedef void body(void *data);
typedef unsigned long long ull;

/* ---- what a thread is in ---- */

struct loop {
	const char *schedule;
	int64_t from, to, step, chunk;
};

enum wait { NO_WAIT, BARRIER, TASKWAIT, TASKGROUP };

/* A part of a region, or a task: on the stack of the thread that runs it. */
struct within {
	struct within *outer;
	uint64_t region;
	enum wait wait; /* that it is in; the runtime may run tasks there */
	const struct loop *loop; /* combined with the region, not begun yet; else NULL */
	uint32_t sections;	 /* likewise; else 0 */
	bool asking;		 /* the runtime, which calls functions that are wrapped: libgomp's loops GOMP_ordered_start() */
	bool has_chunk;		 /* of a loop of Clang's */
	int64_t step;		 /* likewise */
};

INLINE struct within *within(void)
{
	return (struct within *)(uintptr_t)SONDE__GET(SONDE_POOL_OWN);
}

INLINE void be_within(struct within *w)
{
	SONDE__SET(SONDE_POOL_OWN, (uintptr_t)w);
}

INLINE uint64_t next_number(uint64_t *last)
{
	return __atomic_add_fetch(last, 1, __ATOMIC_RELAXED);
}

static uint64_t regions, tasks;

/* ---- waiting, which ends while a task is run ---- */

INLINE void begin_wait(enum wait what, const void *caller, uint32_t resumed)
{
	switch (what) {
	case BARRIER:
		sonde_begin("omp barrier", CODE(caller), SONDE_U32("resumed", resumed), BARRIERS);
		break;
	case TASKWAIT:
		sonde_begin("omp taskwait", CODE(caller), SONDE_U32("resumed", resumed), TASKS);
		break;
	case TASKGROUP:
		sonde_begin("omp taskgroup wait", CODE(caller), SONDE_U32("resumed", resumed), TASKS);
		break;
	case NO_WAIT:
		break;
	}
}

INLINE void end_wait(enum wait what)
{
	switch (what) {
	case BARRIER:
		sonde_end("omp barrier");
		break;
	case TASKWAIT:
		sonde_end("omp taskwait");
		break;
	case TASKGROUP:
		sonde_end("omp taskgroup wait");
		break;
	case NO_WAIT:
		break;
	}
}

#define WAITING(what, call)                                                                                            \
	({                                                                                                             \
		struct within *in_ = within();                                                                         \
		if (in_)                                                                                               \
			in_->wait = what;                                                                              \
		begin_wait(what, CALLER, 0);                                                                           \
		call;                                                                                                  \
		end_wait(what);                                                                                        \
		if (in_)                                                                                               \
			in_->wait = NO_WAIT;                                                                           \
	})

/* What the runtime calls of itself meanwhile is not what the program calls. */
#define ASKING(call)                                                                                                   \
	({                                                                                                             \
		struct within *in_ = within();                                                                         \
		if (in_)                                                                                               \
			in_->asking = true;                                                                            \
		__typeof__(call) got_ = call;                                                                          \
		if (in_)                                                                                               \
			in_->asking = false;                                                                           \
		got_;                                                                                                  \
	})
#define ASKED(call) (void)ASKING((call, 0))

/* ---- regions ---- */

struct region {
	void *first; /* of the program's data: GOMP_parallel_reductions() looks at it */
	body *fn;
	void *data;
	uint64_t number;
	struct loop loop;
	uint32_t sections;
};

INLINE void begin_implicit(const void *code, uint64_t region)
{
	sonde_begin("omp implicit task", CODE(code), SONDE_U64("region", region));
}

INLINE void end_implicit(void)
{
	sonde_end("omp implicit task");
}

/* What each thread of the team runs in place of the outlined function. */
static void implicit_task(void *arg)
{
	const struct region *r = arg;

	if (!sonde_callback()) {
		r->fn(r->data);
		return;
	}
	struct within w = { .outer = within(), .region = r->number, .sections = r->sections };

	if (r->loop.schedule)
		w.loop = &r->loop;
	begin_implicit(r->fn, w.region);
	be_within(&w);
	r->fn(r->data);
	be_within(w.outer);
	end_implicit();
}

INLINE void begin_parallel(const void *code, uint64_t number, uint32_t threads)
{
	sonde_begin("omp parallel", CODE(code), SONDE_U64("region", number), SONDE_U32("asked", threads));
}

INLINE void begin_region(struct region *r, unsigned int threads)
{
	r->number = next_number(&regions);
	begin_parallel(r->fn, r->number, threads);
}

INLINE void end_region(void)
{
	sonde_end("omp parallel");
}

SONDE_WRAP_IF_PRESENT(void, GOMP_parallel, (body *fn, void *data, unsigned int threads, unsigned int flags))
{
	struct region r = { .fn = fn, .data = data };

	begin_region(&r, threads);
	SONDE_REAL_POINTER(GOMP_parallel)(implicit_task, &r, threads, flags);
	end_region();
}

SONDE_WRAP_IF_PRESENT(unsigned int, GOMP_parallel_reductions,
		      (body *fn, void *data, unsigned int threads, unsigned int flags))
{
	struct region r = { .first = *(void **)data, .fn = fn, .data = data };

	begin_region(&r, threads);
	unsigned int n = SONDE_REAL_POINTER(GOMP_parallel_reductions)(implicit_task, &r, threads, flags);
	end_region();
	return n;
}

#define PARALLEL_LOOP(name, schedule)                                                                                  \
	SONDE_WRAP_IF_PRESENT(void, name, (body *fn, void *data, unsigned int threads, long from, long to, long step,  \
					   long chunk, unsigned int flags))                                            \
	{                                                                                                              \
		struct region r = { .fn = fn, .data = data, .loop = { schedule, from, to, step, chunk } };             \
                                                                                                                       \
		begin_region(&r, threads);                                                                             \
		SONDE_REAL_POINTER(name)(implicit_task, &r, threads, from, to, step, chunk, flags);                    \
		end_region();                                                                                          \
	}
#define PARALLEL_LOOP_RUNTIME(name)                                                                                    \
	SONDE_WRAP_IF_PRESENT(void, name, (body *fn, void *data, unsigned int threads, long from, long to, long step,  \
					   unsigned int flags))                                                        \
	{                                                                                                              \
		struct region r = { .fn = fn, .data = data, .loop = { "runtime", from, to, step, 0 } };                \
                                                                                                                       \
		begin_region(&r, threads);                                                                             \
		SONDE_REAL_POINTER(name)(implicit_task, &r, threads, from, to, step, flags);                           \
		end_region();                                                                                          \
	}
PARALLEL_LOOP(GOMP_parallel_loop_static, "static")
PARALLEL_LOOP(GOMP_parallel_loop_dynamic, "dynamic")
PARALLEL_LOOP(GOMP_parallel_loop_guided, "guided")
PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic, "dynamic")
PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_guided, "guided")
PARALLEL_LOOP_RUNTIME(GOMP_parallel_loop_runtime)
PARALLEL_LOOP_RUNTIME(GOMP_parallel_loop_nonmonotonic_runtime)
PARALLEL_LOOP_RUNTIME(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

SONDE_WRAP_IF_PRESENT(void, GOMP_parallel_sections,
		      (body *fn, void *data, unsigned int threads, unsigned int count, unsigned int flags))
{
	struct region r = { .fn = fn, .data = data, .sections = count };

	begin_region(&r, threads);
	SONDE_REAL_POINTER(GOMP_parallel_sections)(implicit_task, &r, threads, count, flags);
	end_region();
}

/* ---- loops ---- */

/* enum gomp_schedule_type */
static const char *schedule_name(long schedule)
{
	static const char names[][8] = { "runtime", "static", "dynamic", "guided", "auto" };
	unsigned long i = (unsigned long)schedule & 0x7fffffff;

	return i < sizeof(names) / sizeof(names[0]) ? names[i] : "other";
}

/* @words: arguments of the call that are on the stack. */
INLINE void begin_loop(const struct loop *l, const void *code, const unsigned int words)
{
	SONDE__BEGIN("omp loop", words, CODE(code), SONDE_STR("schedule", l->schedule), SONDE_I64("from", l->from),
		     SONDE_I64("to", l->to), SONDE_I64("step", l->step), SONDE_I64("chunk", l->chunk));
}

/* Iterations that are this thread's: first, and the one after the last.  Until it asks for more, or the loop ends. */
INLINE void begin_chunk(int64_t first, int64_t end, const unsigned int words)
{
	SONDE__BEGIN("omp chunk", words, SONDE_I64("first", first), SONDE_I64("end", end));
}

INLINE void end_chunk(void)
{
	sonde_end("omp chunk");
}

INLINE void before_next(const void *caller)
{
	struct within *w = within();

	if (w && w->loop) {
		begin_loop(w->loop, caller, 0);
		w->loop = NULL;
	} else {
		end_chunk();
	}
}

/* Type of iterations, name, schedule, parameters, arguments, of these how many on the stack, the loop's bounds. */
#define START(type, name, schedule, params, args, words, from, to, step, chunk)                                        \
	SONDE_WRAP_IF_PRESENT(bool, name, params)                                                                      \
	{                                                                                                              \
		struct loop l = { schedule, (int64_t)(from), (int64_t)(to), (int64_t)(step), (int64_t)(chunk) };       \
                                                                                                                       \
		begin_loop(&l, CALLER, words);                                                                         \
		bool some = ASKING(SONDE_REAL_POINTER(name) args);                                                     \
		if (some && first)                                                                                     \
			begin_chunk((int64_t)*first, (int64_t)*end, words);                                            \
		return some;                                                                                           \
	}
#define NEXT(type, name)                                                                                               \
	SONDE_WRAP_IF_PRESENT(bool, name, (type *first, type *end))                                                    \
	{                                                                                                              \
		before_next(CALLER);                                                                                   \
		bool some = ASKING(SONDE_REAL_POINTER(name)(first, end));                                              \
		if (some)                                                                                              \
			begin_chunk((int64_t)*first, (int64_t)*end, 0);                                                \
		return some;                                                                                           \
	}

#define LOOP(kind, schedule)                                                                                           \
	START(long, GOMP_loop_##kind##_start, schedule,                                                                \
	      (long from, long to, long step, long chunk, long *first, long *end), (from, to, step, chunk, first, end),\
	      0, from, to, step, chunk)                                                                                \
	NEXT(long, GOMP_loop_##kind##_next)                                                                            \
	START(ull, GOMP_loop_ull_##kind##_start, schedule,                                                             \
	      (bool up, ull from, ull to, ull step, ull chunk, ull *first, ull *end),                                  \
	      (up, from, to, step, chunk, first, end), 1, from, to, step, chunk)                                       \
	NEXT(ull, GOMP_loop_ull_##kind##_next)
#define LOOP_RUNTIME(kind)                                                                                             \
	START(long, GOMP_loop_##kind##_start, "runtime", (long from, long to, long step, long *first, long *end),      \
	      (from, to, step, first, end), 0, from, to, step, 0)                                                      \
	NEXT(long, GOMP_loop_##kind##_next)                                                                            \
	START(ull, GOMP_loop_ull_##kind##_start, "runtime",                                                            \
	      (bool up, ull from, ull to, ull step, ull *first, ull *end), (up, from, to, step, first, end), 0, from,  \
	      to, step, 0)                                                                                             \
	NEXT(ull, GOMP_loop_ull_##kind##_next)
LOOP(static, "static")
LOOP(dynamic, "dynamic")
LOOP(guided, "guided")
LOOP(nonmonotonic_dynamic, "dynamic")
LOOP(nonmonotonic_guided, "guided")
LOOP(ordered_static, "static")
LOOP(ordered_dynamic, "dynamic")
LOOP(ordered_guided, "guided")
LOOP_RUNTIME(runtime)
LOOP_RUNTIME(nonmonotonic_runtime)
LOOP_RUNTIME(maybe_nonmonotonic_runtime)
LOOP_RUNTIME(ordered_runtime)

/* With reductions of tasks: the schedule is an argument. */
#define LOOP_ANY(name, ull_name)                                                                                       \
	START(long, name, schedule_name(schedule),                                                                     \
	      (long from, long to, long step, long schedule, long chunk, long *first, long *end, uintptr_t *reductions,\
	       void **memory),                                                                                         \
	      (from, to, step, schedule, chunk, first, end, reductions, memory), 3, from, to, step, chunk)             \
	START(ull, ull_name, schedule_name(schedule),                                                                  \
	      (bool up, ull from, ull to, ull step, long schedule, ull chunk, ull *first, ull *end,                    \
	       uintptr_t *reductions, void **memory),                                                                  \
	      (up, from, to, step, schedule, chunk, first, end, reductions, memory), 4, from, to, step, chunk)
LOOP_ANY(GOMP_loop_start, GOMP_loop_ull_start)
LOOP_ANY(GOMP_loop_ordered_start, GOMP_loop_ull_ordered_start)

/* Several loops as one: how often each is run through, of which the outermost's iterations are handed out. */
#define DOACROSS(type, prefix)                                                                                         \
	DOACROSS_KIND(type, prefix##_static_start, "static")                                                           \
	DOACROSS_KIND(type, prefix##_dynamic_start, "dynamic")                                                         \
	DOACROSS_KIND(type, prefix##_guided_start, "guided")                                                           \
	START(type, prefix##_runtime_start, "runtime", (unsigned int n, type *counts, type *first, type *end),         \
	      (n, counts, first, end), 0, 0, counts[0], 1, 0)                                                          \
	START(type, prefix##_start, schedule_name(schedule),                                                           \
	      (unsigned int n, type *counts, long schedule, type chunk, type *first, type *end, uintptr_t *reductions, \
	       void **memory),                                                                                         \
	      (n, counts, schedule, chunk, first, end, reductions, memory), 2, 0, counts[0], 1, chunk)
#define DOACROSS_KIND(type, name, schedule)                                                                            \
	START(type, name, schedule, (unsigned int n, type *counts, type chunk, type *first, type *end),                \
	      (n, counts, chunk, first, end), 0, 0, counts[0], 1, chunk)
DOACROSS(long, GOMP_loop_doacross)
DOACROSS(ull, GOMP_loop_ull_doacross)

INLINE void end_loop(void)
{
	sonde_end("omp loop");
}

SONDE_WRAP_IF_PRESENT(void, GOMP_loop_end_nowait, (void))
{
	end_loop();
	SONDE_REAL_POINTER(GOMP_loop_end_nowait)();
}

SONDE_WRAP_IF_PRESENT(void, GOMP_loop_end, (void))
{
	end_loop();
	WAITING(BARRIER, SONDE_REAL_POINTER(GOMP_loop_end)());
}

SONDE_WRAP_IF_PRESENT(bool, GOMP_loop_end_cancel, (void))
{
	bool cancelled;

	end_loop();
	WAITING(BARRIER, cancelled = SONDE_REAL_POINTER(GOMP_loop_end_cancel)());
	return cancelled;
}

/* ---- sections ---- */

INLINE void begin_sections(uint32_t count, const void *code)
{
	sonde_begin("omp sections", CODE(code), SONDE_U32("count", count));
}

INLINE void begin_section(uint32_t number)
{
	if (number)
		sonde_begin("omp section", SONDE_U32("number", number));
}

INLINE void end_section(void)
{
	sonde_end("omp section");
}

SONDE_WRAP_IF_PRESENT(unsigned int, GOMP_sections_start, (unsigned int count))
{
	begin_sections(count, CALLER);
	unsigned int number = ASKING(SONDE_REAL_POINTER(GOMP_sections_start)(count));
	begin_section(number);
	return number;
}

SONDE_WRAP_IF_PRESENT(unsigned int, GOMP_sections2_start, (unsigned int count, uintptr_t *reductions, void **memory))
{
	begin_sections(count, CALLER);
	unsigned int number = ASKING(SONDE_REAL_POINTER(GOMP_sections2_start)(count, reductions, memory));
	begin_section(number);
	return number;
}

SONDE_WRAP_IF_PRESENT(unsigned int, GOMP_sections_next, (void))
{
	struct within *w = within();

	if (w && w->sections) {
		begin_sections(w->sections, CALLER);
		w->sections = 0;
	} else {
		end_section();
	}
	unsigned int number = ASKING(SONDE_REAL_POINTER(GOMP_sections_next)());
	begin_section(number);
	return number;
}

INLINE void end_sections(void)
{
	sonde_end("omp sections");
}

SONDE_WRAP_IF_PRESENT(void, GOMP_sections_end_nowait, (void))
{
	end_sections();
	SONDE_REAL_POINTER(GOMP_sections_end_nowait)();
}

SONDE_WRAP_IF_PRESENT(void, GOMP_sections_end, (void))
{
	end_sections();
	WAITING(BARRIER, SONDE_REAL_POINTER(GOMP_sections_end)());
}

SONDE_WRAP_IF_PRESENT(bool, GOMP_sections_end_cancel, (void))
{
	bool cancelled;

	end_sections();
	WAITING(BARRIER, cancelled = SONDE_REAL_POINTER(GOMP_sections_end_cancel)());
	return cancelled;
}

/* ---- single, scope, barriers, cancellation ---- */

/* Nothing says where a single region ends. */
INLINE void executes_single(const void *caller)
{
	POINT("omp single", "executed", CODE(caller));
}

SONDE_WRAP_IF_PRESENT(bool, GOMP_single_start, (void))
{
	bool mine = SONDE_REAL_POINTER(GOMP_single_start)();

	if (mine)
		executes_single(CALLER);
	return mine;
}

/* The others wait for what is to be copied. */
SONDE_WRAP_IF_PRESENT(void *, GOMP_single_copy_start, (void))
{
	void *copy;

	WAITING(BARRIER, copy = SONDE_REAL_POINTER(GOMP_single_copy_start)());
	if (!copy)
		executes_single(CALLER);
	return copy;
}

SONDE_WRAP_IF_PRESENT(void, GOMP_single_copy_end, (void *data))
{
	WAITING(BARRIER, SONDE_REAL_POINTER(GOMP_single_copy_end)(data));
}

SONDE_WRAP_IF_PRESENT(void, GOMP_scope_start, (uintptr_t *reductions))
{
	POINT("omp scope", "begun", CODE(CALLER));
	SONDE_REAL_POINTER(GOMP_scope_start)(reductions);
}

SONDE_WRAP_IF_PRESENT(void, GOMP_barrier, (void))
{
	WAITING(BARRIER, SONDE_REAL_POINTER(GOMP_barrier)());
}

SONDE_WRAP_IF_PRESENT(bool, GOMP_barrier_cancel, (void))
{
	bool cancelled;

	WAITING(BARRIER, cancelled = SONDE_REAL_POINTER(GOMP_barrier_cancel)());
	return cancelled;
}

/* Reductions of tasks end with a barrier of their own. */
SONDE_WRAP_IF_PRESENT(void, GOMP_workshare_task_reduction_unregister, (bool cancelled))
{
	WAITING(BARRIER, SONDE_REAL_POINTER(GOMP_workshare_task_reduction_unregister)(cancelled));
}

#define CANCEL_LOOP 2 /* others: 1 parallel, 8 taskgroup */
#define CANCEL_SECTIONS 4

/* The thread goes to the construct's end, without asking for more. */
INLINE void leave_part(int which)
{
	if (which == CANCEL_LOOP)
		end_chunk();
	else if (which == CANCEL_SECTIONS)
		end_section();
}

SONDE_WRAP_IF_PRESENT(bool, GOMP_cancel, (int which, bool cancels))
{
	bool cancelled = SONDE_REAL_POINTER(GOMP_cancel)(which, cancels);

	POINT("omp cancel", "asked", CODE(CALLER), SONDE_I32("which", which), SONDE_U32("cancelled", cancelled));
	if (cancelled)
		leave_part(which);
	return cancelled;
}

SONDE_WRAP_IF_PRESENT(bool, GOMP_cancellation_point, (int which))
{
	bool cancelled = SONDE_REAL_POINTER(GOMP_cancellation_point)(which);

	if (cancelled) {
		POINT("omp cancel", "followed", CODE(CALLER), SONDE_I32("which", which));
		leave_part(which);
	}
	return cancelled;
}

/* ---- critical, atomic, ordered ---- */

#define EXCLUSIVE(construct, start, end, params, args, lock)                                                           \
	SONDE_WRAP_IF_PRESENT(void, start, params)                                                                     \
	{                                                                                                              \
		begin_##construct##_wait(lock);                                                                        \
		ASKED(SONDE_REAL_POINTER(start) args);                                                                 \
		begin_##construct(lock, CALLER);                                                                       \
	}                                                                                                              \
	SONDE_WRAP_IF_PRESENT(void, end, params)                                                                       \
	{                                                                                                              \
		end_##construct();                                                                                     \
		ASKED(SONDE_REAL_POINTER(end) args);                                                                   \
	}
#define EXCLUSIVE_CONSTRUCT(construct)                                                                                 \
	INLINE void begin_##construct##_wait(const void *lock)                                                         \
	{                                                                                                              \
		sonde_begin("omp " #construct " wait", SONDE_PTR("lock", lock), LOCKS);                                \
	}                                                                                                              \
	INLINE void end_##construct##_wait(void)                                                                       \
	{                                                                                                              \
		sonde_end("omp " #construct " wait");                                                                  \
	}                                                                                                              \
	INLINE void begin_##construct(const void *lock, const void *caller)                                            \
	{                                                                                                              \
		end_##construct##_wait();                                                                              \
		sonde_begin("omp " #construct, SONDE_PTR("lock", lock), CODE(caller));                                 \
	}                                                                                                              \
	INLINE void end_##construct(void)                                                                              \
	{                                                                                                              \
		sonde_end("omp " #construct);                                                                          \
	}
EXCLUSIVE_CONSTRUCT(critical)
EXCLUSIVE_CONSTRUCT(atomic)
EXCLUSIVE_CONSTRUCT(ordered)
EXCLUSIVE(critical, GOMP_critical_start, GOMP_critical_end, (void), (), NULL)
EXCLUSIVE(critical, GOMP_critical_name_start, GOMP_critical_name_end, (void **lock), (lock), lock)
EXCLUSIVE(atomic, GOMP_atomic_start, GOMP_atomic_end, (void), (), NULL)

SONDE_WRAP_IF_PRESENT(void, GOMP_ordered_start, (void))
{
	const struct within *w = within();

	if (w && w->asking) {
		SONDE_REAL_POINTER(GOMP_ordered_start)();
		return;
	}
	begin_ordered_wait(NULL);
	ASKED(SONDE_REAL_POINTER(GOMP_ordered_start)());
	begin_ordered(NULL, CALLER);
}

SONDE_WRAP_IF_PRESENT(void, GOMP_ordered_end, (void))
{
	end_ordered();
	ASKED(SONDE_REAL_POINTER(GOMP_ordered_end)());
}

/*
 * How many there are is known to the runtime alone.  30 are given on, more than any loop has; what the caller has not
 * given is read from its stack and looked at by nobody.
 */
#define DOACROSS_WAIT(name, type)                                                                                      \
	SONDE_WRAP_IF_PRESENT(void, name, (type a, type b, type c, type d, type e, type f, struct on_stack rest))      \
	{                                                                                                              \
		begin_ordered_wait(NULL);                                                                              \
		SONDE_REAL_POINTER(name)(a, b, c, d, e, f, rest);                                                      \
		end_ordered_wait();                                                                                    \
	}
#define DOACROSS_POST(name, type)                                                                                      \
	SONDE_WRAP_IF_PRESENT(void, name, (type *counts))                                                              \
	{                                                                                                              \
		POINT("omp ordered", "posted", SONDE_I64("iteration", counts[0]));                                     \
		SONDE_REAL_POINTER(name)(counts);                                                                      \
	}
/* A structure of that size is passed on the stack, as these arguments are. */
struct on_stack {
	uint64_t words[24];
};
DOACROSS_WAIT(GOMP_doacross_wait, long)
DOACROSS_WAIT(GOMP_doacross_ull_wait, ull)
DOACROSS_POST(GOMP_doacross_post, long)
DOACROSS_POST(GOMP_doacross_ull_post, ull)

/* ---- locks: Fortran's functions call these ---- */

INLINE void begin_lock(const void *lock, const void *caller)
{
	sonde_begin("omp lock wait", SONDE_PTR("lock", lock), CODE(caller), LOCKS);
}

INLINE void end_lock(void)
{
	sonde_end("omp lock wait");
}

INLINE void unlock(const void *lock)
{
	POINT("omp lock", "unset", SONDE_PTR("lock", lock));
}

INLINE void test_lock(const void *lock, int held)
{
	POINT("omp lock", "tested", SONDE_PTR("lock", lock), SONDE_I32("held", held));
}

#define LOCK(kind)                                                                                                     \
	SONDE_WRAP_IF_PRESENT(void, omp_set_##kind, (void *lock))                                                      \
	{                                                                                                              \
		begin_lock(lock, CALLER);                                                                              \
		SONDE_REAL_POINTER(omp_set_##kind)(lock);                                                              \
		end_lock();                                                                                            \
	}                                                                                                              \
	SONDE_WRAP_IF_PRESENT(void, omp_unset_##kind, (void *lock))                                                    \
	{                                                                                                              \
		unlock(lock);                                                                                          \
		SONDE_REAL_POINTER(omp_unset_##kind)(lock);                                                            \
	}                                                                                                              \
	SONDE_WRAP_IF_PRESENT(int, omp_test_##kind, (void *lock))                                                      \
	{                                                                                                              \
		int held = SONDE_REAL_POINTER(omp_test_##kind)(lock);                                                  \
                                                                                                                       \
		test_lock(lock, held);                                                                                 \
		return held;                                                                                           \
	}
LOCK(lock)
LOCK(nest_lock)

/* ---- tasks ---- */

#define TASK_REDUCTION 4096u /* enum in gomp-constants.h: GOMP_TASK_FLAG_... */
#define TASK_DETACH 8192u

/*
 * What the runtime has for the program's data.  Its first words are those that it writes or reads there: the event of a task
 * that can be detached; the bounds of a task that is part of a loop, and that loop's reductions.
 */
struct task {
	uint64_t words[3];
	const struct task *first; /* the wrapper's: another one is a copy */
	body *fn;
	void *data;
	void (*copy)(void *to, void *from);
	uint64_t size;
	uint64_t offset; /* in a copy, of the program's data */
	uint64_t number, region;
	uint32_t flags;
	bool loop;
};

/* Not memcpy(): that belongs to the program. */
static void copy_bytes(void *to, const void *from, uint64_t n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

INLINE bool is_copy(const struct task *t)
{
	return t->first != t;
}

/* libomp makes copies of copies for the tasks of a loop, whose bounds are there already. */
static void copy_task(void *to, void *from)
{
	struct task *t = from;
	struct task *copy = to;
	char *data = (char *)to + t->offset;
	void *program = is_copy(t) ? (char *)from + t->offset : t->data;
	const uint64_t from_word = copy->words[0], to_word = copy->words[1];

	if (!is_copy(t) && t->flags & TASK_DETACH && t->data)
		*(uint64_t *)t->data = t->words[0];
	copy_bytes(copy, t, sizeof(*t));
	if (is_copy(t) && t->loop) {
		copy->words[0] = from_word;
		copy->words[1] = to_word;
	}
	if (t->copy)
		t->copy(data, program);
	else
		copy_bytes(data, program, t->size);
}

/* A runtime may run a task that cannot wait without a copy. */
static void *task_data(struct task *t)
{
	uint64_t *data = is_copy(t) ? (void *)((char *)t + t->offset) : t->data;

	if (t->loop) {
		data[0] = t->words[0];
		data[1] = t->words[1];
	} else if (!is_copy(t) && t->flags & TASK_DETACH && data) {
		data[0] = t->words[0];
	}
	return data;
}

static void run_task(void *arg)
{
	struct task *t = arg;
	void *data = task_data(t);

	if (!sonde_callback()) {
		t->fn(data);
		return;
	}
	struct within w = { .outer = within(), .region = t->region };
	enum wait wait = w.outer ? w.outer->wait : NO_WAIT;

	end_wait(wait);
	sonde_begin("omp task", CODE(t->fn), SONDE_U64("task", t->number), SONDE_U64("region", w.region));
	be_within(&w);
	t->fn(data);
	be_within(w.outer);
	sonde_end("omp task");
	begin_wait(wait, NULL, 1);
}

/* Those of a region that was not seen are left alone: they may outlive what is recorded. */
INLINE const struct within *recorded_region(body *fn)
{
	return fn ? within() : NULL;
}

#define TASK_ALIGN(align) ((uint64_t)((align) < (long)alignof(struct task) ? (long)alignof(struct task) : (align)))
#define TASK_OFFSET(align) ((sizeof(struct task) + TASK_ALIGN(align) - 1) & -TASK_ALIGN(align))

SONDE_WRAP_IF_PRESENT(void, GOMP_task,
		      (body *fn, void *data, void (*copy)(void *, void *), long size, long align, bool deferred,
		       unsigned int flags, void **depend, int priority, void *detach))
{
	const struct within *w = recorded_region(fn);

	if (!w) {
		SONDE_REAL_POINTER(GOMP_task)(fn, data, copy, size, align, deferred, flags, depend, priority, detach);
		return;
	}
	struct task t = { .fn = fn, .data = data, .copy = copy, .size = (uint64_t)size, .offset = TASK_OFFSET(align),
			  .number = next_number(&tasks), .region = w->region, .flags = flags };

	t.first = &t;
	sonde_begin("omp task create", CODE(fn), SONDE_U64("task", t.number), SONDE_U32("flags", flags),
		    SONDE_U32("deferred", deferred));
	SONDE_REAL_POINTER(GOMP_task)(run_task, &t, copy_task, (long)(t.offset + t.size), (long)TASK_ALIGN(align),
				      deferred, flags, depend, priority, detach);
	sonde_end("omp task create");
}

INLINE void begin_taskloop(const struct task *t, uint64_t n, int64_t from, int64_t to, int64_t step)
{
	sonde_begin("omp taskloop", CODE(t->fn), SONDE_U64("task", t->number), SONDE_U32("flags", t->flags),
		    SONDE_U64("tasks", n), SONDE_I64("from", from), SONDE_I64("to", to), SONDE_I64("step", step));
}

INLINE void end_taskloop(void)
{
	sonde_end("omp taskloop");
}

/* libomp copies the argument of a loop's tasks byte by byte before it has it copied: here that is as large as its copies. */
#define TASKLOOP(name, type)                                                                                           \
	SONDE_WRAP_IF_PRESENT(void, name, (body *fn, void *data, void (*copy)(void *, void *), long size, long align,  \
					   unsigned int flags, unsigned long n, int priority, type from, type to,      \
					   type step))                                                                 \
	{                                                                                                              \
		const struct within *w = recorded_region(fn);                                                          \
                                                                                                                       \
		if (!w) {                                                                                              \
			SONDE_REAL_POINTER(name)(fn, data, copy, size, align, flags, n, priority, from, to, step);     \
			return;                                                                                        \
		}                                                                                                      \
		const uint64_t offset = TASK_OFFSET(align), bytes = offset + (uint64_t)size, to_align = TASK_ALIGN(align); \
		void *room = __builtin_alloca(bytes + to_align);                                                       \
		struct task *t = (struct task *)(((uintptr_t)room + to_align - 1) & -to_align);                        \
                                                                                                                       \
		*t = (struct task){ .first = t, .fn = fn, .data = data, .copy = copy, .size = (uint64_t)size,          \
				    .offset = offset, .number = next_number(&tasks), .region = w->region,              \
				    .flags = flags, .loop = true };                                                    \
		copy_bytes((char *)t + offset, data, (uint64_t)size);                                                  \
		if (flags & TASK_REDUCTION)                                                                            \
			t->words[2] = ((uint64_t *)data)[2];                                                           \
		begin_taskloop(t, n, (int64_t)from, (int64_t)to, (int64_t)step);                                       \
		SONDE_REAL_POINTER(name)(run_task, t, copy_task, (long)bytes, (long)to_align, flags, n, priority,      \
					 from, to, step);                                                              \
		end_taskloop();                                                                                        \
	}
TASKLOOP(GOMP_taskloop, long)
TASKLOOP(GOMP_taskloop_ull, ull)

SONDE_WRAP_IF_PRESENT(void, GOMP_taskwait, (void))
{
	WAITING(TASKWAIT, SONDE_REAL_POINTER(GOMP_taskwait)());
}

SONDE_WRAP_IF_PRESENT(void, GOMP_taskwait_depend, (void **depend))
{
	WAITING(TASKWAIT, SONDE_REAL_POINTER(GOMP_taskwait_depend)(depend));
}

SONDE_WRAP_IF_PRESENT(void, GOMP_taskyield, (void))
{
	POINT("omp taskyield", "called", CODE(CALLER));
	SONDE_REAL_POINTER(GOMP_taskyield)();
}

SONDE_WRAP_IF_PRESENT(void, GOMP_taskgroup_start, (void))
{
	sonde_begin("omp taskgroup", CODE(CALLER));
	SONDE_REAL_POINTER(GOMP_taskgroup_start)();
}

SONDE_WRAP_IF_PRESENT(void, GOMP_taskgroup_end, (void))
{
	WAITING(TASKGROUP, SONDE_REAL_POINTER(GOMP_taskgroup_end)());
	sonde_end("omp taskgroup");
}

SONDE_WRAP_IF_PRESENT(void, omp_fulfill_event, (uintptr_t event))
{
	POINT("omp event", "fulfilled", SONDE_PTR("event", event));
	SONDE_REAL_POINTER(omp_fulfill_event)(event);
}

/* ---- teams and target: by name ---- */

INLINE void begin_target(const void *code)
{
	sonde_begin("omp target", CODE(code));
}

INLINE void end_target(void)
{
	sonde_end("omp target");
}

#define TARGET(name, params, args, code)                                                                               \
	SONDE_WRAP_IF_PRESENT(void, name, params)                                                                      \
	{                                                                                                              \
		begin_target(code);                                                                                    \
		SONDE_REAL_POINTER(name) args;                                                                         \
		end_target();                                                                                          \
	}
TARGET(GOMP_target, (int device, body *fn, const void *unused, size_t n, void **host, size_t *sizes, uint8_t *kinds),
       (device, fn, unused, n, host, sizes, kinds), fn)
TARGET(GOMP_target_ext,
       (int device, body *fn, size_t n, void **host, size_t *sizes, uint16_t *kinds, unsigned int flags, void **depend,
	void **args),
       (device, fn, n, host, sizes, kinds, flags, depend, args), fn)
TARGET(GOMP_target_update, (int device, const void *unused, size_t n, void **host, size_t *sizes, uint8_t *kinds),
       (device, unused, n, host, sizes, kinds), CALLER)
TARGET(GOMP_target_update_ext,
       (int device, size_t n, void **host, size_t *sizes, uint16_t *kinds, unsigned int flags, void **depend),
       (device, n, host, sizes, kinds, flags, depend), CALLER)
TARGET(GOMP_target_enter_exit_data,
       (int device, size_t n, void **host, size_t *sizes, uint16_t *kinds, unsigned int flags, void **depend),
       (device, n, host, sizes, kinds, flags, depend), CALLER)
TARGET(GOMP_target_data, (int device, const void *unused, size_t n, void **host, size_t *sizes, uint8_t *kinds),
       (device, unused, n, host, sizes, kinds), CALLER)
TARGET(GOMP_target_data_ext, (int device, size_t n, void **host, size_t *sizes, uint16_t *kinds),
       (device, n, host, sizes, kinds), CALLER)
TARGET(GOMP_target_end_data, (void), (), CALLER)

SONDE_WRAP_IF_PRESENT(void, GOMP_teams_reg,
		      (body *fn, void *data, unsigned int teams, unsigned int limit, unsigned int flags))
{
	sonde_begin("omp teams", CODE(fn), SONDE_U32("asked", teams));
	SONDE_REAL_POINTER(GOMP_teams_reg)(fn, data, teams, limit, flags);
	sonde_end("omp teams");
}

#include "openmp-llvm.h"
