/* SPDX-License-Identifier: MIT */
/*
 * The part of the module openmp for programs compiled by Clang: what they call of libomp.  libomp carries out what GCC's
 * programs ask for by the same functions, so these do nothing where the thread is in a wrapper of the others.
 *
 * Prototypes: LLVM's kmp.h.  Tasks are not seen here.
 */
typedef void microtask(int32_t *thread, int32_t *bound, ...);

#define MOST_ARGUMENTS 1024u /* that a region may have; a compiler passes one for each variable */

INLINE bool carried_out(void)
{
	const struct within *w = within();

	return w && (w->wait != NO_WAIT || w->asking);
}

/* ---- regions ---- */

struct fork {
	microtask *fn;
	uint64_t *args; /* zeros follow */
	uint64_t number;
	int32_t n;
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
	struct within w = { .outer = within(), .region = f->number };

	begin_implicit(f->fn, w.region);
	be_within(&w);
	call_microtask(f, thread, bound);
	be_within(w.outer);
	end_implicit();
}

SONDE_WRAP_IF_PRESENT(void, __kmpc_fork_call, (void *place, int32_t n, microtask *fn, ...))
{
	const uint32_t room = n <= 4 ? 4 : n <= 28 ? 28 : MOST_ARGUMENTS;
	volatile uint64_t *args = __builtin_alloca(8 * room);
	struct fork f = { .fn = fn, .args = (uint64_t *)(uintptr_t)args, .n = n };
	__builtin_va_list list;

	__builtin_va_start(list, fn);
	for (uint32_t i = 0; i < room; i++)
		args[i] = (int32_t)i < n ? __builtin_va_arg(list, uint64_t) : 0;
	__builtin_va_end(list);
	f.number = next_number(&regions);
	begin_parallel(fn, f.number, 0);
	SONDE_REAL_POINTER(__kmpc_fork_call)(place, 1, (microtask *)(void *)implicit_microtask, &f);
	end_region();
}

/* A region of the thread alone, whose function it calls itself. */
SONDE_WRAP_IF_PRESENT(void, __kmpc_serialized_parallel, (void *place, int32_t thread))
{
	uint64_t number = next_number(&regions);

	begin_parallel(CALLER, number, 1);
	begin_implicit(CALLER, number);
	SONDE_REAL_POINTER(__kmpc_serialized_parallel)(place, thread);
}

SONDE_WRAP_IF_PRESENT(void, __kmpc_end_serialized_parallel, (void *place, int32_t thread))
{
	SONDE_REAL_POINTER(__kmpc_end_serialized_parallel)(place, thread);
	end_implicit();
	end_region();
}

/* ---- loops ---- */

/* enum sched_type of kmp.h, with ordered ones and modifiers */
static const char *kmpc_schedule(int32_t schedule)
{
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
