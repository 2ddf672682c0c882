/* SPDX-License-Identifier: MIT */
/*
 * The part of the module openmp for programs compiled by Clang: what they call of libomp.  libomp carries out what GCC's
 * programs ask for by the same functions, so these do nothing where the thread is in a wrapper of the others.
 *
 * Prototypes: LLVM's kmp.h.
 */
typedef void microtask(int32_t *thread, int32_t *bound, ...);

#define MOST_ARGUMENTS 1024u /* that a region may have; a compiler passes one for each variable */

/* ---- regions ---- */

struct fork {
	microtask *fn;
	uint64_t *args; /* zeros follow */
	int32_t n;
	struct region region;
};

struct many_on_stack {
	uint64_t words[MOST_ARGUMENTS - 4];
};

/* How many there are must not be told: those that are given and not taken do no harm. */
static void call_microtask(const struct fork *f, int32_t *thread, int32_t *bound)
{
	typedef void few(int32_t *, int32_t *, uint64_t, uint64_t, uint64_t, uint64_t);
	typedef void some(int32_t *, int32_t *, uint64_t, uint64_t, uint64_t, uint64_t, struct on_stack);
	typedef void many(int32_t *, int32_t *, uint64_t, uint64_t, uint64_t, uint64_t, struct many_on_stack);
	const uint64_t *a = f->args;

	if (f->n <= 4)
		((few *)(void *)f->fn)(thread, bound, a[0], a[1], a[2], a[3]);
	else if (f->n <= 28)
		((some *)(void *)f->fn)(thread, bound, a[0], a[1], a[2], a[3], *(const struct on_stack *)(a + 4));
	else
		((many *)(void *)f->fn)(thread, bound, a[0], a[1], a[2], a[3], *(const struct many_on_stack *)(a + 4));
}

static void implicit_microtask(int32_t *thread, int32_t *bound, struct fork *f)
{
	if (!sonde_callback()) {
		call_microtask(f, thread, bound);
		return;
	}
	struct within w = { .outer = within(), .region = f->region.number };

	begin_implicit(f->fn, w.region);
	be_within(&w);
	call_microtask(f, thread, bound);
	be_within(w.outer);
	end_implicit();
}

static void teams_microtask(int32_t *thread, int32_t *bound, struct fork *f)
{
	struct within *was = sonde_callback() ? within() : NULL;

	if (was == &f->region.call)
		be_within(was->outer);
	call_microtask(f, thread, bound);
	if (was == &f->region.call)
		be_within(was);
}

/* The arguments of the call, in an array of as many as are given on. */
#define FORK(f, fn_, n_)                                                                                               \
	const uint32_t room_ = (n_) <= 4 ? 4 : (n_) <= 28 ? 28 : MOST_ARGUMENTS;                                       \
	volatile uint64_t *args_ = __builtin_alloca(8 * room_);                                                        \
	struct fork f = { .fn = fn_, .args = (uint64_t *)(uintptr_t)args_, .n = n_ };                                  \
	__builtin_va_list list_;                                                                                       \
                                                                                                                       \
	__builtin_va_start(list_, fn_);                                                                                \
	for (uint32_t i_ = 0; i_ < room_; i_++)                                                                        \
		args_[i_] = (int32_t)i_ < (n_) ? __builtin_va_arg(list_, uint64_t) : 0;                                \
	__builtin_va_end(list_)

/*
 * What num_threads() asks for, which the program says in a call before that of the region.  A word for a thread: its control block's
 * address, and the number; threads of the same place take it from each other, and then it is not known.
 */
#define PUSHED_PLACES 10 /* bits */
#define PUSHED_NUMBER 20

static uint64_t pushed[1u << PUSHED_PLACES];

INLINE uint64_t pushed_by(void)
{
	return sonde__tcb() >> 4 << PUSHED_NUMBER;
}

INLINE uint64_t *pushed_place(uint64_t by)
{
	return &pushed[by * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PUSHED_PLACES)];
}

INLINE uint32_t take_pushed(void)
{
	const uint64_t by = pushed_by();
	const uint64_t word = __atomic_load_n(pushed_place(by), __ATOMIC_RELAXED);

	if (word < by || (word - by) >> PUSHED_NUMBER)
		return 0;
	__atomic_store_n(pushed_place(by), 0, __ATOMIC_RELAXED);
	return (uint32_t)(word - by);
}

SONDE_WRAP_IF_PRESENT(void, __kmpc_push_num_threads, (void *place, int32_t thread, int32_t n))
{
	const uint64_t by = pushed_by();

	if (n > 0 && n < 1 << PUSHED_NUMBER)
		__atomic_store_n(pushed_place(by), by + (uint64_t)n, __ATOMIC_RELAXED);
	SONDE_REAL_POINTER(__kmpc_push_num_threads)(place, thread, n);
}

SONDE_WRAP_IF_PRESENT(void, __kmpc_fork_call, (void *place, int32_t n, microtask *fn, ...))
{
	FORK(f, fn, n);

	f.region.fn = (body *)(void *)fn;
	begin_region(&f.region, take_pushed());
	SONDE_REAL_POINTER(__kmpc_fork_call)(place, 1, (microtask *)(void *)implicit_microtask, &f);
	end_region(&f.region);
}

/* The runtime makes a region of one thread for each team, at the same place. */
static void *teams_place;

SONDE_WRAP_IF_PRESENT(void, __kmpc_fork_teams, (void *place, int32_t n, microtask *fn, ...))
{
	const bool seen = !carried_out();

	FORK(f, fn, n);
	__atomic_store_n(&teams_place, place, __ATOMIC_RELAXED);
	if (seen)
		begin_teams(&f.region.call, fn, 0);
	SONDE_REAL_POINTER(__kmpc_fork_teams)(place, 1, (microtask *)(void *)teams_microtask, &f);
	if (seen)
		end_teams(&f.region.call);
	__atomic_store_n(&teams_place, NULL, __ATOMIC_RELAXED);
}

/* A region of the thread alone, whose function it calls itself. */
SONDE_WRAP_IF_PRESENT(void, __kmpc_serialized_parallel, (void *place, int32_t thread))
{
	const struct region r = { 0 };
	const bool of_team = !within() && place == __atomic_load_n(&teams_place, __ATOMIC_RELAXED);
	struct started *s = carried_out() || of_team ? NULL : begin_started(&r, CALLER, 1);

	(void)take_pushed();
	SONDE_REAL_POINTER(__kmpc_serialized_parallel)(place, thread);
	if (s)
		begin_own_part(s, CALLER);
}

SONDE_WRAP_IF_PRESENT(void, __kmpc_end_serialized_parallel, (void *place, int32_t thread))
{
	struct started *s = end_own_part();

	SONDE_REAL_POINTER(__kmpc_end_serialized_parallel)(place, thread);
	if (s)
		end_started(s);
}

/* ---- loops ---- */

/* enum sched_type of kmp.h, with ordered ones and modifiers */
static const char *kmpc_schedule(int32_t schedule)
{
	if ((schedule & 0xffff) == 91 || (schedule & 0xffff) == 92)
		return "distribute";
	switch ((schedule & 0xffff) % 32) {
	case 1: case 2: case 8: case 9: /* chunked, plain, greedy, balanced */
		return "static";
	case 3:
		return "dynamic";
	case 4:
		return "guided";
	case 5:
		return "runtime";
	case 6:
		return "auto";
	}
	return "other";
}

#define STATIC_PLAIN 34

/* Of blocks of a given size the first is a thread's only one that the runtime tells. */
#define STATIC_INIT(suffix, type, step_type)                                                                           \
	SONDE_WRAP_IF_PRESENT(void, __kmpc_for_static_init_##suffix,                                                   \
			      (void *place, int32_t thread, int32_t schedule, int32_t *last, type *from, type *to,     \
			       step_type *stride, step_type step, step_type chunk))                                    \
	{                                                                                                              \
		const int64_t sign = step < 0 ? -1 : 1;                                                                \
		struct loop l = { kmpc_schedule(schedule), (int64_t)*from, (int64_t)*to + sign, step,                  \
				  schedule == STATIC_PLAIN ? 0 : chunk };                                              \
                                                                                                                       \
		begin_loop(&l, CALLER, 3);                                                                             \
		SONDE_REAL_POINTER(__kmpc_for_static_init_##suffix)(place, thread, schedule, last, from, to, stride,   \
								    step, chunk);                                      \
		struct within *w = within();                                                                           \
		if (w && schedule == STATIC_PLAIN && (step < 0 ? *from >= *to : *from <= *to)) {                       \
			begin_chunk((int64_t)*from, (int64_t)*to + sign, 3);                                           \
			w->has_chunk = true;                                                                           \
		}                                                                                                      \
	}
STATIC_INIT(4, int32_t, int32_t)
STATIC_INIT(4u, uint32_t, int32_t)
STATIC_INIT(8, int64_t, int64_t)
STATIC_INIT(8u, uint64_t, int64_t)

SONDE_WRAP_IF_PRESENT(void, __kmpc_for_static_fini, (void *place, int32_t thread))
{
	struct within *w = within();

	if (w && w->has_chunk) {
		end_chunk();
		w->has_chunk = false;
	}
	end_loop();
	SONDE_REAL_POINTER(__kmpc_for_static_fini)(place, thread);
}

/* Loops outside of all regions are left alone: nothing says whether a thread has a chunk. */
#define DISPATCH(suffix, type, step_type)                                                                              \
	SONDE_WRAP_IF_PRESENT(void, __kmpc_dispatch_init_##suffix,                                                     \
			      (void *place, int32_t thread, int32_t schedule, type from, type to, step_type step,      \
			       step_type chunk))                                                                       \
	{                                                                                                              \
		struct within *w = within();                                                                           \
                                                                                                                       \
		if (w && !w->asking) {                                                                                 \
			struct loop l = { kmpc_schedule(schedule), (int64_t)from,                                      \
					  (int64_t)to + (step < 0 ? -1 : 1), step, chunk };                            \
                                                                                                                       \
			begin_loop(&l, CALLER, 1);                                                                     \
			w->step = step;                                                                                \
			w->dispatched = true;                                                                          \
			w->has_chunk = false;                                                                          \
		}                                                                                                      \
		SONDE_REAL_POINTER(__kmpc_dispatch_init_##suffix)(place, thread, schedule, from, to, step, chunk);     \
	}                                                                                                              \
	SONDE_WRAP_IF_PRESENT(int32_t, __kmpc_dispatch_next_##suffix,                                                  \
			      (void *place, int32_t thread, int32_t *last, type *from, type *to, step_type *step))     \
	{                                                                                                              \
		struct within *w = within();                                                                           \
		const bool seen = w && !w->asking;                                                                     \
                                                                                                                       \
		if (seen && w->has_chunk)                                                                              \
			end_chunk();                                                                                   \
		int32_t some = SONDE_REAL_POINTER(__kmpc_dispatch_next_##suffix)(place, thread, last, from, to, step); \
		if (seen) {                                                                                            \
			w->has_chunk = some;                                                                           \
			w->dispatched = some;                                                                          \
			if (some)                                                                                      \
				begin_chunk((int64_t)*from, (int64_t)*to + (w->step < 0 ? -1 : 1), 0);                 \
			else                                                                                           \
				end_loop();                                                                            \
		}                                                                                                      \
		return some;                                                                                           \
	}
DISPATCH(4, int32_t, int32_t)
DISPATCH(4u, uint32_t, int32_t)
DISPATCH(8, int64_t, int64_t)
DISPATCH(8u, uint64_t, int64_t)

/* ---- what threads wait for ---- */

SONDE_WRAP_IF_PRESENT(void, __kmpc_barrier, (void *place, int32_t thread))
{
	if (carried_out())
		SONDE_REAL_POINTER(__kmpc_barrier)(place, thread);
	else
		WAITING(BARRIER, SONDE_REAL_POINTER(__kmpc_barrier)(place, thread));
}

SONDE_WRAP_IF_PRESENT(int32_t, __kmpc_cancel_barrier, (void *place, int32_t thread))
{
	int32_t cancelled;

	if (carried_out())
		return SONDE_REAL_POINTER(__kmpc_cancel_barrier)(place, thread);
	WAITING(BARRIER, cancelled = SONDE_REAL_POINTER(__kmpc_cancel_barrier)(place, thread));
	return cancelled;
}

#define KMPC_EXCLUSIVE(construct, name, params, args, lock)                                                            \
	SONDE_WRAP_IF_PRESENT(void, name, params)                                                                      \
	{                                                                                                              \
		if (carried_out()) {                                                                                   \
			SONDE_REAL_POINTER(name) args;                                                                 \
			return;                                                                                        \
		}                                                                                                      \
		begin_##construct##_wait(lock);                                                                        \
		ASKED(SONDE_REAL_POINTER(name) args); /* one may call another one */                                   \
		begin_##construct(lock, CALLER);                                                                       \
	}
#define KMPC_EXCLUSIVE_END(construct, name, params, args)                                                              \
	SONDE_WRAP_IF_PRESENT(void, name, params)                                                                      \
	{                                                                                                              \
		if (!carried_out())                                                                                    \
			end_##construct();                                                                             \
		SONDE_REAL_POINTER(name) args;                                                                         \
	}
KMPC_EXCLUSIVE(critical, __kmpc_critical, (void *place, int32_t thread, void *lock), (place, thread, lock), lock)
KMPC_EXCLUSIVE(critical, __kmpc_critical_with_hint, (void *place, int32_t thread, void *lock, uint32_t hint),
	       (place, thread, lock, hint), lock)
KMPC_EXCLUSIVE_END(critical, __kmpc_end_critical, (void *place, int32_t thread, void *lock), (place, thread, lock))
KMPC_EXCLUSIVE(ordered, __kmpc_ordered, (void *place, int32_t thread), (place, thread), NULL)
KMPC_EXCLUSIVE_END(ordered, __kmpc_end_ordered, (void *place, int32_t thread), (place, thread))

SONDE_WRAP_IF_PRESENT(int32_t, __kmpc_single, (void *place, int32_t thread))
{
	int32_t mine = SONDE_REAL_POINTER(__kmpc_single)(place, thread);

	if (mine)
		executes_single(CALLER);
	return mine;
}

SONDE_WRAP_IF_PRESENT(void, __kmpc_copyprivate,
		      (void *place, int32_t thread, size_t size, void *data, void (*copy)(void *, void *), int32_t mine))
{
	WAITING(BARRIER, SONDE_REAL_POINTER(__kmpc_copyprivate)(place, thread, size, data, copy, mine));
}

SONDE_WRAP_IF_PRESENT(void, __kmpc_scope, (void *place, int32_t thread, void *unused))
{
	POINT("omp scope", "begun", CODE(CALLER));
	SONDE_REAL_POINTER(__kmpc_scope)(place, thread, unused);
}

/* Until the thread may add its values, or others have done it; then, in some ways of doing so, until all have. */
#define REDUCE(name)                                                                                                   \
	SONDE_WRAP_IF_PRESENT(int32_t, name,                                                                           \
			      (void *place, int32_t thread, int32_t n, size_t size, void *data,                        \
			       void (*add)(void *, void *), void *lock))                                               \
	{                                                                                                              \
		int32_t how;                                                                                           \
                                                                                                                       \
		WAITING(REDUCTION, how = SONDE_REAL_POINTER(name)(place, thread, n, size, data, add, lock));           \
		return how;                                                                                            \
	}
REDUCE(__kmpc_reduce)
REDUCE(__kmpc_reduce_nowait)

SONDE_WRAP_IF_PRESENT(void, __kmpc_end_reduce, (void *place, int32_t thread, void *lock))
{
	WAITING(BARRIER, SONDE_REAL_POINTER(__kmpc_end_reduce)(place, thread, lock));
}

SONDE_WRAP_IF_PRESENT(void, __kmpc_doacross_wait, (void *place, int32_t thread, const int64_t *iteration))
{
	if (carried_out()) {
		SONDE_REAL_POINTER(__kmpc_doacross_wait)(place, thread, iteration);
		return;
	}
	begin_ordered_wait(NULL);
	SONDE_REAL_POINTER(__kmpc_doacross_wait)(place, thread, iteration);
	end_ordered_wait();
}

SONDE_WRAP_IF_PRESENT(void, __kmpc_doacross_post, (void *place, int32_t thread, const int64_t *iteration))
{
	if (!carried_out())
		posts_iteration(iteration[0]);
	SONDE_REAL_POINTER(__kmpc_doacross_post)(place, thread, iteration);
}

/* ---- cancellation ---- */

#define WHICH(kind) (1 << ((kind) - 1)) /* as GCC numbers them */

/* A loop that hands out chunks is not ended by any call. */
INLINE void leave_kmpc(int which)
{
	struct within *w = within();

	if ((which == CANCEL_LOOP || which == CANCEL_SECTIONS) && w && w->dispatched) {
		if (w->has_chunk)
			end_chunk();
		end_loop();
		w->has_chunk = w->dispatched = false;
	}
}

SONDE_WRAP_IF_PRESENT(int32_t, __kmpc_cancel, (void *place, int32_t thread, int32_t kind))
{
	int32_t cancelled = SONDE_REAL_POINTER(__kmpc_cancel)(place, thread, kind);

	if (!carried_out()) {
		asks_cancel(WHICH(kind), cancelled, CALLER);
		if (cancelled)
			leave_kmpc(WHICH(kind));
	}
	return cancelled;
}

SONDE_WRAP_IF_PRESENT(int32_t, __kmpc_cancellationpoint, (void *place, int32_t thread, int32_t kind))
{
	int32_t cancelled = SONDE_REAL_POINTER(__kmpc_cancellationpoint)(place, thread, kind);

	if (cancelled && !carried_out()) {
		follows_cancel(WHICH(kind), CALLER);
		leave_kmpc(WHICH(kind));
	}
	return cancelled;
}
