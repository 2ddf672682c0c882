// SPDX-License-Identifier: MIT
/*
 * openmp: parallel regions, loops and their chunks, barriers, locks, tasks: what a program asks of its OpenMP runtime.  In these
 * files, for programs compiled by GCC (libgomp; libomp's functions of the same names):
 *
 *	openmp.c	what all need; regions, teams, target
 *	openmp-loops.h	loops, their chunks, sections
 *	openmp-sync.h	barriers, single, critical, ordered, locks, cancellation
 *	openmp-tasks.h	tasks
 *
 * and for programs compiled by Clang (libomp) openmp-llvm.h and openmp-llvm-tasks.h.
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

SONDE_MODULE("openmp", "OpenMP: regions, loops, chunks, barriers, locks, tasks (GCC, Clang)");

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

/* ---- what compilers make calls of: the module's own, hidden, not the program's ---- */

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int byte, size_t n);

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	void *end = to;

	__asm__ volatile("rep movsb" : "+D"(end), "+S"(from), "+c"(n) : : "memory");
	return to;
}

void *memset(void *to, int byte, size_t n)
{
	void *end = to;

	__asm__ volatile("rep stosb" : "+D"(end), "+c"(n) : "a"(byte) : "memory");
	return to;
}

/* ---- what a thread is in ---- */

struct loop {
	const char *schedule;
	int64_t from, to, step, chunk;
};

enum wait { NO_WAIT, BARRIER, REDUCTION, TASKWAIT, TASKGROUP };

/* A part of a region, a task, or the call that makes a team: mostly on the stack of the thread that is in it. */
struct within {
	struct within *outer;
	uint64_t region;
	enum wait wait; /* that it is in; the runtime may run tasks there */
	const struct loop *loop; /* combined with the region, not begun yet; else NULL */
	uint32_t sections;	 /* likewise; else 0 */
	bool asking;		 /* the runtime, which calls functions that are wrapped: libgomp's loops GOMP_ordered_start() */
	bool dispatched;	 /* in a loop of Clang's that ends when there are no chunks left */
	bool has_chunk;		 /* of a loop of Clang's */
	int64_t step;		 /* likewise */
	struct started *started; /* a region whose function the program calls itself; else NULL */
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
	case REDUCTION:
		sonde_begin("omp reduction", CODE(caller), SONDE_U32("resumed", resumed), BARRIERS);
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
	case REDUCTION:
		sonde_end("omp reduction");
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

/* Is it the runtime that calls, to carry out what it was asked for? */
INLINE bool carried_out(void)
{
	const struct within *w = within();

	return w && (w->wait != NO_WAIT || w->asking);
}

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
	struct within call; /* in the thread that meets it, but for its own part */
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
	r->call = (struct within){ .outer = within(), .asking = true };
	be_within(&r->call);
}

INLINE void end_region(struct region *r)
{
	be_within(r->call.outer);
	sonde_end("omp parallel");
}

SONDE_WRAP_IF_PRESENT(void, GOMP_parallel, (body *fn, void *data, unsigned int threads, unsigned int flags))
{
	struct region r = { .fn = fn, .data = data };

	begin_region(&r, threads);
	SONDE_REAL_POINTER(GOMP_parallel)(implicit_task, &r, threads, flags);
	end_region(&r);
}

SONDE_WRAP_IF_PRESENT(unsigned int, GOMP_parallel_reductions,
		      (body *fn, void *data, unsigned int threads, unsigned int flags))
{
	struct region r = { .first = *(void **)data, .fn = fn, .data = data };

	begin_region(&r, threads);
	unsigned int n = SONDE_REAL_POINTER(GOMP_parallel_reductions)(implicit_task, &r, threads, flags);
	end_region(&r);
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
		end_region(&r);                                                                                          \
	}
#define PARALLEL_LOOP_RUNTIME(name)                                                                                    \
	SONDE_WRAP_IF_PRESENT(void, name, (body *fn, void *data, unsigned int threads, long from, long to, long step,  \
					   unsigned int flags))                                                        \
	{                                                                                                              \
		struct region r = { .fn = fn, .data = data, .loop = { "runtime", from, to, step, 0 } };                \
                                                                                                                       \
		begin_region(&r, threads);                                                                             \
		SONDE_REAL_POINTER(name)(implicit_task, &r, threads, from, to, step, flags);                           \
		end_region(&r);                                                                                          \
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
	end_region(&r);
}

/* ---- regions whose function the program calls itself: GCC before 4.9, and those of one thread alone by Clang ---- */

#define STARTED_ROOM 256u /* that can be open at one time, of all threads */

struct started {
	bool taken;
	struct region region;
	struct within own; /* the part of the thread that has met it */
};

static struct started started_regions[STARTED_ROOM];

static struct started *take_started(void)
{
	for (uint32_t i = 0; i < STARTED_ROOM; i++)
		if (!__atomic_exchange_n(&started_regions[i].taken, true, __ATOMIC_ACQUIRE))
			return &started_regions[i];
	return NULL;
}

/* NULL: too many are open; the trace says that this one is missing. */
INLINE struct started *begin_started(const struct region *r, const void *code, uint32_t threads)
{
	struct started *s = take_started();

	if (!s) {
		POINT("omp parallel", "not recorded", CODE(code));
		return NULL;
	}
	s->region = *r;
	s->region.number = next_number(&regions);
	begin_parallel(code, s->region.number, threads);
	s->region.call = (struct within){ .outer = within(), .asking = true };
	be_within(&s->region.call);
	return s;
}

/* When the team is there. */
INLINE void begin_own_part(struct started *s, const void *code)
{
	s->own = (struct within){ .outer = within(), .region = s->region.number, .sections = s->region.sections,
				  .started = s };
	if (s->region.loop.schedule)
		s->own.loop = &s->region.loop;
	begin_implicit(code, s->region.number);
	be_within(&s->own);
}

/* NULL: it was not begun as one of these. */
INLINE struct started *end_own_part(void)
{
	const struct within *w = within();

	if (!w || !w->started)
		return NULL;
	be_within(w->outer);
	end_implicit();
	return w->started;
}

INLINE void end_started(struct started *s)
{
	end_region(&s->region);
	__atomic_store_n(&s->taken, false, __ATOMIC_RELEASE);
}

#define ARGS(...) , ##__VA_ARGS__
#define PARALLEL_START(name, params, args_after, ...)                                                     \
	SONDE_WRAP_IF_PRESENT(void, name, params)                                                                      \
	{                                                                                                              \
		const struct region r = { .fn = fn, .data = data, ##__VA_ARGS__ };                                     \
		struct started *s = begin_started(&r, fn, threads);                                                    \
                                                                                                                       \
		SONDE_REAL_POINTER(name)(s ? implicit_task : fn, s ? &s->region : data args_after);                    \
		if (s)                                                                                                 \
			begin_own_part(s, fn);                                                                         \
	}

#define PARALLEL_LOOP_START(name, schedule)                                                                            \
	PARALLEL_START(name, (body *fn, void *data, unsigned int threads, long from, long to, long step, long chunk),  \
		       ARGS(threads, from, to, step, chunk), .loop = { schedule, from, to, step, chunk })
PARALLEL_START(GOMP_parallel_start, (body *fn, void *data, unsigned int threads), ARGS(threads))
PARALLEL_LOOP_START(GOMP_parallel_loop_static_start, "static")
PARALLEL_LOOP_START(GOMP_parallel_loop_dynamic_start, "dynamic")
PARALLEL_LOOP_START(GOMP_parallel_loop_guided_start, "guided")
PARALLEL_START(GOMP_parallel_loop_runtime_start,
	       (body *fn, void *data, unsigned int threads, long from, long to, long step), ARGS(threads, from, to, step),
	       .loop = { "runtime", from, to, step, 0 })
PARALLEL_START(GOMP_parallel_sections_start, (body *fn, void *data, unsigned int threads, unsigned int count),
	       ARGS(threads, count), .sections = count)

/* The runtime ends other regions by this, too. */
SONDE_WRAP_IF_PRESENT(void, GOMP_parallel_end, (void))
{
	struct started *s = end_own_part();

	SONDE_REAL_POINTER(GOMP_parallel_end)();
	if (s)
		end_started(s);
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

struct teams {
	body *fn;
	void *data;
	struct within call;
};

static void teams_task(void *arg)
{
	const struct teams *t = arg;
	struct within *was = sonde_callback() ? within() : NULL;

	if (was == &t->call)
		be_within(was->outer);
	t->fn(t->data);
	if (was == &t->call)
		be_within(was);
}

INLINE void begin_teams(struct within *call, const void *code, uint32_t asked)
{
	sonde_begin("omp teams", CODE(code), SONDE_U32("asked", asked));
	*call = (struct within){ .outer = within(), .asking = true };
	be_within(call);
}

INLINE void end_teams(const struct within *call)
{
	be_within(call->outer);
	sonde_end("omp teams");
}

SONDE_WRAP_IF_PRESENT(void, GOMP_teams_reg,
		      (body *fn, void *data, unsigned int teams, unsigned int limit, unsigned int flags))
{
	struct teams t = { .fn = fn, .data = data };

	begin_teams(&t.call, fn, teams);
	SONDE_REAL_POINTER(GOMP_teams_reg)(teams_task, &t, teams, limit, flags);
	end_teams(&t.call);
}

#include "openmp-loops.h"
#include "openmp-sync.h"
#include "openmp-tasks.h"
#include "openmp-llvm.h"
#include "openmp-llvm-tasks.h"
