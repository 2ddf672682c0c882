/* SPDX-License-Identifier: MIT */
/*
 * The part of the module openmp for tasks of programs compiled by Clang.  The runtime makes a task, the program fills in its
 * data and hands it back.  The task is made larger, for what is known of it, and given a function of this module to run; the
 * program finds its shared variables after that, by a pointer in the task.
 *
 * kmp.h, kmp_tasking.cpp: kmp_task_t begins with that pointer and the function; copies for the tasks of a loop are made byte by
 * byte, and their pointer keeps its distance.
 */
typedef int32_t task_function(int32_t thread, void *task);

struct kmpc_task {
	task_function *run;
	uint64_t number, region;
	struct within in; /* of a task that the program runs itself */
	enum wait ended;  /* likewise */
	uint32_t flags;
	bool created; /* handed back once, or run: untied ones hand themselves back for each part */
} __attribute__((aligned(16)));

struct kmp_task {
	struct kmpc_task *shared; /* which is after ours */
	task_function *run;
};

/* Several times for an untied task; another thread may go on with it, and free it, before its part returns here. */
static int32_t run_kmpc_task(int32_t thread, void *arg)
{
	const struct kmp_task *task = arg;
	const struct kmpc_task *t = task->shared - 1;

	if (!sonde_callback())
		return t->run(thread, arg);
	struct within w = { .outer = within(), .region = t->region };
	enum wait wait = begin_task(&w, t->run, t->number);

	int32_t result = t->run(thread, arg);
	end_task(&w, wait);
	return result;
}

/* NULL: it was not seen when it was made. */
INLINE struct kmpc_task *kmpc_task(void *arg)
{
	const struct kmp_task *task = arg;

	return task->run == run_kmpc_task ? task->shared - 1 : NULL;
}

SONDE_WRAP_IF_PRESENT(void *, __kmpc_omp_task_alloc,
		      (void *place, int32_t thread, int32_t flags, size_t size, size_t shared, task_function *run))
{
	const struct within *w = within();

	if (!w || w->asking)
		return SONDE_REAL_POINTER(__kmpc_omp_task_alloc)(place, thread, flags, size, shared, run);
	struct kmp_task *task = SONDE_REAL_POINTER(__kmpc_omp_task_alloc)(
		place, thread, flags, size, shared + sizeof(struct kmpc_task), run_kmpc_task);

	*task->shared = (struct kmpc_task){ .run = run, .number = next_number(&tasks), .region = w->region,
					    .flags = (uint32_t)flags };
	task->shared++;
	return task;
}

#define HAND_BACK(name, params, args)                                                                                  \
	SONDE_WRAP_IF_PRESENT(int32_t, name, params)                                                                   \
	{                                                                                                              \
		struct kmpc_task *t = kmpc_task(task);                                                                 \
                                                                                                                       \
		if (!t || t->created)                                                                                  \
			return SONDE_REAL_POINTER(name) args;                                                          \
		t->created = true;                                                                                     \
		begin_task_create(t->run, t->number, t->flags, 1);                                                     \
		int32_t result = SONDE_REAL_POINTER(name) args;                                                        \
		end_task_create();                                                                                     \
		return result;                                                                                         \
	}
HAND_BACK(__kmpc_omp_task, (void *place, int32_t thread, void *task), (place, thread, task))
HAND_BACK(__kmpc_omp_task_with_deps,
	  (void *place, int32_t thread, void *task, int32_t n, void *depend, int32_t more, void *other),
	  (place, thread, task, n, depend, more, other))

/* The program calls the function itself between these. */
SONDE_WRAP_IF_PRESENT(void, __kmpc_omp_task_begin_if0, (void *place, int32_t thread, void *task))
{
	struct kmpc_task *t = kmpc_task(task);

	SONDE_REAL_POINTER(__kmpc_omp_task_begin_if0)(place, thread, task);
	if (!t)
		return;
	t->created = true;
	begin_task_create(t->run, t->number, t->flags, 0);
	t->in = (struct within){ .outer = within(), .region = t->region };
	t->ended = begin_task(&t->in, t->run, t->number);
}

SONDE_WRAP_IF_PRESENT(void, __kmpc_omp_task_complete_if0, (void *place, int32_t thread, void *task))
{
	struct kmpc_task *t = kmpc_task(task);

	if (t && t->in.region) {
		end_task(&t->in, t->ended);
		end_task_create();
	}
	SONDE_REAL_POINTER(__kmpc_omp_task_complete_if0)(place, thread, task);
}

#define KMPC_TASKLOOP(name, params, args)                                                                              \
	SONDE_WRAP_IF_PRESENT(void, name, params)                                                                      \
	{                                                                                                              \
		const struct kmpc_task *t = kmpc_task(task);                                                           \
                                                                                                                       \
		if (!t) {                                                                                              \
			SONDE_REAL_POINTER(name) args;                                                                 \
			return;                                                                                        \
		}                                                                                                      \
		begin_taskloop(t->run, t->number, t->flags, how == BY_NUMBER ? size : 0, (int64_t)*from,               \
			       (int64_t)*to + (step < 0 ? -1 : 1), step);                                              \
		SONDE_REAL_POINTER(name) args;                                                                         \
		end_taskloop();                                                                                        \
	}
#define BY_NUMBER 2 /* of tasks; 1: by how many iterations each has */
KMPC_TASKLOOP(__kmpc_taskloop,
	      (void *place, int32_t thread, void *task, int32_t condition, uint64_t *from, uint64_t *to, int64_t step,
	       int32_t nogroup, int32_t how, uint64_t size, void *copy),
	      (place, thread, task, condition, from, to, step, nogroup, how, size, copy))
KMPC_TASKLOOP(__kmpc_taskloop_5,
	      (void *place, int32_t thread, void *task, int32_t condition, uint64_t *from, uint64_t *to, int64_t step,
	       int32_t nogroup, int32_t how, uint64_t size, int32_t strict, void *copy),
	      (place, thread, task, condition, from, to, step, nogroup, how, size, strict, copy))

/* ---- waiting for tasks ---- */

SONDE_WRAP_IF_PRESENT(int32_t, __kmpc_omp_taskwait, (void *place, int32_t thread))
{
	int32_t result;

	if (carried_out())
		return SONDE_REAL_POINTER(__kmpc_omp_taskwait)(place, thread);
	WAITING(TASKWAIT, result = SONDE_REAL_POINTER(__kmpc_omp_taskwait)(place, thread));
	return result;
}

#define WAIT_DEPENDENCES(name, params, args)                                                                           \
	SONDE_WRAP_IF_PRESENT(void, name, params)                                                                      \
	{                                                                                                              \
		if (carried_out())                                                                                     \
			SONDE_REAL_POINTER(name) args;                                                                 \
		else                                                                                                   \
			WAITING(TASKWAIT, SONDE_REAL_POINTER(name) args);                                              \
	}
WAIT_DEPENDENCES(__kmpc_omp_wait_deps,
		 (void *place, int32_t thread, int32_t n, void *depend, int32_t more, void *other),
		 (place, thread, n, depend, more, other))
WAIT_DEPENDENCES(__kmpc_omp_taskwait_deps_51,
		 (void *place, int32_t thread, int32_t n, void *depend, int32_t more, void *other, int32_t nowait),
		 (place, thread, n, depend, more, other, nowait))

SONDE_WRAP_IF_PRESENT(int32_t, __kmpc_omp_taskyield, (void *place, int32_t thread, int32_t end))
{
	if (!carried_out())
		yields(CALLER);
	return SONDE_REAL_POINTER(__kmpc_omp_taskyield)(place, thread, end);
}

SONDE_WRAP_IF_PRESENT(void, __kmpc_taskgroup, (void *place, int32_t thread))
{
	if (!carried_out())
		begin_taskgroup(CALLER);
	SONDE_REAL_POINTER(__kmpc_taskgroup)(place, thread);
}

SONDE_WRAP_IF_PRESENT(void, __kmpc_end_taskgroup, (void *place, int32_t thread))
{
	if (carried_out()) {
		SONDE_REAL_POINTER(__kmpc_end_taskgroup)(place, thread);
		return;
	}
	WAITING(TASKGROUP, SONDE_REAL_POINTER(__kmpc_end_taskgroup)(place, thread));
	end_taskgroup();
}

/* Reductions of tasks in a region or loop: the group that they are in is the runtime's own. */
#define TASK_REDUCTION_INIT(name)                                                                                      \
	SONDE_WRAP_IF_PRESENT(void *, name, (void *place, int32_t thread, int32_t loop, int32_t n, void *data))        \
	{                                                                                                              \
		return ASKING(SONDE_REAL_POINTER(name)(place, thread, loop, n, data));                                 \
	}
TASK_REDUCTION_INIT(__kmpc_task_reduction_modifier_init)
TASK_REDUCTION_INIT(__kmpc_taskred_modifier_init)

SONDE_WRAP_IF_PRESENT(void, __kmpc_task_reduction_modifier_fini, (void *place, int32_t thread, int32_t loop))
{
	WAITING(TASKGROUP, SONDE_REAL_POINTER(__kmpc_task_reduction_modifier_fini)(place, thread, loop));
}
