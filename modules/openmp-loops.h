/* SPDX-License-Identifier: MIT */
/* The part of the module openmp for worksharing by libgomp's functions: loops, their chunks, and sections. */

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

/* The three ends of a construct: without waiting for the others, with, and where it may be cancelled. */
#define ENDS(construct, name)                                                                                          \
	SONDE_WRAP_IF_PRESENT(void, name##_nowait, (void))                                                             \
	{                                                                                                              \
		end_##construct();                                                                                     \
		SONDE_REAL_POINTER(name##_nowait)();                                                                   \
	}                                                                                                              \
	SONDE_WRAP_IF_PRESENT(void, name, (void))                                                                      \
	{                                                                                                              \
		end_##construct();                                                                                     \
		WAITING(BARRIER, SONDE_REAL_POINTER(name)());                                                          \
	}                                                                                                              \
	SONDE_WRAP_IF_PRESENT(bool, name##_cancel, (void))                                                             \
	{                                                                                                              \
		bool cancelled;                                                                                        \
                                                                                                                       \
		end_##construct();                                                                                     \
		WAITING(BARRIER, cancelled = SONDE_REAL_POINTER(name##_cancel)());                                     \
		return cancelled;                                                                                      \
	}
ENDS(loop, GOMP_loop_end)

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

ENDS(sections, GOMP_sections_end)
