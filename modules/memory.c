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
 * "code" is where a block's owner called: of memory traces, it makes known which block an access was to.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sonde/module.h>

SONDE_MODULE("memory", "heap allocations and mappings: sizes and addresses");

/* Type, name, parameters, arguments, what is recorded at entry, and what at return. */
#define CALL(type, name, params, args, before, after)                                          \
	SONDE_WRAP_IF_PRESENT(type, name, params)                                              \
	{                                                                                      \
		sonde_enter before;                                                            \
		type result = SONDE_REAL(name) args;                                           \
		sonde_leave after;                                                             \
		return result;                                                                 \
	}

#define SIZE(n) SONDE_BYTES("bytes", n)
#define ALIGNED(n) SONDE_U64("alignment", n)
#define ADDRESS(p) SONDE_PTR("address", p)
#define POINTER (SONDE_PTR("result", result))
#define STATUS (SONDE_I32("result", result))
#define CALLER SONDE_PTR("code", __builtin_return_address(0)) /* readers say what is there */

/* 0 where no such amount can be had. */
static size_t product(size_t n, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(n, size, &bytes) ? 0 : bytes;
}

CALL(void *, malloc, (size_t n), (n), (SIZE(n), CALLER), POINTER)
CALL(void *, calloc, (size_t n, size_t size), (n, size), (SIZE(product(n, size)), CALLER), POINTER)
CALL(void *, realloc, (void *p, size_t n), (p, n), (ADDRESS(p), SIZE(n), CALLER), POINTER)
CALL(void *, reallocarray, (void *p, size_t n, size_t size), (p, n, size),
     (ADDRESS(p), SIZE(product(n, size)), CALLER), POINTER)
CALL(void *, aligned_alloc, (size_t alignment, size_t n), (alignment, n),
     (ALIGNED(alignment), SIZE(n), CALLER), POINTER)
CALL(void *, memalign, (size_t alignment, size_t n), (alignment, n),
     (ALIGNED(alignment), SIZE(n), CALLER), POINTER)
CALL(void *, valloc, (size_t n), (n), (SIZE(n), CALLER), POINTER)
CALL(void *, pvalloc, (size_t n), (n), (SIZE(n), CALLER), POINTER)

SONDE_WRAP_IF_PRESENT(int, posix_memalign, (void **p, size_t alignment, size_t n))
{
	sonde_enter(ALIGNED(alignment), SIZE(n), CALLER);
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
		sonde_enter(SIZE(n), ##__VA_ARGS__, CALLER);                                           \
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
CALL(void *, mmap, (void *p, size_t n, int prot, int flags, int fd, off_t at),
     (p, n, prot, flags, fd, at),
     (ADDRESS(p), SIZE(n), SONDE_I32("prot", prot), SONDE_U32("flags", flags),
      SONDE_I32("fd", fd), SONDE_I64("offset", at), CALLER),
     POINTER)
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
	sonde_enter(ADDRESS(p), SONDE_U64("old_bytes", old), SIZE(n), SONDE_U32("flags", flags),
		    CALLER);
	void *result = SONDE_REAL(mremap)(p, old, n, flags, to);
	sonde_leave(SONDE_PTR("result", result));
	return result;
}
