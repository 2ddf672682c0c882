/* SPDX-License-Identifier: MIT */
/* The part of the module openmp for tasks by libgomp's functions. */

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
	memcpy(copy, t, sizeof(*t));
	if (is_copy(t) && t->loop) {
		copy->words[0] = from_word;
		copy->words[1] = to_word;
	}
	if (t->copy)
		t->copy(data, program);
	else
		memcpy(data, program, t->size);
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

/* Returns what it has ended: waiting in which the runtime runs the task. */
INLINE enum wait begin_task(struct within *w, const void *code, uint64_t number)
{
	enum wait wait = w->outer ? w->outer->wait : NO_WAIT;

	end_wait(wait);
	sonde_begin("omp task", CODE(code), SONDE_U64("task", number), SONDE_U64("region", w->region));
	be_within(w);
	return wait;
}

INLINE void end_task(const struct within *w, enum wait wait)
{
	be_within(w->outer);
	sonde_end("omp task");
	begin_wait(wait, NULL, 1);
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
	enum wait wait = begin_task(&w, t->fn, t->number);

	t->fn(data);
	end_task(&w, wait);
}

/* Those of a region that was not seen are left alone: they may outlive what is recorded. */
INLINE const struct within *recorded_region(body *fn)
{
	return fn ? within() : NULL;
}

INLINE void begin_task_create(const void *code, uint64_t number, uint32_t flags, uint32_t deferred)
{
	sonde_begin("omp task create", CODE(code), SONDE_U64("task", number), SONDE_U32("flags", flags),
		    SONDE_U32("deferred", deferred));
}

INLINE void end_task_create(void)
{
	sonde_end("omp task create");
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
	begin_task_create(fn, t.number, flags, deferred);
	ASKED(SONDE_REAL_POINTER(GOMP_task)(run_task, &t, copy_task, (long)(t.offset + t.size), (long)TASK_ALIGN(align),
					    deferred, flags, depend, priority, detach));
	end_task_create();
}

INLINE void begin_taskloop(const void *code, uint64_t number, uint32_t flags, uint64_t n, int64_t from, int64_t to,
			   int64_t step)
{
	sonde_begin("omp taskloop", CODE(code), SONDE_U64("task", number), SONDE_U32("flags", flags),
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
		memcpy((char *)t + offset, data, (uint64_t)size);                                                  \
		if (flags & TASK_REDUCTION)                                                                            \
			t->words[2] = ((uint64_t *)data)[2];                                                           \
		begin_taskloop(fn, t->number, flags, n, (int64_t)from, (int64_t)to, (int64_t)step);                                       \
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

INLINE void yields(const void *caller)
{
	POINT("omp taskyield", "called", CODE(caller));
}

SONDE_WRAP_IF_PRESENT(void, GOMP_taskyield, (void))
{
	yields(CALLER);
	ASKED(SONDE_REAL_POINTER(GOMP_taskyield)());
}

INLINE void begin_taskgroup(const void *caller)
{
	sonde_begin("omp taskgroup", CODE(caller));
}

INLINE void end_taskgroup(void)
{
	sonde_end("omp taskgroup");
}

SONDE_WRAP_IF_PRESENT(void, GOMP_taskgroup_start, (void))
{
	begin_taskgroup(CALLER);
	ASKED(SONDE_REAL_POINTER(GOMP_taskgroup_start)());
}

SONDE_WRAP_IF_PRESENT(void, GOMP_taskgroup_end, (void))
{
	WAITING(TASKGROUP, SONDE_REAL_POINTER(GOMP_taskgroup_end)());
	end_taskgroup();
}

SONDE_WRAP_IF_PRESENT(void, omp_fulfill_event, (uintptr_t event))
{
	POINT("omp event", "fulfilled", SONDE_PTR("event", event));
	SONDE_REAL_POINTER(omp_fulfill_event)(event);
}
