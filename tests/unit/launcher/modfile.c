// SPDX-License-Identifier: GPL-3.0-or-later
/* Modules: compiling, the cache (also many processes at once), reading, finding by name. */
#include "launcher/common/message.h"
#include "launcher/module/modfile.h"
#include "tests/unit/launcher/support.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MODULE                                                                                     \
	"#include <sonde/module.h>\n"                                                              \
	"#include \"local.h\"\n"                                                                   \
	"SONDE_MODULE(\"mine\", DESCRIPTION);\n"                                                   \
	"SONDE_WRAP(double, compute, (int n, double *a)) {\n"                                      \
	"	sonde_enter(SONDE_I32(\"n\", n), SONDE_PTR(\"a\", a));\n"                          \
	"	double sum = SONDE_REAL(compute)(n, a);\n"                                         \
	"	sonde_leave(SONDE_F64(\"sum\", sum));\n"                                           \
	"	return sum;\n"                                                                     \
	"}\n"                                                                                      \
	"SONDE_WRAP_IF_PRESENT(void, other, (void)) { SONDE_REAL(other)(); }\n"                    \
	"SONDE_ON_START { }\n"

static void write_module(const char *description)
{
	char header[128];

	write_text("mine.c", MODULE);
	snprintf(header, sizeof(header), "#define DESCRIPTION \"%s\"\n", description);
	write_text("local.h", header);
}

/* Resolves, checks the description that comes out, returns the file's inode. */
static ino_t cached(const char *description)
{
	char *path;
	struct modfile m;
	struct stat st;

	assert_int_equal(modfile_cached("mine.c", NULL, &path), 0);
	assert_int_equal(modfile_read(path, path, &m), 0);
	assert_string_equal(m.description, description);
	assert_int_equal(stat(path, &st), 0);
	modfile_free(&m);
	free(path);
	return st.st_ino;
}

/* Gives a file a time of long ago, which is the same every time. */
static void age(const char *path)
{
	struct timespec times[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Files written before are then older than the cache's doubts about the clock. */
static void let_time_pass(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
}

static int use_new_cache(void **state)
{
	char cache[256], cwd[200];

	(void)state;
	snprintf(cache, sizeof(cache), "%s/%s", getcwd(cwd, sizeof(cwd)), fresh_folder());
	setenv("XDG_CACHE_HOME", cache, 1);
	return 0;
}

static void test_read(void **state)
{
	struct modfile_list list = { 0 };

	(void)state;
	write_module("what it is");
	assert_int_equal(modfile_add(&list, "mine.c", NULL), 0);
	assert_int_equal(list.n, 1);
	struct modfile *m = &list.v[0];
	assert_string_equal(m->spec, "mine.c");
	assert_string_equal(m->name, "mine");
	assert_string_equal(m->description, "what it is");
	assert_null(m->needs);
	assert_int_equal(m->nwraps, 2);
	bool first = strcmp(m->wraps[0].symbol, "compute") == 0;
	assert_string_equal(m->wraps[!first].symbol, "compute");
	assert_false(m->wraps[!first].optional);
	assert_string_equal(m->wraps[first].symbol, "other");
	assert_true(m->wraps[first].optional);
	assert_int_equal(m->nsites, 2);
	assert_int_equal(m->nstart, 1);
	assert_int_equal(m->nexit, 0);
	assert_false(m->needs_libc);
	assert_null(m->undefined);
	assert_int_equal(m->path[0], '/');
	/* The same file again is not a second module. */
	assert_int_equal(modfile_add(&list, "mine.c,./mine.c", NULL), 0);
	assert_int_equal(list.n, 1);
	modfile_list_free(&list);
}

/* What the file says is what a running program would find there. */
static void test_read_agrees_with_linker(void **state)
{
	char *path;
	struct modfile m;

	(void)state;
	write_module("compare");
	assert_int_equal(modfile_cached("mine.c", NULL, &path), 0);
	assert_int_equal(modfile_read(path, path, &m), 0);
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(handle);
	assert_non_null(dlsym(handle, "sonde_module"));
	dlclose(handle);
	modfile_free(&m);
	free(path);
}

static void test_needs_libc(void **state)
{
	struct modfile m;

	(void)state;
	write_text("libc.c", "#include <sonde/module.h>\nint puts(const char *);\n"
			     "SONDE_MODULE_FOR(\"m\", \"d\", \"liba.so.1 libb.so\");\n"
			     "SONDE_WRAP(int, f, (void)) { puts(\"x\"); return SONDE_REAL(f)(); }\n");
	assert_int_equal(modfile_build("libc.c", "libc.so"), 0);
	assert_int_equal(modfile_read("libc.so", "libc.so", &m), 0);
	assert_true(m.needs_libc);
	assert_string_equal(m.undefined, "puts");
	assert_string_equal(m.needs, "liba.so.1 libb.so");
	modfile_free(&m);
}

static void test_thread_local(void **state)
{
	struct modfile m;

	(void)state;
	write_text("tls.c", "#include <sonde/module.h>\nSONDE_MODULE(\"m\", \"d\");\n"
			    "_Thread_local int depth;\n__attribute__((visibility(\"default\"))) "
			    "_Thread_local int shown;\nint *where(void);\n"
			    "__attribute__((visibility(\"default\"))) int *where(void) "
			    "{ return &shown + (depth != 0); }\n");
	assert_int_equal(modfile_build("tls.c", "tls.so"), 0);
	assert_int_equal(modfile_read("tls.so", "tls.so", &m), 0);
	assert_true(m.needs_libc);
	modfile_free(&m);
}

static void refused(const char *spec, const char *text)
{
	struct modfile_list list = { 0 };

	capture_begin(2);
	int status = modfile_add(&list, spec, NULL);
	const char *said = capture_end();
	if (status != EXIT_USAGE || !is_one_line(said) || !strstr(said, text))
		fail_msg("%s: status %d, said: %s", spec, status, said);
	assert_int_equal(list.n, 0);
	modfile_list_free(&list);
}

static void test_refused_files(void **state)
{
	(void)state;
	refused("./none.so", "./none.so: cannot be read");
	refused("./none.c", "./none.c: cannot be read");
	write_text("text.so", "hello");
	refused("./text.so", "is not an ELF shared object");
	refused("/proc/self/exe.so", "cannot be read");
	refused("./a.cpp", "neither a module's name nor a .c or .so file");
	refused("", "an empty name");
	refused(".", "neither a module's name");
	write_text("plain.c", "int f(void) { return 1; }\n");
	refused("./plain.c", "it has no SONDE_MODULE");
	write_text("stale.c", "#include <sonde/module.h>\n#undef SONDE_ABI_VERSION\n"
			      "#define SONDE_ABI_VERSION 999\nSONDE_MODULE(\"a\", \"b\");\n");
	refused("./stale.c", "another version of Sonde");
	write_text("magic.c", "#include <sonde/module.h>\n#undef SONDE_MODULE_MAGIC\n"
			      "#define SONDE_MODULE_MAGIC 5\nSONDE_MODULE(\"a\", \"b\");\n");
	refused("./magic.c", "its description is damaged");
}

static void test_compile_error(void **state)
{
	char *path;

	(void)state;
	write_text("broken.c", "#include <sonde/module.h>\nSONDE_MODULE(\"b\", \"b\");\nthis is no C;\n");
	capture_begin(2);
	assert_int_equal(modfile_cached("broken.c", NULL, &path), EXIT_USAGE);
	const char *said = capture_end();
	assert_null(path);
	assert_non_null(strstr(said, "broken.c:3")); /* the compiler's own words */
	assert_non_null(strstr(said, "sonde: broken.c: not compiled"));
}

static void test_no_compiler(void **state)
{
	const char *cc = getenv("CC");
	char *saved = cc ? strdup(cc) : NULL;

	(void)state;
	write_module("x");
	setenv("CC", "no-such-compiler -x", 1);
	refused("mine.c", "no-such-compiler cannot be run");
	unsetenv("CC");
	char *path = strdup(getenv("PATH"));
	setenv("PATH", "/nonexistent", 1);
	refused("mine.c", "no C compiler");
	setenv("PATH", path, 1);
	free(path);
	if (saved)
		setenv("CC", saved, 1);
	free(saved);
}

static void test_no_header(void **state)
{
	(void)state;
	write_module("x");
	setenv("SONDE_INCLUDE_PATH", "/nonexistent", 1);
	refused("mine.c", "<sonde/module.h> is not in /nonexistent");
	unsetenv("SONDE_INCLUDE_PATH");
}

/* ---- the cache ---- */

static void test_cache_hit(void **state)
{
	(void)state;
	write_module("one");
	let_time_pass();
	ino_t first = cached("one");
	assert_int_equal(cached("one"), first);
	age("mine.c");
	age("local.h");
	/* Other times, same contents: no compiler needed. */
	assert_int_equal(cached("one"), first);
}

/* Old files hit by stat alone: the compiler and even the contents are not looked at. */
static void test_cache_hit_is_cheap(void **state)
{
	struct timespec a, b;
	int64_t best = INT64_MAX;

	(void)state;
	write_module("cheap");
	let_time_pass();
	cached("cheap");
	for (int i = 0; i < 20; i++) {
		char *path;

		clock_gettime(CLOCK_MONOTONIC, &a);
		assert_int_equal(modfile_cached("mine.c", NULL, &path), 0);
		clock_gettime(CLOCK_MONOTONIC, &b);
		free(path);
		int64_t ns = (b.tv_sec - a.tv_sec) * INT64_C(1000000000) + b.tv_nsec - a.tv_nsec;
		best = ns < best ? ns : best;
	}
	print_message("a cache hit takes %lld us\n", (long long)(best / 1000));
	assert_true(best < 5000000); /* a compiler takes a hundred times as long */
}

static void test_cache_sees_changes(void **state)
{
	(void)state;
	write_module("aaa");
	ino_t first = cached("aaa");
	/* The included file, same size, in the same clock tick perhaps. */
	write_module("bbb");
	assert_int_not_equal(cached("bbb"), first);
	/* The same size and, on purpose, the same time. */
	age("mine.c");
	age("local.h");
	let_time_pass();
	cached("bbb");
	write_module("ccc");
	age("mine.c");
	age("local.h");
	cached("ccc");
	/* Flags are part of the name. */
	setenv("SONDE_CFLAGS", "-DUNUSED=1", 1);
	char *with, *without;
	assert_int_equal(modfile_cached("mine.c", NULL, &with), 0);
	unsetenv("SONDE_CFLAGS");
	assert_int_equal(modfile_cached("mine.c", NULL, &without), 0);
	assert_string_not_equal(with, without);
	free(with);
	free(without);
}

static void test_cache_survives_damage(void **state)
{
	char *path;
	size_t len;

	(void)state;
	write_module("x");
	assert_int_equal(modfile_cached("mine.c", NULL, &path), 0);
	for (int i = 0; i < 3; i++) {
		char *bytes = read_whole(path, &len);

		unlink(path);
		if (i == 0)
			write_file(path, bytes, len / 2, 0755);
		else if (i == 1)
			write_file(path, "", 0, 0755);
		else
			write_file(path, bytes, len - 1, 0755);
		free(bytes);
		cached("x");
	}
	free(path);
}

static void test_names_with_blanks(void **state)
{
	char folder[128];
	char *path;
	struct modfile m;

	(void)state;
	snprintf(folder, sizeof(folder), "%s/a $b #c", fresh_folder());
	assert_int_equal(mkdir(folder, 0755), 0);
	char file[200];
	snprintf(file, sizeof(file), "%s/mine.c", folder);
	write_text(file, MODULE);
	snprintf(file, sizeof(file), "%s/local.h", folder);
	write_text(file, "#define DESCRIPTION \"first\"\n");
	snprintf(file, sizeof(file), "%s/mine.c", folder);
	assert_int_equal(modfile_cached(file, NULL, &path), 0);
	free(path);
	char header[200];
	snprintf(header, sizeof(header), "%s/local.h", folder);
	write_text(header, "#define DESCRIPTION \"other\"\n");
	assert_int_equal(modfile_cached(file, NULL, &path), 0);
	assert_int_equal(modfile_read(path, path, &m), 0);
	assert_string_equal(m.description, "other");
	modfile_free(&m);
	free(path);
}

static int use_cache(int index)
{
	struct modfile_list list = { 0 };

	(void)index;
	if (modfile_add(&list, "mine.c", NULL) != 0 || list.n != 1)
		return 1;
	void *handle = dlopen(list.v[0].path, RTLD_NOW);
	int status = handle && dlsym(handle, "sonde_module") ? 0 : 1;
	modfile_list_free(&list);
	return status;
}

static int count_files(const char *folder, const char *end)
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	int n = 0;

	assert_non_null(dir);
	while ((e = readdir(dir)))
		n += strlen(e->d_name) > strlen(end) &&
		     strcmp(e->d_name + strlen(e->d_name) - strlen(end), end) == 0;
	closedir(dir);
	return n;
}

static void test_cache_concurrent(void **state)
{
	char folder[512], script[256];
	const char *cc = getenv("CC");
	char *saved = cc ? strdup(cc) : NULL;
	size_t runs;

	(void)state;
	write_module("many");
	snprintf(script, sizeof(script), "#!/bin/sh\necho run >>runs\nexec %s \"$@\"\n", cc ? cc : "cc");
	write_file("counting-cc", script, strlen(script), 0755);
	setenv("CC", "./counting-cc", 1);
	let_time_pass();
	assert_int_equal(run_children(8, use_cache), 8);
	free(read_whole("runs", &runs));
	assert_int_equal(runs, strlen("run\n")); /* one has compiled, the others waited */
	if (saved)
		setenv("CC", saved, 1);
	else
		unsetenv("CC");
	free(saved);
	snprintf(folder, sizeof(folder), "%s/sonde", getenv("XDG_CACHE_HOME"));
	assert_int_equal(count_files(folder, ".so"), 1);
	assert_int_equal(count_files(folder, ".tmp"), 0);
	assert_int_equal(count_files(folder, ".d"), 0);
}

/* Compiling all at the same time, as where folders have no locks. */
static int build_same(int index)
{
	struct modfile m;

	(void)index;
	if (modfile_build("mine.c", "same.so") != 0 || modfile_read("same.so", "same.so", &m) != 0)
		return 1;
	modfile_free(&m);
	return 0;
}

static void test_build_concurrent(void **state)
{
	(void)state;
	write_module("same");
	assert_int_equal(run_children(4, build_same), 4);
	assert_int_equal(count_files(".", ".tmp"), 0);
}

/* A cache that others may write to, or that cannot be written, is not used. */
static void test_cache_elsewhere(void **state)
{
	char *path;
	char folder[512];

	(void)state;
	write_module("x");
	snprintf(folder, sizeof(folder), "%s/sonde", getenv("XDG_CACHE_HOME"));
	assert_int_equal(mkdir(folder, 0777), 0);
	assert_int_equal(chmod(folder, 0777), 0);
	assert_int_equal(modfile_cached("mine.c", NULL, &path), 0);
	assert_null(strstr(path, folder));
	assert_int_equal(access(path, R_OK), 0);
	free(path);
	setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
	assert_int_equal(modfile_cached("mine.c", NULL, &path), 0);
	assert_int_equal(access(path, R_OK), 0);
	free(path);
	assert_int_equal(count_files(folder, ".so"), 0);
}

/* ---- by name ---- */

static void build_into(const char *folder, const char *file, const char *description)
{
	char path[256];

	write_module(description);
	snprintf(path, sizeof(path), "%s/%s", folder, file);
	assert_int_equal(modfile_build("mine.c", path), 0);
}

static void test_names(void **state)
{
	struct modfile_list list = { 0 };
	char path[256];
	char *one = strdup(fresh_folder()), *two = strdup(fresh_folder());

	(void)state;
	build_into(one, "mpi-openmpi.so", "first");
	build_into(one, "mpi-mpich.so", "second");
	build_into(one, "mpix.so", "third");
	build_into(two, "mpi.so", "hidden");
	build_into(two, "pthread.so", "fourth");
	snprintf(path, sizeof(path), "/nonexistent::%s:%s", one, two);
	setenv("SONDE_MODULE_PATH", path, 1);

	assert_int_equal(modfile_add(&list, "mpi,pthread", NULL), 0);
	assert_int_equal(list.n, 3);
	assert_string_equal(list.v[0].description, "second"); /* sorted by file name */
	assert_string_equal(list.v[1].description, "first");
	assert_string_equal(list.v[2].description, "fourth");
	assert_string_equal(list.v[0].spec, "mpi");
	modfile_list_free(&list);

	assert_int_equal(modfile_all(&list), 0);
	assert_int_equal(list.n, 5);
	modfile_list_free(&list);

	refused("ptread", "did you mean 'pthread'? There are: mpi, mpix, pthread");
	refused("thread", "did you mean 'pthread'?");
	refused("zzz", "no module 'zzz'; there are: mpi, mpix, pthread");
	write_text("zzz.c", "");
	refused("zzz", "write -m ./zzz.c");
	unsetenv("SONDE_MODULE_PATH");
	free(one);
	free(two);
}

/* Files that are damaged in any way are refused or read, by one line. */
static void test_damaged(void **state)
{
	uint64_t random = 0xdead;
	size_t len;
	int good = 0, bad = 0;

	(void)state;
	write_module("victim");
	assert_int_equal(modfile_build("mine.c", "victim.so"), 0);
	unsigned char *bytes = read_whole("victim.so", &len);
	for (int i = 0; i < 3000; i++) {
		unsigned char *copy = malloc(len);
		struct modfile m;

		assert_non_null(copy);
		memcpy(copy, bytes, len);
		for (int k = 0; k < 3; k++)
			copy[next_random(&random) % len] ^= (unsigned char)(1 << next_random(&random) % 8);
		write_file("mutant.so", copy, i % 8 ? len : next_random(&random) % len, 0644);
		free(copy);
		capture_begin(2);
		int status = modfile_read("mutant.so", "mutant.so", &m);
		const char *said = capture_end();
		if (status == 0)
			modfile_free(&m);
		else
			assert_true(status == EXIT_USAGE && is_one_line(said));
		good += status == 0;
		bad += status != 0;
	}
	free(bytes);
	assert_true(good > 100 && bad > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_read, use_new_cache),
		cmocka_unit_test_setup(test_read_agrees_with_linker, use_new_cache),
		cmocka_unit_test_setup(test_needs_libc, use_new_cache),
		cmocka_unit_test_setup(test_thread_local, use_new_cache),
		cmocka_unit_test_setup(test_refused_files, use_new_cache),
		cmocka_unit_test_setup(test_compile_error, use_new_cache),
		cmocka_unit_test_setup(test_no_compiler, use_new_cache),
		cmocka_unit_test_setup(test_no_header, use_new_cache),
		cmocka_unit_test_setup(test_cache_hit, use_new_cache),
		cmocka_unit_test_setup(test_cache_hit_is_cheap, use_new_cache),
		cmocka_unit_test_setup(test_cache_sees_changes, use_new_cache),
		cmocka_unit_test_setup(test_cache_survives_damage, use_new_cache),
		cmocka_unit_test_setup(test_names_with_blanks, use_new_cache),
		cmocka_unit_test_setup(test_cache_concurrent, use_new_cache),
		cmocka_unit_test_setup(test_build_concurrent, use_new_cache),
		cmocka_unit_test_setup(test_cache_elsewhere, use_new_cache),
		cmocka_unit_test_setup(test_names, use_new_cache),
		cmocka_unit_test_setup(test_damaged, use_new_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
