/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The order of the checks is that of the shell and the kernel: find the file, then see whether it
 * may be executed, then what it is. A script leads on to its interpreter.
 */
#include "launcher/program/program.h"
#include "launcher/common/message.h"
#include "launcher/program/program-elf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define HEAD_BYTES 256	  /* BINPRM_BUF_SIZE: how far the kernel reads a #! line */
#define MAX_INTERPRETERS 5 /* of one another, see exec_binprm() in the kernel's fs/exec.c */
#define SHELL "/bin/sh"

/* ---- finding it ---- */

static bool is_regular(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool may_execute(const char *path)
{
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
}

static char *default_path(void)
{
	size_t len = confstr(_CS_PATH, NULL, 0);
	char *path = malloc(len ? len : 1);

	if (path && !confstr(_CS_PATH, path, len))
		*path = '\0';
	return path;
}

/*
 * The first executable file, else (as shells do, for a better message) the first file at all. An
 * empty element is the current directory.
 */
static char *search(const char *list, const char *name)
{
	char *found = NULL;

	for (const char *p = list;; p++) {
		size_t len = strcspn(p, ":");
		char *path;

		if (asprintf(&path, "%.*s%s%s", (int)len, p, len ? "/" : "./", name) < 0)
			break;
		if (is_regular(path) && (!found || may_execute(path))) {
			free(found);
			found = path;
			if (may_execute(found))
				break;
		} else {
			free(path);
		}
		p += len;
		if (!*p)
			break;
	}
	return found;
}

char *program_find(const char *name)
{
	if (strchr(name, '/'))
		return strdup(name);
	if (!*name)
		return NULL;
	const char *list = getenv("PATH");
	char *standard = list ? NULL : default_path();
	char *path = search(list ? list : standard ? standard : "", name);

	free(standard);
	return path;
}

/* ---- may it be executed? ---- */

static int refuse(int status, const char *path, const char *why)
{
	msg_error("%s: %s", path, why);
	return status;
}

/* Returns 0 or an exit status, with the reason in *why. */
static int examine(const char *path, struct stat *st, const char **why)
{
	if (stat(path, st) != 0) {
		bool missing = errno == ENOENT || errno == ENOTDIR;

		*why = missing ? "not found" : strerror(errno);
		return missing ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
	}
	if (S_ISDIR(st->st_mode))
		*why = "is a directory";
	else if (!S_ISREG(st->st_mode))
		*why = "is not a regular file";
	else if (may_execute(path))
		return 0;
	else if (st->st_mode & 0111)
		*why = "permission denied (see its mode, and whether its file system is mounted noexec)";
	else
		*why = "is not executable (chmod +x it)";
	return EXIT_CANNOT_RUN;
}

/* ---- does it gain privileges? ---- */

static bool has_file_capabilities(const char *path)
{
	struct vfs_ns_cap_data caps;

	return getxattr(path, "security.capability", &caps, sizeof(caps)) > 0;
}

/*
 * The kernel starts such a program without its privileges when it is traced, so it would run but
 * fail in ways of its own. Root has them already.
 */
static int check_privileges(const char *path, const struct stat *st)
{
	const char *what = NULL;

	if (geteuid() == 0)
		return 0;
	if ((st->st_mode & S_ISUID) && st->st_uid != geteuid())
		what = "set-user-ID";
	else if ((st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		 st->st_gid != getegid())
		what = "set-group-ID";
	else if (has_file_capabilities(path))
		what = "file capabilities";
	if (!what)
		return 0;
	msg_error("%s: gains privileges when it starts (%s), which a traced program is not granted; "
		  "run sonde as root, or trace a copy without them", path, what);
	return EXIT_CANNOT_RUN;
}

/* ---- what is it? ---- */

static ssize_t read_head(const char *path, char *head)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	ssize_t n = pread(fd, head, HEAD_BYTES, 0);
	int saved = errno;
	close(fd);
	errno = saved;
	return n;
}

/*
 * The interpreter in a #! line of which `len` bytes are known, by the rules of the kernel's
 * fs/binfmt_script.c: the line may be cut off, the interpreter's name may not.
 */
static char *interpreter_of(const char *head, size_t len)
{
	const char *end = memchr(head, '\n', len);
	bool cut = !end && len == HEAD_BYTES;

	if (!end)
		end = head + len;
	const char *start = head + 2;
	while (start < end && (*start == ' ' || *start == '\t'))
		start++;
	const char *stop = start;
	while (stop < end && *stop != ' ' && *stop != '\t' && *stop != '\0')
		stop++;
	if (stop == start || (cut && stop == end))
		return NULL;
	return strndup(start, (size_t)(stop - start));
}

/* As bash decides: a NUL byte in the first line of what is no ELF file. */
static bool looks_binary(const char *head, size_t len)
{
	const char *end = memchr(head, '\n', len);

	return memchr(head, '\0', end ? (size_t)(end - head) : len) != NULL;
}

static int set(char **member, const char *value)
{
	free(*member);
	*member = strdup(value);
	if (*member)
		return 0;
	msg_error("out of memory");
	return EXIT_TRACER;
}

static int resolve_file(struct program *p, const char *path, int depth);

static int resolve_script(struct program *p, const char *path, const char *head, size_t len,
			  int depth)
{
	char *interp = interpreter_of(head, len);
	const char *why;
	struct stat st;

	if (!interp)
		return refuse(EXIT_CANNOT_RUN, path, "its #! line names no interpreter, or is too long");
	p->is_script = true;
	int status = examine(interp, &st, &why);
	if (status)
		msg_error("%s: its interpreter %s: %s", path, interp, why);
	else if (depth + 1 > MAX_INTERPRETERS)
		status = refuse(EXIT_CANNOT_RUN, path, "too many interpreters of interpreters");
	else
		status = resolve_file(p, interp, depth + 1);
	free(interp);
	return status;
}

/* What execvp() and shells do after ENOEXEC. Interpreters get no such second chance. */
static int resolve_text(struct program *p, const char *path, int depth)
{
	if (depth > 0)
		return refuse(EXIT_CANNOT_RUN, path, "is an interpreter that cannot be executed");
	if (set(&p->script, path) || set(&p->path, SHELL))
		return EXIT_TRACER;
	p->via_shell = true;
	p->is_script = true;
	return resolve_file(p, SHELL, depth + 1);
}

static int resolve_elf(struct program *p, const char *path, const struct stat *st)
{
	int status = program_read_elf(path, p);

	if (!status)
		status = check_privileges(path, st);
	if (!status && p->interp && !is_regular(p->interp)) {
		msg_error("%s: its dynamic linker %s is not there", path, p->interp);
		status = EXIT_NOT_FOUND;
	}
	return status ? status : set(&p->elf_path, path);
}

static int resolve_file(struct program *p, const char *path, int depth)
{
	char head[HEAD_BYTES];
	struct stat st;
	const char *why;
	int status = examine(path, &st, &why);

	if (status)
		return refuse(status, path, why);
	ssize_t len = read_head(path, head);
	if (len < 0 && errno == EACCES)
		return refuse(EXIT_CANNOT_RUN, path,
			      "may be executed but not read; such a program cannot be traced");
	if (len < 0)
		return refuse(EXIT_CANNOT_RUN, path, strerror(errno));
	if (len >= 4 && memcmp(head, "\177ELF", 4) == 0)
		return resolve_elf(p, path, &st);
	if (len >= 2 && memcmp(head, "#!", 2) == 0)
		return resolve_script(p, path, head, (size_t)len, depth);
	if (looks_binary(head, (size_t)len))
		return refuse(EXIT_CANNOT_RUN, path, "is neither an ELF program nor a script");
	return resolve_text(p, path, depth);
}

int program_resolve(const char *name, struct program *p)
{
	*p = (struct program){ 0 };
	p->path = program_find(name);
	if (!p->path) {
		msg_error("%s: not found%s", *name ? name : "''",
			  *name ? " (it has no '/', so it was looked for in $PATH)" : "");
		return EXIT_NOT_FOUND;
	}
	char *path = strdup(p->path); /* resolve_text() replaces p->path */
	int status = path ? resolve_file(p, path, 0) : EXIT_TRACER;

	free(path);
	if (status)
		program_free(p);
	return status;
}

char **program_argv(const struct program *p, char **argv)
{
	static char shell[] = SHELL;
	size_t n = 0;

	if (!p->via_shell)
		return argv;
	while (argv[n])
		n++;
	char **v = calloc(n + 2, sizeof(*v));
	if (!v)
		return NULL;
	v[0] = shell;
	v[1] = p->script;
	for (size_t i = 1; i < n; i++)
		v[i + 1] = argv[i];
	return v;
}

void program_free(struct program *p)
{
	for (size_t i = 0; i < p->nneeded; i++)
		free(p->needed[i]);
	free(p->needed);
	free(p->path);
	free(p->elf_path);
	free(p->interp);
	free(p->script);
	*p = (struct program){ 0 };
}

int program_elf_file(const char *name, char **file)
{
	struct program p = { 0 };
	int status = 0;

	if (strchr(name, '/') && access(name, F_OK) == 0)
		p.elf_path = strdup(name);
	else
		status = program_resolve(name, &p);
	*file = p.elf_path;
	p.elf_path = NULL;
	program_free(&p);
	if (!status && !*file) {
		msg_error("out of memory");
		status = EXIT_TRACER;
	}
	return status;
}
