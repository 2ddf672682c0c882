// SPDX-License-Identifier: GPL-3.0-or-later
/* What a function's name says of it. */
#include "config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "injector/facts/facts-int.h"

struct known {
	const char *name;
	uint32_t facts;
};

#define NORET INJ_NAME_NORETURN
#define NEVER INJ_NAME_NEVER

/*
 * Sorted. NEVER: what runs before there is a stack frame (_start), is no function by itself
 * (_init), is returned to by the kernel (__restore_rt), goes on in a child that shares the stack
 * or has a new one (vfork, clone), moves its stack (__morestack), or is known to a library by its
 * addresses (cancellation points of musl and of glibc 2.41).
 */
static const struct known names[] = {
	{ "Py_Exit", NORET },
	{ "Py_FatalError", NORET },
	{ "_Exit", NORET },
	{ "_Py_FatalErrorFormat", NORET },
	{ "_Py_FatalErrorFunc", NORET },
	{ "_Unwind_Resume", NORET },
	{ "_ZN4llvm25llvm_unreachable_internalEPKcS1_j", NORET },
	{ "_ZSt10unexpectedv", NORET },
	{ "_ZSt21__glibcxx_assert_failPKciS0_S0_", NORET },
	{ "_ZSt9terminatev", NORET },
	{ "___start", NEVER },
	{ "__assert", NORET },
	{ "__assert_fail", NORET },
	{ "__assert_perror_fail", NORET },
	{ "__chk_fail", NORET },
	{ "__clang_call_terminate", NORET },
	{ "__clone", NEVER },
	{ "__clone3", NEVER },
	{ "__cp_begin", NEVER },
	{ "__cp_cancel", NEVER },
	{ "__cp_end", NEVER },
	{ "__cxa_bad_cast", NORET },
	{ "__cxa_bad_typeid", NORET },
	{ "__cxa_call_terminate", NORET },
	{ "__cxa_call_unexpected", NORET },
	{ "__cxa_deleted_virtual", NORET },
	{ "__cxa_pure_virtual", NORET },
	{ "__cxa_rethrow", NORET },
	{ "__cxa_throw", NORET },
	{ "__cxa_throw_bad_array_length", NORET },
	{ "__cxa_throw_bad_array_new_length", NORET },
	{ "__fortify_fail", NORET },
	{ "__libc_fatal", NORET },
	{ "__libc_longjmp", NORET },
	{ "__libc_siglongjmp", NORET },
	{ "__libc_vfork", NEVER },
	{ "__longjmp_chk", NORET },
	{ "__malloc_assert", NORET },
	{ "__morestack", NEVER },
	{ "__morestack_non_split", NEVER },
	{ "__pthread_exit", NORET },
	{ "__pthread_unwind_next", NORET },
	{ "__restore", NEVER },
	{ "__restore_rt", NEVER },
	{ "__stack_chk_fail", NORET },
	{ "__stack_chk_fail_local", NORET },
	{ "__syscall", INJ_NAME_SYSCALL },
	{ "__syscall_cancel_arch", NEVER | INJ_NAME_SYSCALL },
	{ "__syscall_cp_asm", NEVER | INJ_NAME_SYSCALL },
	{ "__vfork", NEVER },
	{ "_dl_fatal_printf", NORET },
	{ "_dl_start_user", NEVER },
	{ "_exit", NORET },
	{ "_fini", NEVER },
	{ "_init", NEVER },
	{ "_longjmp", NORET },
	{ "_start", NEVER },
	{ "abort", NORET },
	{ "clone", NEVER },
	{ "clone3", NEVER },
	{ "err", NORET },
	{ "errx", NORET },
	{ "exit", NORET },
	{ "g_abort", NORET },
	{ "g_assertion_message", NORET },
	{ "g_assertion_message_cmpint", NORET },
	{ "g_assertion_message_cmpnum", NORET },
	{ "g_assertion_message_cmpstr", NORET },
	{ "g_assertion_message_cmpstrv", NORET },
	{ "g_assertion_message_error", NORET },
	{ "g_assertion_message_expr", NORET },
	{ "internal/runtime/syscall.Syscall6", INJ_NAME_SYSCALL },
	{ "longjmp", NORET },
	{ "malloc_printerr", NORET },
	{ "pthread_exit", NORET },
	{ "quick_exit", NORET },
	{ "runtime/internal/syscall.Syscall6", INJ_NAME_SYSCALL },
	{ "rust_begin_unwind", NORET },
	{ "siglongjmp", NORET },
	{ "syscall", INJ_NAME_SYSCALL },
	{ "syscall.RawSyscall", INJ_NAME_SYSCALL },
	{ "syscall.RawSyscall6", INJ_NAME_SYSCALL },
	{ "syscall.Syscall", INJ_NAME_SYSCALL },
	{ "syscall.Syscall6", INJ_NAME_SYSCALL },
	{ "thrd_exit", NORET },
	{ "verr", NORET },
	{ "verrx", NORET },
	{ "vfork", NEVER },
};

static const struct known prefixes[] = {
	{ "Builtins_", INJ_NAME_FOREIGN },	/* V8's own, compiled by itself */
	{ "_ZN4llvm18report_fatal_error", NORET },
	{ "caml_c_call", INJ_NAME_FOREIGN },
	{ "caml_call_gc", INJ_NAME_FOREIGN },
	{ "caml_callback_asm", INJ_NAME_FOREIGN },
	{ "caml_raise_exn", INJ_NAME_FOREIGN },
	{ "caml_raise_exception", INJ_NAME_FOREIGN },
	{ "caml_start_program", INJ_NAME_FOREIGN },
	{ "caml_system__", INJ_NAME_FOREIGN },
	{ "stg_", INJ_NAME_FOREIGN },
};

/*
 * Rust's functions that return `!`, as its paths are mangled; what is generic goes on after them.
 */
static const char *const rust_paths[] = {
	"3std7process4exit",
	"3std7process5abort",
	"3std9panicking11begin_panic",
	"3std9panicking20rust_panic_with_hook",
	"4core5slice5index16slice_index_fail",
	"4core5slice5index22slice_index_order_fail",
	"4core5slice5index24slice_end_index_len_fail",
	"4core5slice5index26slice_start_index_len_fail",
	"4core6option13expect_failed",
	"4core6option13unwrap_failed",
	"4core6result13unwrap_failed",
	"4core9panicking",
	"5alloc5alloc18handle_alloc_error",
	"5alloc7raw_vec12handle_error",
	"5alloc7raw_vec17capacity_overflow",
};

static int compare(const void *key, const void *entry)
{
	return strcmp(key, ((const struct known *)entry)->name);
}

/* _ZSt16__throw_bad_castv and the like: all that libstdc++ calls to throw. */
static bool is_std_throw(const char *name)
{
	if (strncmp(name, "_ZSt", 4) != 0)
		return false;
	name += strspn(name + 4, "0123456789") + 4;
	return strncmp(name, "__throw_", 8) == 0;
}

/*
 * The path of a function: after _ZN of the old mangling; after _R, I for generic ones, Nv, a Nt
 * for each module, C and the crate's hash of the new one (Rust RFC 2603). "": no function's path.
 */
static const char *rust_path(const char *name)
{
	if (strncmp(name, "_ZN", 3) == 0)
		return name + 3;
	if (name[0] != '_' || name[1] != 'R')
		return "";
	name += name[2] == 'I' ? 3 : 2;
	if (strncmp(name, "Nv", 2) != 0)
		return "";
	for (name += 2; strncmp(name, "Nt", 2) == 0;)
		name += 2;
	if (name[0] != 'C')
		return "";
	if (name[1] != 's')
		return name + 1;
	name = strchr(name, '_');
	return name ? name + 1 : "";
}

static bool is_rust_panic(const char *name)
{
	const char *path = rust_path(name);

	for (size_t i = 0; *path && i < sizeof(rust_paths) / sizeof(rust_paths[0]); i++)
		if (strncmp(path, rust_paths[i], strlen(rust_paths[i])) == 0)
			return true;
	return false;
}

static uint32_t by_prefix(const char *name)
{
	if (!strchr("_Bcs", name[0])) /* how all of these begin */
		return 0;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(name, prefixes[i].name, strlen(prefixes[i].name)) == 0)
			return prefixes[i].facts;
	/* OCaml: camlModule__function_123 */
	if (strncmp(name, "caml", 4) == 0 && isupper((unsigned char)name[4]))
		return INJ_NAME_FOREIGN;
	return is_std_throw(name) || is_rust_panic(name) ? NORET : 0;
}

/*
 * Functions that threads wait for each other in, or that begin or end threads, or regions of OpenMP: of POSIX and C11 threads, of
 * libgomp and libomp, of libstdc++, system calls by number, and pipes.  By how their names begin.
 */
static const char *const syncs[] = {
	"GOMP_", "_ZNSt18condition_variable", "_ZNSt28__atomic_futex_unsigned_base", "_ZNSt6thread", "__kmpc_", "call_once", "cnd_",
	"futex", "mtx_", "omp_set_", "omp_unset_", "omp_test_", "pthread_barrier_", "pthread_clockjoin_np", "pthread_cond_",
	"pthread_create", "pthread_exit", "pthread_join", "pthread_mutex_", "pthread_once", "pthread_rwlock_", "pthread_spin_",
	"pthread_timedjoin_np", "pthread_tryjoin_np", "sched_yield", "sem_clockwait", "sem_post", "sem_timedwait", "sem_trywait",
	"sem_wait", "syscall", "thrd_create", "thrd_join",
};
static const char *const pipes[] = { "epoll_wait", "poll", "read", "recv", "select", "send", "write" };

static bool is_sync(const char *name)
{
	for (size_t i = 0; strchr("G_cfmopst", name[0]) && i < sizeof(syncs) / sizeof(syncs[0]); i++)
		if (strncmp(name, syncs[i], strlen(syncs[i])) == 0)
			return true;
	for (size_t i = 0; i < sizeof(pipes) / sizeof(pipes[0]); i++)
		if (strcmp(name, pipes[i]) == 0)
			return true;
	return false;
}

uint32_t inj_cf_name(const char *name)
{
	const struct known *known;
	uint32_t sync;

	if (strncmp(name, "__GI_", 5) == 0) /* how glibc calls what it exports, within itself */
		name += 5;
	known = bsearch(name, names, sizeof(names) / sizeof(names[0]), sizeof(names[0]), compare);
	sync = is_sync(name) ? INJ_NAME_SYNC : 0;
	return (known ? known->facts : by_prefix(name)) | sync;
}

const char *inj_cf_part_suffix(const char *name, bool *sure)
{
	const char *cold = strstr(name, ".cold");
	const char *end = cold ? cold + 5 : NULL;

	/*
	 * GCC 8 numbered cold parts; LLVM does so with parts that it made functions of, which are
	 * called.
	 */
	*sure = cold && *end == '\0';
	if (!cold || cold == name)
		return NULL;
	if (*end == '.' && isdigit((unsigned char)end[1]))
		return cold;
	return *sure ? cold : NULL;
}
