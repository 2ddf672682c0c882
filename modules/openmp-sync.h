/* SPDX-License-Identifier: MIT */
/* The part of the module openmp for what threads wait for, and exclude one another from: single, barriers, critical, locks. */

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

INLINE void asks_cancel(int which, bool cancelled, const void *caller)
{
	POINT("omp cancel", "asked", CODE(caller), SONDE_I32("which", which), SONDE_U32("cancelled", cancelled));
}

INLINE void follows_cancel(int which, const void *caller)
{
	POINT("omp cancel", "followed", CODE(caller), SONDE_I32("which", which));
}

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
	bool cancelled = ASKING(SONDE_REAL_POINTER(GOMP_cancel)(which, cancels));

	asks_cancel(which, cancelled, CALLER);
	if (cancelled)
		leave_part(which);
	return cancelled;
}

SONDE_WRAP_IF_PRESENT(bool, GOMP_cancellation_point, (int which))
{
	bool cancelled = ASKING(SONDE_REAL_POINTER(GOMP_cancellation_point)(which));

	if (cancelled) {
		follows_cancel(which, CALLER);
		leave_part(which);
	}
	return cancelled;
}

/* ---- critical, atomic, ordered ---- */

/*
 * Processors read the time before a lock is theirs, if they expect that it will be: while its cache line comes from another
 * core.  Then two threads would seem to have it.
 */
INLINE void settle(void)
{
	__asm__ volatile("lfence" ::: "memory");
}

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
		settle();                                                                                              \
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
		ASKED(SONDE_REAL_POINTER(name)(a, b, c, d, e, f, rest));                                                      \
		end_ordered_wait();                                                                                    \
	}
INLINE void posts_iteration(int64_t outermost)
{
	POINT("omp ordered", "posted", SONDE_I64("iteration", outermost));
}

#define DOACROSS_POST(name, type)                                                                                      \
	SONDE_WRAP_IF_PRESENT(void, name, (type *counts))                                                              \
	{                                                                                                              \
		posts_iteration((int64_t)counts[0]);                                                                   \
		ASKED(SONDE_REAL_POINTER(name)(counts));                                                                      \
	}
/* A structure of that size is passed on the stack, as these arguments are. */
struct on_stack {
	uint64_t words[24];
};
DOACROSS_WAIT(GOMP_doacross_wait, long)
DOACROSS_WAIT(GOMP_doacross_ull_wait, ull)
DOACROSS_POST(GOMP_doacross_post, long)
DOACROSS_POST(GOMP_doacross_ull_post, ull)

/* ---- locks; Fortran's functions, with "_", may call the others ---- */

INLINE void unlock(const void *lock)
{
	POINT("omp lock", "unset", SONDE_PTR("lock", lock));
}

INLINE void test_lock(const void *lock, int held)
{
	POINT("omp lock", "tested", SONDE_PTR("lock", lock), SONDE_I32("held", held));
}

/* Outside of all regions, too. */
#define ASKING_ANYWHERE(call)                                                                                          \
	({                                                                                                             \
		struct within asked_ = { .outer = within(), .asking = true };                                          \
		be_within(&asked_);                                                                                    \
		__typeof__(call) got_ = call;                                                                          \
		be_within(asked_.outer);                                                                               \
		got_;                                                                                                  \
	})

#define LOCK(kind)                                                                                                     \
	SONDE_WRAP_IF_PRESENT(void, omp_set_##kind, (void *lock))                                                      \
	{                                                                                                              \
		if (carried_out()) {                                                                                   \
			SONDE_REAL_POINTER(omp_set_##kind)(lock);                                                      \
			return;                                                                                        \
		}                                                                                                      \
		sonde_begin("omp lock wait", SONDE_PTR("lock", lock), CODE(CALLER), LOCKS);                            \
		(void)ASKING_ANYWHERE((SONDE_REAL_POINTER(omp_set_##kind)(lock), 0));                                  \
		sonde_end("omp lock wait");                                                                            \
	}                                                                                                              \
	SONDE_WRAP_IF_PRESENT(void, omp_unset_##kind, (void *lock))                                                    \
	{                                                                                                              \
		if (carried_out()) {                                                                                   \
			SONDE_REAL_POINTER(omp_unset_##kind)(lock);                                                    \
			return;                                                                                        \
		}                                                                                                      \
		unlock(lock);                                                                                          \
		(void)ASKING_ANYWHERE((SONDE_REAL_POINTER(omp_unset_##kind)(lock), 0));                                \
	}                                                                                                              \
	SONDE_WRAP_IF_PRESENT(int, omp_test_##kind, (void *lock))                                                      \
	{                                                                                                              \
		if (carried_out())                                                                                     \
			return SONDE_REAL_POINTER(omp_test_##kind)(lock);                                              \
		int held = ASKING_ANYWHERE(SONDE_REAL_POINTER(omp_test_##kind)(lock));                                 \
                                                                                                                       \
		test_lock(lock, held);                                                                                 \
		return held;                                                                                           \
	}
LOCK(lock)
LOCK(lock_)
LOCK(nest_lock)
LOCK(nest_lock_)
