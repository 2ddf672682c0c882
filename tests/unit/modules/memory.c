// SPDX-License-Identifier: GPL-3.0-or-later
/* memory's wrappers around the C library's functions, and around operator new and delete. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/unit/modules/harness.h"

static void *new_of(size_t n)
{
	return malloc(n);
}

static void delete_of(void *p)
{
	free(p);
}

static void *lookup(const char *symbol)
{
	if (strcmp(symbol, "_Znwm") == 0)
		return new_of;
	if (strcmp(symbol, "_ZdlPv") == 0)
		return delete_of;
	return harness_libc(symbol);
}

static void heap(void **state);

static int setup(void **state)
{
	(void)state;
	harness_load(harness_built("modules/memory.so"), lookup);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	harness_unload();
	return 0;
}

/* The next record is @format, and who has called: this test. */
static void __attribute__((format(printf, 1, 2))) expect_call(const char *format, ...)
{
	const char *got = harness_next(), *code = got ? strstr(got, " code=0x") : NULL;
	char wanted[256];
	Dl_info here, caller;
	va_list ap;

	va_start(ap, format);
	vsnprintf(wanted, sizeof(wanted), format, ap);
	va_end(ap);
	assert_non_null(code);
	assert_int_equal(code - got, strlen(wanted));
	assert_memory_equal(got, wanted, strlen(wanted));
	assert_true(dladdr((void *)(uintptr_t)strtoull(code + strlen(" code="), NULL, 16), &caller));
	assert_true(dladdr((void *)(uintptr_t)heap, &here));
	assert_ptr_equal(caller.dli_fbase, here.dli_fbase);
}

static void heap(void **state)
{
	char *p = WRAPPER(malloc)(100);

	(void)state;
	assert_non_null(p);
	expect_call("enter malloc bytes=100");
	harness_expect("leave malloc result=%p", (void *)p);
	strcpy(p, "kept");
	char *q = WRAPPER(realloc)(p, 100000);
	expect_call("enter realloc address=%p bytes=100000", (void *)p);
	assert_string_equal(q, "kept");
	harness_expect("leave realloc result=%p", (void *)q);
	WRAPPER(free)(q);
	expect_call("enter free address=%p", (void *)q);
	harness_expect("leave free");
	p = WRAPPER(calloc)(10, 20);
	for (int i = 0; i < 200; i++)
		assert_int_equal(p[i], 0);
	expect_call("enter calloc bytes=200");
	harness_expect("leave calloc result=%p", (void *)p);
	WRAPPER(free)(p);
	WRAPPER(free)(NULL);
	harness_next();
	harness_next();
	expect_call("enter free address=0");
	harness_expect("leave free");
	harness_expect_end();
}

static void failures(void **state)
{
	volatile size_t much = SIZE_MAX / 2; /* volatile: the compiler would warn */
	void *p = (void *)1;

	(void)state;
	errno = 0;
	assert_null(WRAPPER(malloc)(PTRDIFF_MAX));
	assert_int_equal(errno, ENOMEM);
	expect_call("enter malloc bytes=%llu", (unsigned long long)PTRDIFF_MAX);
	harness_expect("leave malloc result=0");
	assert_null(WRAPPER(calloc)(much, 3));
	expect_call("enter calloc bytes=0");
	harness_expect("leave calloc result=0");
	assert_int_equal(WRAPPER(posix_memalign)(&p, 3, 10), EINVAL);
	expect_call("enter posix_memalign alignment=3 bytes=10");
	harness_expect("leave posix_memalign result=0 status=%d", EINVAL);
	assert_ptr_equal(p, (void *)1);
	harness_expect_end();
}

static void alignment(void **state)
{
	void *p = NULL;

	(void)state;
	assert_int_equal(WRAPPER(posix_memalign)(&p, 4096, 10), 0);
	assert_true((uintptr_t)p % 4096 == 0);
	expect_call("enter posix_memalign alignment=4096 bytes=10");
	harness_expect("leave posix_memalign result=%p status=0", p);
	free(p);
	p = WRAPPER(aligned_alloc)(64, 640);
	expect_call("enter aligned_alloc alignment=64 bytes=640");
	harness_expect("leave aligned_alloc result=%p", p);
	free(p);
	p = WRAPPER(memalign)(128, 1);
	assert_true((uintptr_t)p % 128 == 0);
	expect_call("enter memalign alignment=128 bytes=1");
	harness_expect("leave memalign result=%p", p);
	free(p);
	harness_expect_end();
}

static void cplusplus(void **state)
{
	void *(*new)(size_t) = harness_wrapper("_Znwm");
	void (*delete)(void *) = harness_wrapper("_ZdlPv");
	void *p = new (24);

	(void)state;
	assert_non_null(p);
	delete (p);
	expect_call("enter new bytes=24");
	harness_expect("leave new result=%p", p);
	expect_call("enter delete address=%p", p);
	harness_expect("leave delete");
	harness_expect_end();
}

static void mappings(void **state)
{
	char *p = WRAPPER(mmap)(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);

	(void)state;
	assert_true(p != MAP_FAILED);
	expect_call("enter mmap address=0 bytes=8192 prot=3 flags=%d fd=-1 offset=0",
		       MAP_PRIVATE | MAP_ANONYMOUS);
	harness_expect("leave mmap result=%p", (void *)p);
	strcpy(p, "kept");
	char *q = WRAPPER(mremap)(p, 8192, 1 << 20, MREMAP_MAYMOVE);
	assert_string_equal(q, "kept");
	expect_call("enter mremap address=%p old_bytes=8192 bytes=1048576 flags=1", (void *)p);
	harness_expect("leave mremap result=%p", (void *)q);
	char *to = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_equal(WRAPPER(mremap)(q, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, to), to);
	assert_string_equal(to, "kept");
	harness_next();
	harness_expect("leave mremap result=%p", (void *)to);
	assert_int_equal(WRAPPER(munmap)(to, 4096), 0);
	expect_call("enter munmap address=%p bytes=4096", (void *)to);
	harness_expect("leave munmap result=0");
	munmap(q, 1 << 20);
	void *end = WRAPPER(sbrk)(0);
	assert_ptr_equal(end, sbrk(0));
	harness_expect("enter sbrk increment=0");
	harness_expect("leave sbrk result=%p", end);
	harness_expect_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(heap, setup, teardown),
		cmocka_unit_test_setup_teardown(failures, setup, teardown),
		cmocka_unit_test_setup_teardown(alignment, setup, teardown),
		cmocka_unit_test_setup_teardown(cplusplus, setup, teardown),
		cmocka_unit_test_setup_teardown(mappings, setup, teardown),
	};

	return cmocka_run_group_tests_name("modules_memory", tests, NULL, NULL);
}
