// SPDX-License-Identifier: GPL-3.0-or-later
/* Which file a command means, and whether it can be traced. */
#include "launcher/common/message.h"
#include "launcher/program/program.h"
#include "tests/unit/launcher/support.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define NOBODY 65534

/* Resolves and expects a refusal by one line that holds `text`. */
static void refused(const char *name, int status, const char *text)
{
	struct program p;

	capture_begin(2);
	int result = program_resolve(name, &p);
	const char *said = capture_end();
	if (result != status || !is_one_line(said) || !strstr(said, text))
		fail_msg("'%s': status %d instead of %d, said: %s", name, result, status, said);
}

static void accepted(const char *name, struct program *p)
{
	capture_begin(2);
	int result = program_resolve(name, p);
	const char *said = capture_end();
	if (result != 0 || *said)
		fail_msg("'%s': status %d, said: %s", name, result, said);
}

static void test_not_found(void **state)
{
	(void)state;
	refused("", 127, "not found");
	refused("./nothing", 127, "./nothing: not found");
	refused("sonde-no-such-program", 127, "$PATH");
	write_text("file", "x");
	refused("file/below", 127, "file/below: not found");
}

static void test_cannot_run(void **state)
{
	(void)state;
	refused("/", 126, "is a directory");
	refused("/dev/null", 126, "is not a regular file");
	write_text("plain", "#!/bin/sh\n");
	refused("./plain", 126, "is not executable");
	write_file("binary", "\0\1\2\3\n", 5, 0755);
	refused("./binary", 126, "neither an ELF program nor a script");
}

static void test_path(void **state)
{
	char path[256];
	struct program p;

	(void)state;
	char *folder = strdup(fresh_folder());
	const char *other = fresh_folder();
	snprintf(path, sizeof(path), "%s/tool", folder);
	write_text(path, "#!/bin/sh\n"); /* not executable: passed over */
	snprintf(path, sizeof(path), "%s/tool", other);
	write_file(path, "#!/bin/sh\n", 10, 0755);
	char *saved = strdup(getenv("PATH"));
	char list[512];
	snprintf(list, sizeof(list), "/nonexistent:%s:%s", folder, other);
	setenv("PATH", list, 1);
	accepted("tool", &p);
	assert_string_equal(p.path, path);
	program_free(&p);

	/* An empty element is the current folder; a folder of that name is no program. */
	write_file("here", "#!/bin/sh\n", 10, 0755);
	setenv("PATH", "/nonexistent:", 1);
	accepted("here", &p);
	assert_string_equal(p.path, "./here");
	program_free(&p);
	assert_int_equal(mkdir("afolder", 0755), 0);
	refused("afolder", 127, "not found");

	/* Nothing executable: the one that is there explains it. */
	setenv("PATH", folder, 1);
	refused("tool", 126, "is not executable");
	unsetenv("PATH");
	accepted("sh", &p);
	program_free(&p);
	setenv("PATH", saved, 1);
	free(saved);
	free(folder);
}

static void test_dynamic(void **state)
{
	struct program p;
	bool libc = false;

	(void)state;
	accepted("/proc/self/exe", &p);
	assert_false(p.is_static);
	assert_false(p.is_script);
	assert_non_null(p.interp);
	assert_int_equal(access(p.interp, X_OK), 0);
	for (size_t i = 0; i < p.nneeded; i++)
		libc |= strncmp(p.needed[i], "libc.so", 7) == 0;
	assert_true(libc);
	char *argv[] = { p.path, NULL };
	assert_ptr_equal(program_argv(&p, argv), argv);
	program_free(&p);
}

/* The three kinds that a compiler makes. */
static void test_kinds(void **state)
{
	static const struct {
		const char *flags;
		bool is_static, is_pie;
	} kinds[] = {
		{ "-no-pie", false, false },
		{ "-pie -fPIE", false, true },
		{ "-static -nostdlib -no-pie", true, false },
		{ "-static-pie -fPIE -nostdlib", true, true },
	};

	(void)state;
	write_text("kind.c", "#ifdef BARE\nvoid _start(void) { for (;;) ; }\n#else\n"
			     "int main(void) { return 0; }\n#endif\n");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char command[256];
		struct program p;
		const char *cc = getenv("CC");

		snprintf(command, sizeof(command), "%s %s %s -o kind kind.c", cc ? cc : "cc",
			 kinds[i].is_static ? "-DBARE" : "", kinds[i].flags);
		assert_int_equal(system(command), 0);
		accepted("./kind", &p);
		assert_int_equal(p.is_static, kinds[i].is_static);
		assert_int_equal(p.is_pie, kinds[i].is_pie);
		assert_int_equal(p.interp == NULL, kinds[i].is_static);
		program_free(&p);
	}
}

static void test_scripts(void **state)
{
	struct program p;
	char script[600];

	(void)state;
	write_file("s1", "#! /bin/sh -e  \nexit 3\n", 23, 0755);
	accepted("./s1", &p);
	assert_true(p.is_script);
	assert_false(p.via_shell);
	assert_string_equal(p.path, "./s1");
	assert_string_equal(p.elf_path, "/bin/sh");
	program_free(&p);

	/* A script's interpreter may be a script. */
	write_file("s2", "#!./s1\n", 7, 0755);
	accepted("./s2", &p);
	assert_string_equal(p.elf_path, "/bin/sh");
	program_free(&p);

	write_file("s3", "#!/no/such/thing\n", 17, 0755);
	refused("./s3", 127, "./s3: its interpreter /no/such/thing: not found");
	write_file("s4", "#!./plain2\n", 11, 0755);
	write_text("plain2", "x");
	refused("./s4", 126, "its interpreter ./plain2: is not executable");
	write_file("s5", "#!\n", 3, 0755);
	refused("./s5", 126, "names no interpreter");

	/* A name that does not fit the kernel's 256 bytes. */
	memset(script, 'x', sizeof(script));
	memcpy(script, "#!/", 3);
	write_file("s6", script, sizeof(script), 0755);
	refused("./s6", 126, "too long");
	/* Arguments may be cut off. */
	memcpy(script, "#!/bin/sh ", 10);
	write_file("s7", script, sizeof(script), 0755);
	accepted("./s7", &p);
	program_free(&p);
}

/* What we accept and refuse is what the kernel does: chains of growing length. */
static void test_interpreter_chain(void **state)
{
	(void)state;
	write_file("chain0", "#!/bin/sh\n", 10, 0755);
	for (int i = 1; i < 9; i++) {
		char name[32], text[32];
		struct program p;
		int status;

		snprintf(name, sizeof(name), "./chain%d", i);
		snprintf(text, sizeof(text), "#!./chain%d\n", i - 1);
		write_file(name, text, strlen(text), 0755);
		pid_t pid = fork();
		if (pid == 0) {
			execl(name, name, NULL);
			_exit(errno == ELOOP ? 99 : 98);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) == 0) {
			accepted(name, &p);
			program_free(&p);
		} else {
			assert_int_equal(WEXITSTATUS(status), 99);
			refused(name, 126, "too many interpreters");
		}
	}
}

static void test_text_without_interpreter(void **state)
{
	char zero[] = "./text", one[] = "one", two[] = "two";
	char *argv[] = { zero, one, two, NULL };
	struct program p;

	(void)state;
	write_file("text", "exit 5\n", 7, 0755);
	accepted("./text", &p);
	assert_true(p.via_shell);
	assert_string_equal(p.path, "/bin/sh");
	assert_string_equal(p.elf_path, "/bin/sh");
	char **v = program_argv(&p, argv);
	assert_string_equal(v[0], "/bin/sh");
	assert_string_equal(v[1], "./text");
	assert_string_equal(v[2], "one");
	assert_string_equal(v[3], "two");
	assert_null(v[4]);
	free(v);
	program_free(&p);
	write_file("empty", "", 0, 0755);
	accepted("./empty", &p);
	assert_true(p.via_shell);
	program_free(&p);
}

static void refuse_header(size_t offset, unsigned int value, size_t len, const char *text)
{
	size_t size;
	unsigned char *elf = read_whole("/proc/self/exe", &size);

	memcpy(elf + offset, &value, len);
	write_file("mutant", elf, size, 0755);
	free(elf);
	refused("./mutant", 126, text);
}

static void test_other_elf(void **state)
{
	(void)state;
	refuse_header(offsetof(Elf64_Ehdr, e_machine), EM_386, 2, "32-bit");
	refuse_header(offsetof(Elf64_Ehdr, e_machine), EM_AARCH64, 2, "not a program for x86-64");
	refuse_header(EI_CLASS, ELFCLASS32, 1, "x32");
	refuse_header(EI_DATA, ELFDATA2MSB, 1, "not a program for x86-64");
	refuse_header(offsetof(Elf64_Ehdr, e_type), ET_REL, 2, "object file");
	refuse_header(offsetof(Elf64_Ehdr, e_entry), 0, 4, "shared library");
	refuse_header(offsetof(Elf64_Ehdr, e_phentsize), 3, 2, "damaged");
	refuse_header(offsetof(Elf64_Ehdr, e_phoff), 0x7fffffff, 4, "truncated");
	write_file("mutant", "\177ELF\2\1\1", 7, 0755);
	refused("./mutant", 126, "truncated");
}

static size_t find_bytes(const unsigned char *in, size_t len, const char *what)
{
	const unsigned char *at = memmem(in, len, what, strlen(what));

	assert_non_null(at);
	return (size_t)(at - in);
}

static void test_missing_linker(void **state)
{
	size_t size;
	unsigned char *elf = read_whole("/proc/self/exe", &size);

	(void)state;
	elf[find_bytes(elf, size, "/lib64/ld-linux") + 1] = 'X';
	write_file("mutant", elf, size, 0755);
	free(elf);
	refused("./mutant", 127, "its dynamic linker /Xib64/ld-linux");
}

/* Whatever is in the file: an answer, not a crash. */
static void test_damaged(void **state)
{
	size_t size;
	unsigned char *elf = read_whole("/proc/self/exe", &size);
	uint64_t random = 0x50ade;
	int good = 0, bad = 0;

	(void)state;
	size_t kept = size < 65536 ? size : 65536;
	for (int i = 0; i < 2000; i++) {
		unsigned char *copy = malloc(kept);
		struct program p;

		assert_non_null(copy);
		memcpy(copy, elf, kept);
		for (int k = 0; k < 4; k++)
			copy[next_random(&random) % (k ? 1024 : kept)] = (unsigned char)next_random(&random);
		write_file("mutant", copy, i % 3 ? kept : next_random(&random) % kept, 0755);
		free(copy);
		capture_begin(2);
		int status = program_resolve("./mutant", &p);
		const char *said = capture_end();
		if (status == 0) {
			good++;
			program_free(&p);
		} else {
			bad++;
			assert_true(status == 126 || status == 127);
			assert_true(is_one_line(said));
		}
	}
	free(elf);
	assert_true(good > 100 && bad > 100);
}

/* Refused for others than root; the checks run in a child that has become one. */
static int as_nobody(int index)
{
	static const char *const names[] = { "./setuid", "./setgid", "./capable" };
	static const char *const words[] = { "set-user-ID", "set-group-ID", "file capabilities" };
	struct program p;

	if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
		return 2;
	if (index == 3)
		return program_resolve("./ordinary", &p) == 0 ? 0 : 3;
	if (index == 4)
		return program_resolve("./secret", &p) == 126 ? 0 : 4;
	int pipe_fds[2];
	char said[512] = "";
	if (pipe(pipe_fds) != 0 || dup2(pipe_fds[1], 2) < 0)
		return 5;
	int status = program_resolve(names[index], &p);
	if (status != 126 || read(pipe_fds[0], said, sizeof(said) - 1) <= 0)
		return 6;
	return strstr(said, words[index]) && strstr(said, "run sonde as root") ? 0 : 7;
}

static void test_privileges(void **state)
{
	size_t size;
	unsigned char *elf;
	struct program p;
	/* struct vfs_cap_data, version 2: cap_net_raw, effective */
	static const unsigned char caps[20] = { 1, 0, 0, 2, 0, 0x20 };

	(void)state;
	if (geteuid() != 0)
		skip();
	elf = read_whole("/proc/self/exe", &size);
	write_file("setuid", elf, size, 04755);
	write_file("setgid", elf, size, 02755);
	write_file("capable", elf, size, 0755);
	write_file("ordinary", elf, size, 0755);
	write_file("secret", elf, size, 0711);
	free(elf);
	assert_int_equal(setxattr("capable", "security.capability", caps, sizeof(caps), 0), 0);
	assert_int_equal(run_children(5, as_nobody), 5);
	/* Root has the privileges already. */
	accepted("./setuid", &p);
	program_free(&p);
	accepted("./capable", &p);
	program_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_found),
		cmocka_unit_test(test_cannot_run),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_dynamic),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_interpreter_chain),
		cmocka_unit_test(test_text_without_interpreter),
		cmocka_unit_test(test_other_elf),
		cmocka_unit_test(test_missing_linker),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_privileges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
