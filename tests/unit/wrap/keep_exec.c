// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Compiles a program at every level of optimization, wraps its functions by wrappers that destroy
 * every register they may, and lets it calculate: with keepers the result has to be as without
 * wrappers. GCC's -O2 shows that the test can fail: without keepers the result is another one.
 */
#include "config.h"

#include <dlfcn.h>
#include <err.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/wrap/elf.h"
#include "tests/unit/flow/bytes.h"
#include "trampolines/wrap/keep.h"

enum { ARENA_SIZE = 1 << 16, PAGE = 4096, WRAPPER_ROOM = 512, STACK_WORDS = 6, SKIPPED = 77 };

/* FN_ functions are wrapped: v and the like tell where the result is. */
static const char source[] =
	"#define FN __attribute__((noinline, noclone)) static\n"
	"static long counter, log_[64]; static double cells[64];\n"
	"FN void v_count(void) { counter++; }\n"
	"FN void v_set(long i, long x) { log_[i & 63] ^= x; }\n"
	"FN double d_sum(int n, const double *a)\n"
	"{ double s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }\n"
	"FN long i_mix(long a, long b) { return (a ^ b >> 3) + 17; }\n"
	"FN long i_many(long a, long b, long c, long d, long e, long f, long g, long h)\n"
	"{ return a + 3 * b + 5 * c - d + e * f - g + 7 * h; }\n"
	"FN long i_outer(long a, long b) { v_count(); return i_mix(a, b) + a; }\n"
	"FN int i_switch(int k) { switch (k & 7) { case 0: return 5; case 1: return counter & 3;\n"
	"case 2: return log_[1] & 7; case 3: return k * 3; case 4: return k - 9; case 5: return 2;\n"
	"case 6: v_set(k, 3); return 8; default: return 1; } }\n"
	"__attribute__((noinline)) long keep_in_caller(long x) { v_count(); return x * 3; }\n"
	"__attribute__((noinline)) long result_before(long *p) { long r = *p; v_count(); return r; }\n"
	"__attribute__((noinline)) double doubles(int n, int m)\n"
	"{ double s = 1; for (int i = 0; i < m; i++) { s += d_sum(n, cells) * i; v_set(i, i);\n"
	"cells[i & 63] += 0.5 + s / 1024; } return s; }\n"
	"__attribute__((noinline)) long longs(long n)\n"
	"{ long s = 1, t = 2, u = 3; for (long i = 0; i < n; i++) {\n"
	"s += i_mix(t, i); t ^= s << 1; u += i_outer(u, s); v_set(i, u);\n"
	"s += i_many(i, t, u, s, i + 1, t + 1, u + 1, s + 1); t += i_switch((int)i);\n"
	"} return s ^ t ^ u; }\n"
	"unsigned long run(int n)\n"
	"{ double d = doubles(40, n); unsigned long s = (unsigned long)longs(n);\n"
	"for (int i = 0; i < 64; i++) s = s * 31 + (unsigned long)log_[i];\n"
	"return s + (unsigned long)(d * 64) + (unsigned long)keep_in_caller(n) +\n"
	"(unsigned long)result_before(&log_[3]) + (unsigned long)counter; }\n";

struct program {
	struct elf_code code;
	void *handle;
	uint64_t base;
	unsigned long (*run)(int n);
	uint8_t *arena;
	size_t used;
	size_t kept, aligned, wrapped, refused;
};

static void write_source(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(source, file) < 0 || fclose(file) != 0)
		err(99, "%s", path);
}

/* Near the program, whose addresses the analysis and the code are all about. */
static uint8_t *map_arena(uint64_t near)
{
	for (uint64_t at = (near + (16ull << 20)) & ~(PAGE - 1ull);; at += 1 << 20) {
		void *arena = mmap((void *)at, ARENA_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (arena != MAP_FAILED)
			return arena;
		if (at > near + (1ull << 30))
			err(99, "arena");
	}
}

static void open_program(struct program *p, const char *path)
{
	struct link_map *map;
	uint64_t start, end;

	*p = (struct program){ 0 };
	elf_code_open(&p->code, path, true);
	p->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!p->handle || dlinfo(p->handle, RTLD_DI_LINKMAP, &map) != 0)
		errx(99, "%s: %s", path, dlerror());
	p->base = map->l_addr;
	p->run = (unsigned long (*)(int))dlsym(p->handle, "run");
	p->arena = map_arena(p->base);
	start = (p->base + p->code.text_addr) & ~(PAGE - 1ull);
	end = (p->base + p->code.text_addr + p->code.text_size + PAGE - 1) & ~(PAGE - 1ull);
	if (mprotect((void *)start, end - start, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		err(99, "mprotect");
}

static void close_program(struct program *p)
{
	munmap(p->arena, ARENA_SIZE);
	dlclose(p->handle);
	elf_code_close(&p->code);
}

static uint8_t *reserve(struct program *p, size_t size)
{
	uint8_t *at = p->arena + p->used;

	p->used += (size + 15) & ~(size_t)15;
	if (p->used > ARENA_SIZE)
		errx(99, "arena is full");
	return at;
}

static void put(uint8_t **at, const void *bytes, size_t n)
{
	memcpy(*at, bytes, n);
	*at += n;
}

/* Overwrites all that a callee may, but not the result: 'v'oid, 'i'nteger, 'd'ouble. */
static void put_destruction(uint8_t **at, char result)
{
	static const uint8_t gprs[] = {
		0x48, 0xc7, 0xc1, 0x5a, 0x5a, 0x5a, 0x5a,	/* mov $0x5a5a5a5a, %rcx */
		0x48, 0x89, 0xca, 0x48, 0x89, 0xce, 0x48, 0x89, 0xcf,	/* to rdx, rsi, rdi */
		0x49, 0x89, 0xc8, 0x49, 0x89, 0xc9, 0x49, 0x89, 0xca, 0x49, 0x89, 0xcb, /* r8.. */
	};
	static const uint8_t rax[] = { 0x48, 0x89, 0xc8 };

	put(at, gprs, sizeof(gprs));
	if (result != 'i')
		put(at, rax, sizeof(rax));
	for (uint8_t i = result == 'd'; i < 16; i++) {
		uint8_t movq[] = { 0x66, i < 8 ? 0x48 : 0x4c, 0x0f, 0x6e,
				   (uint8_t)(0xc1 | (i & 7) << 3) };	/* movq %rcx, %xmm */

		put(at, movq, sizeof(movq));
	}
}

/* What a compiler could make of a C wrapper, at its worst. */
static uint8_t *emit_wrapper(struct program *p, const uint8_t *original, char result)
{
	static const uint8_t enter[] = {
		0x55, 0x48, 0x89, 0xe5,			/* push %rbp; mov %rsp, %rbp */
		0x0f, 0x29, 0x44, 0x24, 0xe0,		/* movaps %xmm0, -32(%rsp) */
	};
	static const uint8_t leave = 0xc9, ret = 0xc3;
	uint8_t *wrapper = reserve(p, WRAPPER_ROOM), *at = wrapper;
	uint8_t call[] = { 0xe8, 0, 0, 0, 0 };
	int32_t rel;

	put(&at, enter, sizeof(enter));
	for (uint8_t i = STACK_WORDS; i-- > 0;) {
		uint8_t push[] = { 0xff, 0x75, (uint8_t)(16 + 8 * i) };	/* push 16+8i(%rbp) */

		put(&at, push, sizeof(push));
	}
	rel = (int32_t)(original - (at + sizeof(call)));
	memcpy(call + 1, &rel, sizeof(rel));
	put(&at, call, sizeof(call));
	put(&at, &leave, 1);
	put_destruction(&at, result);
	put(&at, &ret, 1);
	return wrapper;
}

static bool is_wrapped(const char *name)
{
	return name[0] && strchr("vid", name[0]) && name[1] == '_';
}

static void wrap(struct program *p, const struct elf_function *fn, const struct tramp_keep *keep,
		 bool keepers)
{
	uint8_t *place = (uint8_t *)(p->base + fn->addr), *replay, *target, patch[TRAMP_PATCH_MAX];
	struct tramp_function function = {
		.addr = (uint64_t)place, .code = place, .size = fn->size, .avail = fn->avail,
	};
	struct tramp_plan plan;
	size_t len;

	if (tramp_plan_entry(&function, &plan) != TRAMP_OK) {
		p->refused++;
		return;
	}
	replay = reserve(p, tramp_replay_size(&plan));
	if (tramp_emit_replay(&plan, (uint64_t)replay, replay, tramp_replay_size(&plan), &len) !=
	    TRAMP_OK)
		errx(1, "%s: no replay code", fn->name);
	target = emit_wrapper(p, replay, fn->name[0]);
	if (keepers && tramp_keep_needed(keep)) {
		size_t room = tramp_keeper_size(keep);
		uint8_t *keeper = reserve(p, room);

		if (tramp_emit_keeper(keep, (uint64_t)target, (uint64_t)keeper, keeper, room,
				      &len) != TRAMP_OK)
			errx(1, "%s: no keeper", fn->name);
		target = keeper;
	}
	if (tramp_emit_patch(&plan, (uint64_t)target, patch) != TRAMP_OK)
		errx(1, "%s: no patch", fn->name);
	memcpy((void *)plan.patch_addr, patch, plan.patch_len);
	p->wrapped++;
	p->kept += keep->gpr || keep->xmm;
	p->aligned += keep->align;
}

static void wrap_all(struct program *p, bool keepers)
{
	size_t n = p->code.nfunctions;
	struct bytes_range *extents = calloc(n, sizeof(*extents));
	struct tramp_keep *keeps = calloc(n, sizeof(*keeps));
	uint64_t *targets = calloc(n, sizeof(*targets));
	struct bytes_code object;

	if (!extents || !keeps || !targets)
		err(99, "functions");
	for (size_t i = 0; i < n; i++) {
		targets[i] = p->code.functions[i].addr;
		extents[i] = (struct bytes_range){ targets[i], p->code.functions[i].size };
	}
	bytes_code_open(&object, p->code.text, p->code.text_size, p->code.text_addr, extents, n);
	if (!tramp_keep_analyze(object.code, targets, n, keeps))
		err(99, "analysis");
	for (size_t i = 0; i < n; i++) {
		if (is_wrapped(p->code.functions[i].name))
			wrap(p, &p->code.functions[i], &keeps[i], keepers);
	}
	bytes_code_close(&object);
	free(extents);
	free(keeps);
	free(targets);
}

/* In a child, since it may crash or not end: whether the result is as expected. */
static bool runs_right(const char *path, bool keepers, int n, unsigned long expected,
		       const char *what)
{
	struct program p;
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		err(99, "fork");
	if (pid == 0) {
		bool right;

		alarm(10);
		open_program(&p, path);
		wrap_all(&p, keepers);
		right = p.run(n) == expected;
		if (keepers)
			printf("%s: %zu wrapped, %zu refused, %zu keep registers, %zu are "
			       "misaligned\n", what, p.wrapped, p.refused, p.kept, p.aligned);
		fflush(stdout);
		_exit(right ? 0 : 1);
	}
	if (waitpid(pid, &status, 0) != pid)
		err(99, "waitpid");
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static unsigned long run_unwrapped(const char *path, int n)
{
	struct program p;
	unsigned long result;

	open_program(&p, path);
	result = p.run(n);
	close_program(&p);
	return result;
}

/* False: the compiler is not there. */
static bool compile(const char *compiler, const char *level, const char *from, const char *to)
{
	char command[3 * 4096];

	snprintf(command, sizeof(command), "%s %s -w -shared -fPIC %s -o %s 2>/dev/null", compiler,
		 level, from, to);
	return system(command) == 0;
}

static int check_level(const char *folder, const char *compiler, const char *level, bool can_fail)
{
	char from[4096], to[4096], what[128];
	unsigned long expected;

	snprintf(what, sizeof(what), "%s %s", compiler, level);
	snprintf(from, sizeof(from), "%s/p.c", folder);
	snprintf(to, sizeof(to), "%s/p.so", folder);
	if (!compile(compiler, level, from, to))
		return SKIPPED;
	expected = run_unwrapped(to, 100);
	if (!runs_right(to, true, 100, expected, what)) {
		printf("%s: wrong result with keepers\n", what);
		return 1;
	}
	if (can_fail && runs_right(to, false, 100, expected, what)) {
		printf("%s: right result without keepers\n", what);
		return 1;
	}
	return 0;
}

int main(void)
{
	static const char *const levels[] = {
		"-O0", "-O1", "-O2", "-O3", "-Os", "-O2 -fno-ipa-ra", "-O2 -mavx2", "-O3 -mavx2",
		"-O2 -fno-omit-frame-pointer", "-O2 -fcf-protection", "-O3 -ftree-vectorize",
	};
	char folder[] = "/tmp/keep-XXXXXX", path[64];
	int checked = 0, failed = 0;

	if (!mkdtemp(folder))
		err(99, "%s", folder);
	snprintf(path, sizeof(path), "%s/p.c", folder);
	write_source(path);
	for (size_t i = 0; i < 2 * sizeof(levels) / sizeof(levels[0]); i++) {
		const char *level = levels[i / 2];
		bool gcc = i % 2 == 0;
		int result = check_level(folder, gcc ? "gcc" : "clang", level,
					 gcc && strcmp(level, "-O2") == 0);

		checked += result != SKIPPED;
		failed += result == 1;
	}
	unlink(path);
	snprintf(path, sizeof(path), "%s/p.so", folder);
	unlink(path);
	rmdir(folder);
	return failed ? 1 : checked ? 0 : SKIPPED;
}
