/* SPDX-License-Identifier: MIT */
/*
 * sonde/module.h - write a Sonde module: a C file that wraps functions of a program and records
 * what they do.
 *
 *	#include <sonde/module.h>
 *	SONDE_MODULE("compute", "times compute() and notes its size");
 *	SONDE_WRAP(double, compute, (int n, double *a)) {
 *		sonde_enter(SONDE_I32("n", n));
 *		double sum = SONDE_REAL(compute)(n, a);
 *		sonde_leave(SONDE_F64("sum", sum));
 *		return sum;
 *	}
 *
 * Use it with `sonde -m ./compute.c -- ./app`.  The interface:
 *
 * SONDE_MODULE(name, description)            once in the file
 * SONDE_MODULE_FOR(name, desc, "sonames")    the same, active only if one of these libraries is
 *                                            loaded ("libmpi.so.40 libmpi.so.20"), or one of these
 *                                            functions is there ("MPIR_Err_return_comm()"): it may
 *                                            be linked statically
 * SONDE_WRAP(type, function, (params)) {}    replaces every call of `function` in the program
 * SONDE_WRAP_IF_PRESENT(type, function, ...) the same, without a warning where there is none
 * SONDE_WRAP_SYMBOL(type, id, "symbol", ...) for names that are no C identifiers (C++, Fortran);
 *                                            within the file the function is called `id`
 * SONDE_WRAP_SYMBOL_IF_PRESENT(...)          the same, without a warning where there is none
 * SONDE_REAL(function)(args)                 calls the original function
 * SONDE_REAL_POINTER(function)               the original's address, for tail calls of wrappers
 *                                            that record nothing
 * sonde_enter(fields...)                     the function begins, with its arguments
 * sonde_leave(fields...)                     it ends, with its result
 * sonde_point("name", fields...)             something happens; anywhere inside a wrapper
 * sonde_begin("name", fields...)             something of that name begins, which may go on when the wrapper has
 * sonde_end("name", fields...)               returned, and ends; recorded as if it were a call
 * sonde_callback()                           in a function of the module that the program or a library calls by its
 *                                            address: may it record?  First of all there; false: nothing may be recorded
 * sonde_count("name")                        adds one to a counter of the thread
 * sonde_frames()                             how many frames of the stack the user wants to see (--alloc-stack), 1 to 8
 * sonde_callers(code, n)                     in a wrapper: stores where it returns to, where its caller does, and so on, n addresses in
 *                                            all, 0 where there are no more, 1 where they are not known: SONDE_PTR("code", code[0]),
 *                                            SONDE_PTR("code2", code[1]), ...: readers say what is there
 * sonde_readable(pointer)                    can the word there be read?  A system call
 * SONDE_ON_START { }, SONDE_ON_EXIT { }      code to run before main() and at a normal exit
 * SONDE_ON_MEMORY(batch) { }, ...            the program's memory accesses: see below
 *
 * Fields: SONDE_I32 SONDE_I64 SONDE_U32 SONDE_U64 SONDE_F64 SONDE_PTR SONDE_BYTES ("name", value),
 * SONDE_STR("name", string), SONDE_STRN("name", pointer, length), SONDE_PATH("name", string) for
 * what the kernel is to read (a bad pointer there makes the function fail, not crash).  About the time
 * of a function, in sonde_enter(): SONDE_WAIT, it counts as waiting; SONDE_WAIT_FOR("messages"), the same, and
 * reports say for what; SONDE_APART("start-up"), neither it nor what happens in it counts as waiting, and reports
 * show it apart.  Of such calls in one another the outermost counts.  At most 12 fields in one record.
 *
 * Between sonde_enter() and sonde_leave() the wrapper may call anything: wrapped functions that it
 * calls are not recorded and their wrappers do not run, except below SONDE_REAL().  A function
 * that is left by longjmp or an exception is closed in the trace by itself.  After sonde_begin() the program goes on, and
 * what it calls is recorded.  What begins inside of something else has to end inside of it.
 *
 * Memory accesses.  A module that has one of these is given those of all instrumented functions, exactly and in
 * the order in which each thread made them.  This works as if --mem had been given, and may be besides wrappers, or alone:
 *
 *	SONDE_MODULE("bytes", "sums up what is loaded");
 *	static unsigned long sum;
 *	SONDE_ON_MEMORY(batch) {
 *		struct sonde_access a;
 *		while (sonde_next_access(batch, &a))
 *			if (a.kind == SONDE_LOAD)
 *				sum += a.size;
 *	}
 *	SONDE_ON_MEMORY_END(end) {
 *		sonde_print(end, "%lu bytes\n", sum);
 *	}
 *
 * SONDE_ON_MEMORY(batch) { }                 some accesses of one thread; again and again
 * SONDE_ON_MEMORY_COUNTS(batch) { }          in its place, faster: only how many there were
 * SONDE_ON_MEMORY_END(end) { }               once, when the program has ended
 * SONDE_ON_MEMORY_MERGE(into, from) { }      adds what the module knows of a thread, from->data, to into->data, of another part
 *                                            of the same thread's accesses; both are there, of equal size
 * SONDE_KEEP_MEMORY                          the accesses are written into the trace, too
 * SONDE_PROFILE_MEMORY                       Sonde makes a profile of them, as `sonde memory' does of a trace
 * SONDE_SIMULATE_CACHES                      Sonde simulates caches with them, as `sonde cache' does with a trace
 * SONDE_FIND_SHARING                         Sonde finds lines that threads share, as `sonde sharing' does in a trace
 * sonde_next_access(batch, &a)               false: that was all.  a.address, a.size (bytes), a.kind (SONDE_LOAD,
 *                                            SONDE_STORE, SONDE_MODIFY, SONDE_PREFETCH), a.stack (push, pop,
 *                                            call, ret), a.instruction (its address)
 * sonde_batch_counts(batch)                  in SONDE_ON_MEMORY_COUNTS, const struct sonde_counts *: accesses[kind],
 *                                            bytes[kind]
 * sonde_batch_thread(batch)                  struct sonde_thread *: pid, tid, name, gaps
 * sonde_thread_data(thread, bytes)           memory for what the module knows of that thread; zeroed at first; the same
 *                                            each time, so ask for the same size; NULL: there is none
 * sonde_thread_add(thread, "name", n)        adds to a sum that the trace keeps and `sonde report' shows
 * sonde_next_thread(end, thread)             NULL first, then the one before; NULL: that was all
 * sonde_print(end, format, ...)              as printf(): into the trace as NAME.txt, and on standard error if that is
 *                                            a terminal
 *
 * These run in Sonde's own process, one at a time, not in the program: they may use any library, and variables are not
 * shared with wrappers.  A batch holds some accesses of one thread; between threads there is no order.  A fault in
 * one ends the recording, not the program.
 *
 * With SONDE_ON_MEMORY_MERGE, or `sonde --analyze=program', the first two also run in the program's threads, several at once,
 * with signals blocked.  For that the module may use nothing beyond this header and have no variables: what it knows is in
 * sonde_thread_data(), without pointers, or in sums.
 *
 * Wrappers run in the program's threads, in signal handlers too where the program calls wrapped
 * functions there.  In programs without the GNU C library, as fully static ones are, what uses that has one of its own: then
 * pointers to the program's functions are not to be called but by SONDE_REAL().
 * C only; compiled with GCC or Clang.
 */
#ifndef SONDE_MODULE_H
#define SONDE_MODULE_H

#include <stddef.h>
#include <stdint.h>
#include <sonde/abi.h>

#define SONDE__SECTION(s) __attribute__((section(s), used))
#define SONDE__UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SONDE__INLINE static inline __attribute__((always_inline, unused))
#define SONDE__STR_(x) #x
#define SONDE__STR(x) SONDE__STR_(x)

/* Access to the pool.  Volatile: the GS base may change under a call, in a forked child too. */
#define SONDE__GET(off)                                                                       \
	(__extension__({                                                                      \
		uint64_t sonde__v;                                                            \
		__asm__ volatile("movq %%gs:" SONDE__STR(off) ", %0" : "=r"(sonde__v)); \
		sonde__v;                                                                     \
	}))
#define SONDE__SET(off, v)                                                                    \
	__asm__ volatile("movq %0, %%gs:" SONDE__STR(off) : : "er"((uint64_t)(v)) : "memory")

SONDE__INLINE uint64_t sonde__tcb(void)
{
	uint64_t tcb;

	__asm__ volatile("movq %%fs:0, %0" : "=r"(tcb));
	return tcb;
}

/* The injector fills this in; a module without it in place has no wrapper that runs. */
static const struct sonde_api *sonde__api __attribute__((used));

/* Section starts and ends, from the linker; weak: a module may have none of a kind. */
#define SONDE__BOUNDS(type, section)                                                          \
	extern type __start_##section[] __attribute__((weak, visibility("hidden")));          \
	extern type __stop_##section[] __attribute__((weak, visibility("hidden")))

typedef void (*const sonde__hook)(void);
SONDE__BOUNDS(struct sonde_wrap *const, sonde_wraps);
SONDE__BOUNDS(struct sonde_site *const, sonde_sites);
SONDE__BOUNDS(sonde__hook, sonde_start);
SONDE__BOUNDS(sonde__hook, sonde_exit);
SONDE__BOUNDS(const struct sonde_memory_hook *const, sonde_memory);

#define SONDE__DESCRIBE(name_, description_, needs_)                                           \
	extern const struct sonde_module sonde_module;                                        \
	__attribute__((visibility("default"), used)) const struct sonde_module sonde_module = { \
		.magic = SONDE_MODULE_MAGIC,                                                  \
		.abi = SONDE_ABI_VERSION,                                                     \
		.flags = SONDE_MODULE_MEMORY | SONDE_MODULE_MERGE,                                                 \
		.name = name_,                                                                \
		.description = description_,                                                  \
		.needs = needs_,                                                              \
		.api = &sonde__api,                                                           \
		.wraps_begin = __start_sonde_wraps,                                           \
		.wraps_end = __stop_sonde_wraps,                                              \
		.sites_begin = __start_sonde_sites,                                           \
		.sites_end = __stop_sonde_sites,                                              \
		.start_begin = __start_sonde_start,                                           \
		.start_end = __stop_sonde_start,                                              \
		.exit_begin = __start_sonde_exit,                                             \
		.exit_end = __stop_sonde_exit,                                                \
		.memory_begin = __start_sonde_memory,                                         \
		.memory_end = __stop_sonde_memory,                                            \
	}

#define SONDE_MODULE(name_, description_) SONDE__DESCRIBE(name_, description_, NULL)
#define SONDE_MODULE_FOR(name_, description_, sonames_)                                        \
	SONDE__DESCRIBE(name_, description_, sonames_)

/* ---- wrapping ---- */

/*
 * Names are pasted and quoted at the first level, where they are not expanded: `open` may be a
 * macro.  .function is what __func__ is inside the wrapper; its sites are found by that.
 */
#define SONDE_WRAP(ret_, name_, params_)                                                       \
	SONDE__WRAP(ret_, sonde__real_##name_, sonde__wrap_##name_, sonde__desc_##name_,       \
		    sonde__place_##name_, "sonde__wrap_" #name_, #name_, params_, 0)
#define SONDE_WRAP_IF_PRESENT(ret_, name_, params_)                                            \
	SONDE__WRAP(ret_, sonde__real_##name_, sonde__wrap_##name_, sonde__desc_##name_,       \
		    sonde__place_##name_, "sonde__wrap_" #name_, #name_, params_,              \
		    SONDE_WRAP_OPTIONAL)
#define SONDE_WRAP_SYMBOL(ret_, id_, symbol_, params_)                                         \
	SONDE__WRAP(ret_, sonde__real_##id_, sonde__wrap_##id_, sonde__desc_##id_,             \
		    sonde__place_##id_, "sonde__wrap_" #id_, symbol_, params_, 0)
#define SONDE_WRAP_SYMBOL_IF_PRESENT(ret_, id_, symbol_, params_)                              \
	SONDE__WRAP(ret_, sonde__real_##id_, sonde__wrap_##id_, sonde__desc_##id_,             \
		    sonde__place_##id_, "sonde__wrap_" #id_, symbol_, params_,                 \
		    SONDE_WRAP_OPTIONAL)

/* Parameters of a list in parentheses. */
#define SONDE__COUNT(...)                                                                      \
	SONDE__LAST(__VA_ARGS__, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, \
		    17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define SONDE__LAST(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, _19, _20, _21, _22, _23, \
		    _24, _25, _26, _27, _28, _29, _30, _31, _32, _33, _34, _35, _36, _37, _38, _39, _40, n, ...) n

#define SONDE__WRAP(ret_, real_, wrap_, desc_, place_, function_, symbol_, params_, flags_)    \
	static ret_(*real_) params_;                                                          \
	static ret_ wrap_ params_;                                                            \
	static struct sonde_wrap desc_ __attribute__((used)) = {                              \
		.symbol = symbol_,                                                            \
		.function = function_,                                                        \
		.wrapper = (void *)wrap_,                                                     \
		.real = (void **)&real_,                                                      \
		.flags = (flags_) | (SONDE__COUNT params_) << SONDE_WRAP_PARAMS_SHIFT,         \
	};                                                                                    \
	static struct sonde_wrap *const place_ SONDE__SECTION("sonde_wraps") = &desc_;        \
	__attribute__((noinline, used)) static ret_ wrap_ params_

/*
 * While the original function runs the pool is open again, so that what it calls is recorded.
 * SONDE_REAL(f)(args) becomes one expression: SONDE_REAL(f) opens it and ends in the name of a
 * macro that takes the argument list and closes it.  If the function does not return (longjmp,
 * exception, exit) the pool stays open, which is right.
 */
#define SONDE_REAL(name_)                                                                      \
	(__extension__({                                                                      \
		uint64_t sonde__was __attribute__((cleanup(sonde__close_again), unused)) =    \
			sonde__open();                                                        \
		sonde__real_##name_ SONDE__REAL_CALL
#define SONDE__REAL_CALL(...)                                                                  \
		(__VA_ARGS__);                                                                \
	}))

#define SONDE_REAL_POINTER(name_) sonde__real_##name_

SONDE__INLINE uint64_t sonde__open(void)
{
	uint64_t was = SONDE__GET(SONDE_POOL_OWNER);

	if (was == 0)
		SONDE__SET(SONDE_POOL_OWNER, sonde__tcb());
	return was;
}

/*
 * The stack pointer first: a signal handler that finds the pool closed looks at it.  It does for a
 * frame address, which would cost every wrapper a frame pointer.
 */
SONDE__INLINE void sonde__close(void)
{
	__asm__ volatile("movq %%rsp, %%gs:" SONDE__STR(SONDE_POOL_CLOSED_SP) : : : "memory");
	SONDE__SET(SONDE_POOL_OWNER, 0);
}

SONDE__INLINE void sonde__close_again(uint64_t *was)
{
	if (*was == 0)
		sonde__close();
}

/* ---- recording ---- */

/* A field's value; of a string the length and where it is. */
struct sonde__value {
	uint64_t w;
	const char *p;
};

/* Eight bytes wherever they are. */
struct sonde__word {
	uint64_t w;
} __attribute__((packed, may_alias));

SONDE__INLINE uint64_t sonde__f64_bits(double v)
{
	return ((union { double d; uint64_t bits; }){ .d = v }).bits;
}

SONDE__INLINE uint64_t sonde__fit(uint64_t len, uint64_t longest)
{
	return len < longest ? len : longest;
}

SONDE__INLINE struct sonde__value sonde__strn(const char *p, uint64_t len)
{
	return (struct sonde__value){ p ? sonde__fit(len, SONDE_MAX_STRING) : 0, p };
}

/* Not strlen(): that belongs to the program, which may have it wrapped. */
static __attribute__((unused, noinline)) struct sonde__value sonde__str(const char *p)
{
	uint64_t n = 0;

	while (p && n < SONDE_MAX_STRING && ((const volatile char *)p)[n])
		n++;
	return (struct sonde__value){ n, p };
}

/*
 * Can the word around @address be read?  rt_sigprocmask(2) with an impossible `how` looks at it and
 * changes nothing: EFAULT, or EINVAL.
 */
SONDE__INLINE int sonde_readable(const volatile void *address)
{
	register uint64_t size __asm__("r10") = 8;
	int64_t result;

	/* To the system call 0 means "no word". */
	if ((uintptr_t)address < 8)
		return 0;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(INT64_C(14)), "D"(INT64_C(-1)),
			   "S"((uintptr_t)address & ~(uintptr_t)7), "d"(INT64_C(0)), "r"(size)
			 : "rcx", "r11", "memory");
	return result != -14;
}

/* As sonde__str(), but ends where the memory ends; one look for each page. */
static __attribute__((unused, noinline)) struct sonde__value sonde__path(const char *p)
{
	uint64_t n = 0;

	while (p && n < SONDE_MAX_STRING) {
		if ((n == 0 || ((uintptr_t)(p + n) & 4095) == 0) && !sonde_readable(p + n))
			break;
		if (!((const volatile char *)p)[n])
			break;
		n++;
	}
	return (struct sonde__value){ n, p };
}

/* A field is a parenthesized triple: name, type, value. */
#define SONDE_I32(n, v) (n, SONDE_T_I32, (uint64_t)(int64_t)(int32_t)(v))
#define SONDE_I64(n, v) (n, SONDE_T_I64, (uint64_t)(int64_t)(v))
#define SONDE_U32(n, v) (n, SONDE_T_U32, (uint64_t)(uint32_t)(v))
#define SONDE_U64(n, v) (n, SONDE_T_U64, (uint64_t)(v))
#define SONDE_F64(n, v) (n, SONDE_T_F64, sonde__f64_bits(v))
#define SONDE_PTR(n, v) (n, SONDE_T_PTR, (uint64_t)(uintptr_t)(v))
#define SONDE_BYTES(n, v) (n, SONDE_T_BYTES, (uint64_t)(v))
#define SONDE_STR(n, v) (n, SONDE_T_STR, sonde__str(v))
#define SONDE_PATH(n, v) (n, SONDE_T_STR, sonde__path(v))
#define SONDE_STRN(n, v, len) (n, SONDE_T_STR, sonde__strn(v, len))
#define SONDE_WAIT SONDE_WAIT_FOR("wait")
#define SONDE_WAIT_FOR(what) (what, SONDE_T_WAIT, 0)
#define SONDE_APART(what) (what, SONDE_T_APART, 0)

/* Applies a macro to each of up to 12 arguments. */
#define SONDE__M0(m)
#define SONDE__M1(m, a) m a
#define SONDE__M2(m, a, ...) m a SONDE__M1(m, __VA_ARGS__)
#define SONDE__M3(m, a, ...) m a SONDE__M2(m, __VA_ARGS__)
#define SONDE__M4(m, a, ...) m a SONDE__M3(m, __VA_ARGS__)
#define SONDE__M5(m, a, ...) m a SONDE__M4(m, __VA_ARGS__)
#define SONDE__M6(m, a, ...) m a SONDE__M5(m, __VA_ARGS__)
#define SONDE__M7(m, a, ...) m a SONDE__M6(m, __VA_ARGS__)
#define SONDE__M8(m, a, ...) m a SONDE__M7(m, __VA_ARGS__)
#define SONDE__M9(m, a, ...) m a SONDE__M8(m, __VA_ARGS__)
#define SONDE__M10(m, a, ...) m a SONDE__M9(m, __VA_ARGS__)
#define SONDE__M11(m, a, ...) m a SONDE__M10(m, __VA_ARGS__)
#define SONDE__M12(m, a, ...) m a SONDE__M11(m, __VA_ARGS__)
#define SONDE__PICK(_0, _1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, n, ...) n
#define SONDE__MAP(m, ...)                                                                     \
	SONDE__PICK(_, ##__VA_ARGS__, SONDE__M12, SONDE__M11, SONDE__M10, SONDE__M9,           \
		    SONDE__M8, SONDE__M7, SONDE__M6, SONDE__M5, SONDE__M4, SONDE__M3,          \
		    SONDE__M2, SONDE__M1, SONDE__M0)(m, ##__VA_ARGS__)

#define SONDE__FIELD(n, t, v) { n, t },
/* Each value is evaluated once, into an array; then the size is known; then come the stores. */
#define SONDE__VALUE(n, t, v) SONDE__VALUE_##t(v)
#define SONDE__VALUE_SONDE_T_I32(v) { (v), NULL },
#define SONDE__VALUE_SONDE_T_I64(v) { (v), NULL },
#define SONDE__VALUE_SONDE_T_U32(v) { (v), NULL },
#define SONDE__VALUE_SONDE_T_U64(v) { (v), NULL },
#define SONDE__VALUE_SONDE_T_F64(v) { (v), NULL },
#define SONDE__VALUE_SONDE_T_PTR(v) { (v), NULL },
#define SONDE__VALUE_SONDE_T_BYTES(v) { (v), NULL },
#define SONDE__VALUE_SONDE_T_STR(v) (v),
#define SONDE__VALUE_SONDE_T_WAIT(v) { 1, NULL }, /* not 0: Clang at -O0 would call memset() */
#define SONDE__VALUE_SONDE_T_APART(v) { 1, NULL },

/* How many bytes of each string fit into a record. */
SONDE__INLINE uint64_t sonde__longest(const struct sonde_field *f, int n)
{
	uint64_t strings = 0;
	uint64_t each;

	for (int i = 0; i < n; i++)
		strings += f[i].type == SONDE_T_STR;
	if (strings == 0)
		return 0;
	each = (SONDE_MAX_RECORD - 16 - 8 * (uint64_t)n) / strings & ~UINT64_C(7);
	return each < SONDE_MAX_STRING ? each : SONDE_MAX_STRING;
}

SONDE__INLINE uint64_t sonde__size(const struct sonde_field *f, const struct sonde__value *v, int n)
{
	uint64_t longest = sonde__longest(f, n);
	uint64_t bytes = 0;

	for (int i = 0; i < n; i++) {
		if (f[i].type == SONDE_T_STR)
			bytes += 8 + ((sonde__fit(v[i].w, longest) + 7) & ~UINT64_C(7));
		else if (f[i].type < SONDE_T_WAIT)
			bytes += 8;
	}
	return bytes;
}

/* Volatile, lest the compiler make a call of memcpy() from it. */
static __attribute__((unused, noinline)) volatile uint64_t *
sonde__put_str(volatile uint64_t *p, const char *s, uint64_t len)
{
	uint64_t i = 0;
	uint64_t last = 0;

	*p++ = len;
	for (; i + 8 <= len; i += 8)
		*p++ = ((const volatile struct sonde__word *)(s + i))->w;
	for (uint64_t k = i; k < len; k++)
		last |= (uint64_t)((const volatile unsigned char *)s)[k] << 8 * (k - i);
	if (i < len)
		*p++ = last;
	return p;
}

SONDE__INLINE void sonde__put(volatile uint64_t *p, const struct sonde_field *f,
			      const struct sonde__value *v, int n)
{
	uint64_t longest = sonde__longest(f, n);

	for (int i = 0; i < n; i++) {
		if (f[i].type == SONDE_T_STR)
			p = sonde__put_str(p, v[i].p, sonde__fit(v[i].w, longest));
		else if (f[i].type < SONDE_T_WAIT)
			*p++ = v[i].w;
	}
}

/*
 * Writes one record at the pool's pointer.  The pool is closed, so that nothing else of this
 * thread records in between, but for a signal handler: the gate then steps over the record in
 * the making, and adding to the pointer instead of storing it keeps what the handler wrote.  The
 * first word goes last: a record without it was never made.
 */
SONDE__INLINE void sonde__write(const struct sonde_site *site, uint32_t kind, uint64_t frame,
				const struct sonde_field *f, const struct sonde__value *v, int n)
{
	uint64_t head = kind == SONDE_ENTER ? 16 : 8;
	uint64_t bytes = head + sonde__size(f, v, n);
	uint64_t id = ((const volatile struct sonde_site *)site)->id;
	uint64_t at;

	if (SONDE__UNLIKELY(id == 0))
		return;
	/*
	 * A signal handler leaves the pool open.  If it came before `at` was read, one that comes now would
	 * record at the same place: so it is closed once more, and from then on handlers step over it.
	 */
	do {
		at = SONDE__GET(SONDE_POOL_PTR);
		if (SONDE__UNLIKELY(at + bytes > SONDE__GET(SONDE_POOL_LIMIT))) {
			at = (uint64_t)(uintptr_t)sonde__api->room(bytes);
			if (!at)
				return;
		}
		if (SONDE__UNLIKELY(SONDE__GET(SONDE_POOL_OWNER) != 0))
			sonde__close();
	} while (SONDE__UNLIKELY(at != SONDE__GET(SONDE_POOL_PTR)));
	volatile uint64_t *p = (volatile uint64_t *)(uintptr_t)at;
	uint64_t time = __builtin_ia32_rdtsc();

	if (kind == SONDE_ENTER)
		p[1] = frame;
	sonde__put(p + head / 8, f, v, n);
	p[0] = time << SONDE_ID_BITS | id;
	__asm__ volatile("addq %0, %%gs:" SONDE__STR(SONDE_POOL_PTR)
			 :
			 : "er"(bytes)
			 : "memory", "cc");
}

#define SONDE__RECORD(kind_, function_, name_, frame_, opens_, ...)                            \
	do {                                                                                  \
		static const struct sonde_field sonde__f[] = {                                \
			SONDE__MAP(SONDE__FIELD, ##__VA_ARGS__){ NULL, SONDE_T_END }          \
		};                                                                            \
		static struct sonde_site sonde__s = { .kind = kind_,                          \
						      .function = function_,                  \
						      .name = name_,                          \
						      .fields = sonde__f };                   \
		static struct sonde_site *const sonde__sp SONDE__SECTION("sonde_sites") =     \
			&sonde__s;                                                            \
		const uint64_t sonde__opens = (opens_);                                       \
                                                                                              \
		sonde__close();                                                               \
		const struct sonde__value sonde__v[] = {                                      \
			SONDE__MAP(SONDE__VALUE, ##__VA_ARGS__)                               \
		};                                                                            \
		sonde__write(&sonde__s, kind_, frame_, sonde__f, sonde__v,                    \
			     (int)(sizeof(sonde__v) / sizeof(sonde__v[0])));                  \
		if (sonde__opens)                                                             \
			SONDE__SET(SONDE_POOL_OWNER, sonde__tcb());                           \
	} while (0)
#define SONDE__AS_IT_WAS SONDE__GET(SONDE_POOL_OWNER)
#define SONDE__FRAME ((uint64_t)(uintptr_t)__builtin_frame_address(0))

/* Not ", ##": with -std=c11 and a lone "..." that would leave the comma. */
#define sonde_enter(...)                                                                       \
	SONDE__RECORD(SONDE_ENTER, __func__, NULL, SONDE__FRAME, 0 __VA_OPT__(,) __VA_ARGS__)
#define sonde_leave(...)                                                                       \
	SONDE__RECORD(SONDE_LEAVE, __func__, NULL, 0, 1 __VA_OPT__(,) __VA_ARGS__)
#define sonde_point(name_, ...)                                                                \
	SONDE__RECORD(SONDE_POINT, __func__, name_, 0, SONDE__AS_IT_WAS, ##__VA_ARGS__)

/*
 * What begins outlives the wrapper, so its frame is the caller's: where the stack pointer was before the call, with what
 * the call has pushed, @words arguments and what aligns them.  The lowest bit says so, since a caller may be in several.
 */
#define SONDE__CALLERS_FRAME(words_) (SONDE__FRAME + 16 + ((8 * (words_) + 15) & ~15u) + 1)
#define SONDE__BEGIN(name_, words_, ...)                                                       \
	SONDE__RECORD(SONDE_ENTER, name_, NULL, SONDE__CALLERS_FRAME(words_), SONDE__AS_IT_WAS, ##__VA_ARGS__)
#define sonde_begin(name_, ...) SONDE__BEGIN(name_, 0, ##__VA_ARGS__)
#define sonde_end(name_, ...)                                                                  \
	SONDE__RECORD(SONDE_LEAVE, name_, NULL, 0, SONDE__AS_IT_WAS, ##__VA_ARGS__)

/* Where a recording has left a module behind its events have no ids any more. */
SONDE__INLINE int sonde__left_behind(void)
{
	struct sonde_site *const *site = __start_sonde_sites;

	while (site < __stop_sonde_sites && (*site)->kind == SONDE_COUNTER)
		site++;
	return site == __stop_sonde_sites || ((const volatile struct sonde_site *)*site)->id == 0;
}

SONDE__INLINE int sonde_callback(void)
{
	if (!*(const struct sonde_api *const volatile *)&sonde__api || sonde__left_behind())
		return 0;
	if (__builtin_expect(SONDE__GET(SONDE_POOL_OWNER) == sonde__tcb(), 1))
		return 1;
	return sonde__api->open(SONDE__FRAME) != 0;
}

/* Where stacks are not wanted, or the runtime is an old one, the caller is all there is. */
SONDE__INLINE uint32_t sonde_frames(void)
{
	const uint32_t n = ((const volatile struct sonde_api *)sonde__api)->frames;

	return n > 1 ? n : 1;
}
#define sonde_callers(code_, n_) sonde__api->callers(SONDE__FRAME, (code_), (n_))

#define sonde_count(name_)                                                                     \
	do {                                                                                  \
		static struct sonde_site sonde__s = { .kind = SONDE_COUNTER,                  \
						      .function = __func__,                   \
						      .name = name_ };                        \
		static struct sonde_site *const sonde__sp SONDE__SECTION("sonde_sites") =     \
			&sonde__s;                                                            \
		uint64_t sonde__c = SONDE__GET(SONDE_POOL_COUNTERS);                          \
                                                                                              \
		if (__builtin_expect(sonde__c != 0, 1))                                       \
			__asm__ volatile("incq (%0)"                                          \
					 :                                                    \
					 : "r"(sonde__c + 8ULL * sonde__s.id)                 \
					 : "memory", "cc");                                   \
	} while (0)

/* ---- hooks ---- */

/*
 * The dynamic linker runs them as constructor and destructor, if the module is in use.  In a static
 * program the injector finds them in their sections.  Volatile: Clang runs constructors when it compiles if it
 * can, with the values of then.
 */
#define SONDE__HOOK(when_, how_)                                                               \
	static void sonde__on_##when_(void);                                                  \
	static sonde__hook sonde__on_##when_##_p SONDE__SECTION("sonde_" #when_) =            \
		sonde__on_##when_;                                                            \
	__attribute__((how_)) static void sonde__run_##when_(void)                            \
	{                                                                                     \
		if (*(const struct sonde_api *const volatile *)&sonde__api)                   \
			sonde__on_##when_();                                                  \
	}                                                                                     \
	static void sonde__on_##when_(void)
#define SONDE_ON_START SONDE__HOOK(start, constructor)
#define SONDE_ON_EXIT SONDE__HOOK(exit, destructor)

/* ---- memory accesses ---- */

struct sonde_access {
	uint64_t address;
	uint64_t instruction;
	uint32_t size;
	enum sonde_access_kind kind;
	int stack;
};

#define SONDE__ON_MEMORY(member_, function_, param_)                                           \
	static void function_(param_);                                                        \
	static const struct sonde_memory_hook function_##_hook = { .member_ = function_ };    \
	static const struct sonde_memory_hook *const function_##_p                            \
		SONDE__SECTION("sonde_memory") = &function_##_hook;                           \
	static void function_(param_)
#define SONDE_ON_MEMORY(batch_)                                                                \
	SONDE__ON_MEMORY(batch, sonde__on_memory, struct sonde_batch *batch_)
#define SONDE_ON_MEMORY_COUNTS(batch_)                                                         \
	SONDE__ON_MEMORY(counts, sonde__on_memory_counts, struct sonde_batch *batch_)
#define SONDE_ON_MEMORY_END(end_)                                                              \
	SONDE__ON_MEMORY(end, sonde__on_memory_end, struct sonde_end *end_)
#define SONDE_ON_MEMORY_MERGE(into_, from_)                                                    \
	static void sonde__on_memory_merge(struct sonde_thread *into_, const struct sonde_thread *from_); \
	static const struct sonde_memory_hook sonde__on_memory_merge_hook = { .merge = sonde__on_memory_merge }; \
	static const struct sonde_memory_hook *const sonde__on_memory_merge_p                 \
		SONDE__SECTION("sonde_memory") = &sonde__on_memory_merge_hook;                \
	static void sonde__on_memory_merge(struct sonde_thread *into_, const struct sonde_thread *from_)
#define SONDE__MEMORY_FLAG(name_, flag_)                                                       \
	static const struct sonde_memory_hook name_ = { .flags = flag_ };                     \
	static const struct sonde_memory_hook *const name_##_p SONDE__SECTION("sonde_memory") = &name_
#define SONDE_KEEP_MEMORY SONDE__MEMORY_FLAG(sonde__keep, SONDE_MEMORY_TRACE)
#define SONDE_PROFILE_MEMORY SONDE__MEMORY_FLAG(sonde__profile, SONDE_MEMORY_PROFILE)
#define SONDE_SIMULATE_CACHES SONDE__MEMORY_FLAG(sonde__caches, SONDE_MEMORY_CACHES)
#define SONDE_FIND_SHARING SONDE__MEMORY_FLAG(sonde__sharing, SONDE_MEMORY_SHARING)

SONDE__INLINE int sonde_next_access(struct sonde_batch *batch, struct sonde_access *a)
{
	const struct sonde_access_word *w = batch->next;

	if (w == batch->end)
		return 0;
	a->address = w->address;
	a->instruction = w->instruction;
	a->size = w->size;
	a->kind = (enum sonde_access_kind)(w->kind & SONDE_ACCESS_KIND);
	a->stack = (w->kind & SONDE_ACCESS_STACK) != 0;
	batch->next = w + 1;
	return 1;
}

SONDE__INLINE const struct sonde_counts *sonde_batch_counts(const struct sonde_batch *batch)
{
	return &batch->counts;
}

SONDE__INLINE struct sonde_thread *sonde_batch_thread(const struct sonde_batch *batch)
{
	return batch->thread;
}

/* NULL: there is no memory. */
SONDE__INLINE void *sonde_thread_data(struct sonde_thread *thread, uint64_t bytes)
{
	if (SONDE__UNLIKELY(!thread->data))
		thread->data = thread->api->data(thread, bytes);
	return thread->data;
}

SONDE__INLINE void sonde_thread_add(struct sonde_thread *thread, const char *name, uint64_t n)
{
	thread->api->add(thread, name, n);
}

SONDE__INLINE struct sonde_thread *sonde_next_thread(const struct sonde_end *end,
						     const struct sonde_thread *thread)
{
	return thread ? thread->next : end->threads;
}

#define sonde_print(end_, ...) ((end_)->api->print((end_), __VA_ARGS__))

#endif /* SONDE_MODULE_H */
