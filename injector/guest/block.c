// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injector/guest/guest.h"

#define MAX_ENVIRON (UINT64_C(8) << 20) /* the kernel allows less on a stack of the usual size */
#define CHUNK 65536
#define MAX_AUXV 64

struct text {
	char *bytes;
	size_t n;
};

/* /proc/PID/NAME; it may be empty. */
static bool read_proc(pid_t pid, const char *name, struct text *t)
{
	char path[64];
	ssize_t got = 1;
	int fd;

	*t = (struct text){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && got > 0 && t->n < MAX_ENVIRON) {
		char *more = realloc(t->bytes, t->n + CHUNK + 1);

		if (!more)
			break;
		t->bytes = more;
		got = read(fd, t->bytes + t->n, CHUNK);
		if (got > 0)
			t->n += (size_t)got;
		t->bytes[t->n] = '\0';
	}
	if (fd >= 0)
		close(fd);
	return fd >= 0 && t->bytes && got == 0;
}

/* What the program's own linker is to do, or that of what it executes, and not ours. */
static bool is_for_linker(const char *entry)
{
	static const char *const names[] = { "LD_PRELOAD=", "LD_AUDIT=", "LD_DEBUG=", "LD_TRACE_LOADED_OBJECTS=", "LD_SHOW_AUXV=" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(entry, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* The block as it is made: words from the bottom, strings from the top. */
struct block {
	uint8_t *mem;
	uint64_t base; /* in the program, of mem[0] */
	size_t words, strings, size;
	bool full;
};

static uint64_t put_string(struct block *b, const char *s)
{
	size_t len = strlen(s) + 1;

	if (b->strings - 8 * b->words < len + 64) {
		b->full = true;
		return 0;
	}
	b->strings -= len;
	memcpy(b->mem + b->strings, s, len);
	return b->base + b->strings;
}

static void put_word(struct block *b, uint64_t w)
{
	if (b->strings - 8 * b->words < 64) {
		b->full = true;
		return;
	}
	memcpy(b->mem + 8 * b->words++, &w, sizeof(w));
}

static void put_argv(struct block *b, const struct inj_session *s, const char *argv0)
{
	uint64_t argc = 3;

	for (size_t i = 0; i < s->nmodules; i++)
		argc += inj_is_guest(s, i);
	put_word(b, argc);
	put_word(b, put_string(b, INJ_GUEST_LINKER));
	put_word(b, put_string(b, s->opt.agent));
	put_word(b, put_string(b, argv0));
	for (size_t i = 0; i < s->nmodules; i++)
		if (inj_is_guest(s, i))
			put_word(b, put_string(b, s->modules[i].path));
	put_word(b, 0);
}

static void put_environ(struct block *b, const struct text *env)
{
	for (size_t at = 0; at < env->n; at += strlen(env->bytes + at) + 1)
		if (env->bytes[at] && !is_for_linker(env->bytes + at))
			put_word(b, put_string(b, env->bytes + at));
	put_word(b, 0);
}

/* The kernel's, but for what is about the file that it has executed: that would be the linker itself. */
static void put_auxv(struct block *b, const struct text *auxv, const struct inj_guest_block *g)
{
	size_t n = auxv->n / sizeof(Elf64_auxv_t);

	for (size_t i = 0; i < n && i < MAX_AUXV; i++) {
		Elf64_auxv_t a;

		memcpy(&a, auxv->bytes + i * sizeof(a), sizeof(a));
		switch (a.a_type) {
		case AT_NULL: i = n; continue;
		case AT_PHDR: a.a_un.a_val = g->phdr; break;
		case AT_PHNUM: a.a_un.a_val = g->nphdr; break;
		case AT_PHENT: a.a_un.a_val = sizeof(Elf64_Phdr); break;
		case AT_BASE: a.a_un.a_val = 0; break;
		case AT_ENTRY: a.a_un.a_val = g->entry; break;
		case AT_EXECFN: a.a_un.a_val = put_string(b, INJ_GUEST_LINKER); break;
		default: break;
		}
		put_word(b, a.a_type);
		put_word(b, a.a_un.a_val);
	}
	put_word(b, AT_NULL);
	put_word(b, 0);
}

uint64_t inj_guest_block_bytes(const struct inj_session *s)
{
	uint64_t bytes = 65536;
	struct text env;

	if (read_proc(s->target->pid, "environ", &env))
		bytes += 9 * (uint64_t)env.n; /* a pointer for each string, which may be of a single byte */
	free(env.bytes);
	for (size_t i = 0; i < s->nmodules; i++)
		bytes += strlen(s->modules[i].path) + 16;
	return (bytes + 4095) & ~UINT64_C(4095);
}

enum inj_status inj_guest_block(struct inj_session *s, const struct inj_guest_block *g, uint64_t *sp)
{
	struct block b = { .base = g->top - g->room, .strings = g->room, .size = g->room, .mem = calloc(1, g->room) };
	struct text env, auxv, cmd;
	enum inj_status status = INJ_OK;
	bool read = read_proc(s->target->pid, "environ", &env);

	read = read_proc(s->target->pid, "auxv", &auxv) && read;
	if (!read_proc(s->target->pid, "cmdline", &cmd) || !cmd.n)
		cmd.n = 0;
	if (!b.mem)
		status = INJ_MEMORY;
	else if (!read)
		status = INJ_SYSTEM;
	if (status == INJ_OK) {
		put_argv(&b, s, cmd.n ? cmd.bytes : s->opt.elf_path);
		put_environ(&b, &env);
		put_auxv(&b, &auxv, g);
		status = b.full ? INJ_NO_ROOM : inj_write(s->target, b.base, b.mem, b.size);
	}
	*sp = b.base;
	free(b.mem);
	free(env.bytes);
	free(auxv.bytes);
	free(cmd.bytes);
	return status;
}
