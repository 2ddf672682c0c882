// SPDX-License-Identifier: MIT
/*
 * memory: allocations of the heap and mappings of the address space.
 *
 * These functions are called before main(), by the dynamic linker and from signal handlers, and
 * they call each other: calloc() may end in mmap(), operator new in malloc().  Each call is
 * recorded, the inner below the outer, so sizes are to be summed for one function at a time.
 * C11's aligned_alloc() and memalign() may be one piece of code; it is recorded once, under the
 * first of the names.
 *
 * "code" is where a block's owner called: of memory traces, it makes known which block an access was to.  With --alloc-stack
 * "code2" is where that was called, and so on.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sonde/module.h>

SONDE_MODULE("memory", "heap allocations and mappings: sizes and addresses");

#define CALLER SONDE_PTR("code", __builtin_return_address(0)) /* readers say what is there */
#define FRAMES 8
#define CALLERS_OF_6(v)                                                                        \
	SONDE_PTR("code", v[0]), SONDE_PTR("code2", v[1]), SONDE_PTR("code3", v[2]),           \
		SONDE_PTR("code4", v[3]), SONDE_PTR("code5", v[4]), SONDE_PTR("code6", v[5])
#define CALLERS(v) CALLERS_OF_6(v), SONDE_PTR("code7", v[6]), SONDE_PTR("code8", v[7])

/* What allocates: at entry, who has called, or the stack. */
#define ENTER_BY(callers, n, ...)                                                              \
	do {                                                                                   \
		if (__builtin_expect(sonde_frames() == 1, 1)) {                                \
			sonde_enter(__VA_ARGS__, CALLER);                                      \
		} else {                                                                       \
			uint64_t code_[FRAMES];                                                \
			sonde_callers(code_, n);                                               \
			sonde_enter(__VA_ARGS__, callers(code_));                              \
		}                                                                              \
	} while (0)
#define ENTER(...) ENTER_BY(CALLERS, FRAMES, __VA_ARGS__)
#define ENTER_FULL(...) ENTER_BY(CALLERS_OF_6, 6, __VA_ARGS__) /* a record has no more fields */

/* Type, name, parameters, arguments, what is recorded at entry, and what at return. */
#define RECORD(type, name, params, args, enter, after)                                         \
	SONDE_WRAP_IF_PRESENT(type, name, params)                                              \
	{                                                                                      \
		enter;                                                                         \
		type result = SONDE_REAL(name) args;                                           \
		sonde_leave after;                                                             \
		return result;                                                                 \
	}
#define ALLOCATE(type, name, params, args, before, after) RECORD(type, name, params, args, ENTER before, after)
#define CALL(type, name, params, args, before, after) RECORD(type, name, params, args, sonde_enter before, after)

#define SIZE(n) SONDE_BYTES("bytes", n)
#define ALIGNED(n) SONDE_U64("alignment", n)
#define ADDRESS(p) SONDE_PTR("address", p)
#define POINTER (SONDE_PTR("result", result))
#define STATUS (SONDE_I32("result", result))

/* 0 where no such amount can be had. */
static size_t product(size_t n, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(n, size, &bytes) ? 0 : bytes;
}

ALLOCATE(void *, malloc, (size_t n), (n), (SIZE(n)), POINTER)
ALLOCATE(void *, calloc, (size_t n, size_t size), (n, size), (SIZE(product(n, size))), POINTER)
ALLOCATE(void *, realloc, (void *p, size_t n), (p, n), (ADDRESS(p), SIZE(n)), POINTER)
ALLOCATE(void *, reallocarray, (void *p, size_t n, size_t size), (p, n, size),
     (ADDRESS(p), SIZE(product(n, size))), POINTER)
ALLOCATE(void *, aligned_alloc, (size_t alignment, size_t n), (alignment, n),
     (ALIGNED(alignment), SIZE(n)), POINTER)
ALLOCATE(void *, memalign, (size_t alignment, size_t n), (alignment, n),
     (ALIGNED(alignment), SIZE(n)), POINTER)
ALLOCATE(void *, valloc, (size_t n), (n), (SIZE(n)), POINTER)
ALLOCATE(void *, pvalloc, (size_t n), (n), (SIZE(n)), POINTER)

SONDE_WRAP_IF_PRESENT(int, posix_memalign, (void **p, size_t alignment, size_t n))
{
	ENTER(ALIGNED(alignment), SIZE(n));
	int status = SONDE_REAL(posix_memalign)(p, alignment, n);
	sonde_leave(SONDE_PTR("result", status == 0 ? *p : NULL), SONDE_I32("status", status));
	return status;
}

/* Functions without a result. */
#define GIVE_BACK(name, params, args, before)                                                  \
	SONDE_WRAP_IF_PRESENT(void, name, params)                                              \
	{                                                                                      \
		sonde_enter before;                                                            \
		SONDE_REAL(name) args;                                                         \
		sonde_leave();                                                                 \
	}

GIVE_BACK(free, (void *p), (p), (ADDRESS(p), CALLER))

/* C++: operator new and delete, in their several forms. */
#define NEW(name, symbol, params, args, ...)                                                   \
	SONDE_WRAP_SYMBOL_IF_PRESENT(void *, name, symbol, params)                             \
	{                                                                                      \
		ENTER(SIZE(n), ##__VA_ARGS__);                                                 \
		void *result = SONDE_REAL(name) args;                                          \
		sonde_leave(SONDE_PTR("result", result));                                      \
		return result;                                                                 \
	}
#define DELETE(name, symbol, params, args)                                                     \
	SONDE_WRAP_SYMBOL_IF_PRESENT(void, name, symbol, params)                               \
	{                                                                                      \
		sonde_enter(ADDRESS(p), CALLER);                                               \
		SONDE_REAL(name) args;                                                         \
		sonde_leave();                                                                 \
	}

NEW(new, "_Znwm", (size_t n), (n))
NEW(new_array, "_Znam", (size_t n), (n))
NEW(new_nothrow, "_ZnwmRKSt9nothrow_t", (size_t n, void *tag), (n, tag))
NEW(new_array_nothrow, "_ZnamRKSt9nothrow_t", (size_t n, void *tag), (n, tag))
NEW(new_aligned, "_ZnwmSt11align_val_t", (size_t n, size_t to), (n, to), ALIGNED(to))
NEW(new_array_aligned, "_ZnamSt11align_val_t", (size_t n, size_t to), (n, to), ALIGNED(to))
DELETE(delete, "_ZdlPv", (void *p), (p))
DELETE(delete_array, "_ZdaPv", (void *p), (p))
DELETE(delete_sized, "_ZdlPvm", (void *p, size_t n), (p, n))
DELETE(delete_array_sized, "_ZdaPvm", (void *p, size_t n), (p, n))
DELETE(delete_aligned, "_ZdlPvSt11align_val_t", (void *p, size_t to), (p, to))
DELETE(delete_array_aligned, "_ZdaPvSt11align_val_t", (void *p, size_t to), (p, to))

/* The address space. */
RECORD(void *, mmap, (void *p, size_t n, int prot, int flags, int fd, off_t at), (p, n, prot, flags, fd, at),
       ENTER_FULL(ADDRESS(p), SIZE(n), SONDE_I32("prot", prot), SONDE_U32("flags", flags), SONDE_I32("fd", fd),
		  SONDE_I64("offset", at)), POINTER)

CALL(int, munmap, (void *p, size_t n), (p, n), (ADDRESS(p), SIZE(n), CALLER), STATUS)
CALL(int, mprotect, (void *p, size_t n, int prot), (p, n, prot),
     (ADDRESS(p), SIZE(n), SONDE_I32("prot", prot)), STATUS)
CALL(int, madvise, (void *p, size_t n, int advice), (p, n, advice),
     (ADDRESS(p), SIZE(n), SONDE_I32("advice", advice)), STATUS)
CALL(void *, sbrk, (intptr_t increment), (increment), (SONDE_I64("increment", increment)),
     POINTER)
CALL(int, brk, (void *end), (end), (ADDRESS(end)), STATUS)

/* The new address is an argument only with MREMAP_FIXED or MREMAP_DONTUNMAP. */
SONDE_WRAP_IF_PRESENT(void *, mremap, (void *p, size_t old, size_t n, int flags, ...))
{
	void *to = NULL;
	va_list ap;

	va_start(ap, flags);
	if (flags & ~MREMAP_MAYMOVE)
		to = va_arg(ap, void *);
	va_end(ap);
	ENTER(ADDRESS(p), SONDE_U64("old_bytes", old), SIZE(n), SONDE_U32("flags", flags));
	void *result = SONDE_REAL(mremap)(p, old, n, flags, to);
	sonde_leave(SONDE_PTR("result", result));
	return result;
}
