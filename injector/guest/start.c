// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "injector/guest/guest.h"
#include "injector/process/tracee-private.h"
#include "runtime/guest/layout.h"

#define PAGE UINT64_C(4096)
#define STACK (UINT64_C(1) << 20)
#define MADV_WIPE 18
#define MAX_HEADERS 32
#define MAX_SPAN (UINT64_C(64) << 20)

bool inj_is_guest(const struct inj_session *s, size_t module)
{
	return s->opt.guests && s->opt.guests[module];
}

static bool any_guest(const struct inj_session *s)
{
	for (size_t i = 0; i < s->nmodules; i++)
		if (inj_is_guest(s, i))
			return true;
	return false;
}

static uint64_t page_down(uint64_t a)
{
	return a & ~(PAGE - 1);
}

static uint64_t page_up(uint64_t a)
{
	return page_down(a + PAGE - 1);
}

/* ---- the linker, mapped as the kernel would ---- */

struct linker {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[MAX_HEADERS];
	uint64_t base, span, headers; /* headers: address of the program headers */
};

static bool read_headers(struct linker *l)
{
	int fd = open(INJ_GUEST_LINKER, O_RDONLY | O_CLOEXEC);
	bool good = fd >= 0 && pread(fd, &l->eh, sizeof(l->eh), 0) == sizeof(l->eh) && memcmp(l->eh.e_ident, ELFMAG, SELFMAG) == 0 &&
		    l->eh.e_machine == EM_X86_64 && l->eh.e_type == ET_DYN && l->eh.e_phentsize == sizeof(l->ph[0]) &&
		    l->eh.e_phnum <= MAX_HEADERS;
	ssize_t bytes = (ssize_t)(l->eh.e_phnum * sizeof(l->ph[0]));

	good = good && pread(fd, l->ph, (size_t)bytes, (off_t)l->eh.e_phoff) == bytes;
	if (fd >= 0)
		close(fd);
	for (size_t i = 0; good && i < l->eh.e_phnum; i++) {
		const Elf64_Phdr *p = &l->ph[i];

		if (p->p_type != PT_LOAD)
			continue;
		good = p->p_filesz <= p->p_memsz && p->p_vaddr < MAX_SPAN && p->p_memsz < MAX_SPAN &&
		       p->p_vaddr % PAGE == p->p_offset % PAGE;
		if (p->p_vaddr + p->p_memsz > l->span)
			l->span = p->p_vaddr + p->p_memsz;
		if (l->eh.e_phoff >= p->p_offset && l->eh.e_phoff - p->p_offset < p->p_filesz)
			l->headers = l->eh.e_phoff - p->p_offset + p->p_vaddr;
	}
	l->span = page_up(l->span);
	return good && l->span;
}

static int protection(const Elf64_Phdr *p)
{
	return (p->p_flags & PF_R ? PROT_READ : 0) | (p->p_flags & PF_W ? PROT_WRITE : 0) | (p->p_flags & PF_X ? PROT_EXEC : 0);
}

static enum inj_status map_segment(struct inj_session *s, const struct linker *l, const Elf64_Phdr *p, int fd)
{
	uint64_t start = page_down(p->p_vaddr), file_end = p->p_vaddr + p->p_filesz, end = page_up(p->p_vaddr + p->p_memsz), got;
	uint64_t pages = page_up(file_end);
	uint8_t zeros[PAGE] = { 0 };
	enum inj_status status;

	status = inj_mmap(s->target, l->base + start, pages - start, protection(p), MAP_PRIVATE | MAP_FIXED, fd, page_down(p->p_offset),
			  &got);
	if (status == INJ_OK && end > pages)
		status = inj_mmap(s->target, l->base + pages, end - pages, protection(p), MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0,
				  &got);
	if (status == INJ_OK && (p->p_flags & PF_W) && pages > file_end)
		status = inj_write(s->target, l->base + file_end, zeros, pages - file_end);
	return status;
}

/* @text: some memory of the program's, for the name. */
static enum inj_status map_linker(struct inj_session *s, struct linker *l, uint64_t text)
{
	const uint64_t args[6] = { (uint64_t)AT_FDCWD, text, O_RDONLY | O_CLOEXEC };
	enum inj_status status;
	int64_t fd, ignored;

	status = inj_write(s->target, text, INJ_GUEST_LINKER, sizeof(INJ_GUEST_LINKER));
	if (status == INJ_OK)
		status = inj_syscall(s->target, SYS_openat, args, &fd);
	if (status != INJ_OK)
		return status;
	status = inj_mmap(s->target, 0, l->span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &l->base);
	for (size_t i = 0; i < l->eh.e_phnum && status == INJ_OK; i++)
		if (l->ph[i].p_type == PT_LOAD)
			status = map_segment(s, l, &l->ph[i], (int)fd);
	if (status != INJ_GONE)
		(void)!inj_syscall(s->target, SYS_close, (const uint64_t[6]){ (uint64_t)fd }, &ignored);
	return status;
}

/* ---- it runs ---- */

/* What is not to be made is answered as a kernel would that does not know it; brk() says by 0 that there is none. */
static bool is_withheld(const struct user_regs_struct *regs, pid_t tid, uint64_t *answer)
{
	switch ((int)regs->orig_rax) {
	case SYS_set_tid_address: *answer = (uint64_t)tid; return true;
	case SYS_brk: *answer = 0; return true;
	case SYS_set_robust_list:
	case 334 /* rseq */: *answer = (uint64_t)-ENOSYS; return true;
	default: return false;
	}
}

static enum inj_status answer_call(struct inj_session *s, struct user_regs_struct *regs, uint64_t answer)
{
	enum inj_status status;

	regs->orig_rax = (uint64_t)-1;
	status = inj_tracee_set_regs(s->tracee, regs);
	if (status == INJ_OK)
		status = inj_tracee_to_syscall(s->tracee);
	if (status == INJ_OK)
		status = inj_tracee_regs(s->tracee, regs);
	regs->rax = answer;
	return status == INJ_OK ? inj_tracee_set_regs(s->tracee, regs) : status;
}

/* From one system call to the next, until the agent is ready; *agent is where its struct rt_guest_agent is. */
static enum inj_status run(struct inj_session *s, pid_t tid, uint64_t *agent)
{
	struct user_regs_struct regs;
	enum inj_status status;
	uint64_t answer;

	*agent = 0;
	for (;;) {
		status = inj_tracee_to_syscall(s->tracee);
		if (status == INJ_OK)
			status = inj_tracee_regs(s->tracee, &regs);
		if (status != INJ_OK)
			return status;
		if (regs.orig_rax == RT_GUEST_READY) {
			*agent = regs.rdi;
			return answer_call(s, &regs, 0);
		}
		if (regs.orig_rax == SYS_exit_group)
			return answer_call(s, &regs, 0);
		if (is_withheld(&regs, tid, &answer))
			status = answer_call(s, &regs, answer);
		else
			status = inj_tracee_to_syscall(s->tracee);
		if (status != INJ_OK)
			return status;
	}
}

/* All registers of the thread are its own again afterwards. */
static enum inj_status run_linker(struct inj_session *s, const struct linker *l, uint64_t sp, uint64_t *agent)
{
	struct user_regs_struct saved, regs;
	struct inj_vectors vectors;
	enum inj_status status = inj_tracee_regs(s->tracee, &saved), restored;
	int64_t tid = 0;

	if (status == INJ_OK)
		status = inj_syscall(s->target, SYS_gettid, (const uint64_t[6]){ 0 }, &tid);
	if (status == INJ_OK)
		status = inj_tracee_vectors(s->tracee, &vectors);
	if (status != INJ_OK)
		return status;
	memset(&regs, 0, sizeof(regs));
	regs.cs = saved.cs;
	regs.ss = saved.ss;
	regs.ds = saved.ds;
	regs.es = saved.es;
	regs.gs_base = saved.gs_base;
	regs.eflags = 0x202;
	regs.rip = l->base + l->eh.e_entry;
	regs.rsp = sp;
	regs.orig_rax = (uint64_t)-1;
	status = inj_tracee_set_regs(s->tracee, &regs);
	if (status == INJ_OK)
		status = run(s, (pid_t)tid, agent);
	if (status == INJ_GONE)
		return status;
	saved.orig_rax = (uint64_t)-1;
	restored = inj_tracee_set_regs(s->tracee, &saved);
	if (restored == INJ_OK)
		restored = inj_tracee_set_vectors(s->tracee, &vectors);
	return restored != INJ_OK ? restored : status;
}

/* ---- what has come of it ---- */

static enum inj_status refuse(struct inj_session *s, const char *module, const char *why)
{
	s->opt.warn("module %s needs a C library, which cannot be loaded beside the program: %s", module, why);
	return INJ_NOT_SUPPORTED;
}

static const char *module_path(const struct inj_session *s, uint64_t number)
{
	for (size_t i = 0; i < s->nmodules; i++)
		if (inj_is_guest(s, i) && number-- == 0)
			return s->modules[i].path;
	return "";
}

/* It returns @value at once. */
static enum inj_status cut(struct inj_session *s, uint64_t function, int32_t value)
{
	uint8_t code[] = { 0x48, 0xc7, 0xc0, 0, 0, 0, 0, 0xc3 }; /* mov $value, %rax; ret */

	memcpy(code + 3, &value, sizeof(value));
	return function ? inj_write(s->target, function, code, sizeof(code)) : INJ_OK;
}

static enum inj_status take_over(struct inj_session *s, const struct rt_guest_agent *a)
{
	enum inj_status status;
	size_t n = 0;

	if (a->nmodules > RT_GUEST_MODULES || a->problem[0])
		return refuse(s, module_path(s, a->nmodules), a->problem);
	for (size_t i = 0; i < s->nmodules; i++) {
		if (!inj_is_guest(s, i))
			continue;
		s->modules[i].base = a->bases[n++];
		s->modules[i].mapped = true;
	}
	s->config.guest_tcb = a->tcb;
	s->config.guest_spare = a->spare;
	s->config.guest_create = a->create;
	s->config.guest_begin = a->begin;
	s->config.guest_finish = a->finish;
	status = cut(s, a->sbrk, -1);
	if (status == INJ_OK)
		status = cut(s, a->brk, -1);
	if (status == INJ_OK)
		status = cut(s, a->thread, EAGAIN);
	return status == INJ_OK ? inj_write(s->target, s->rt_config, &s->config, sizeof(s->config)) : status;
}

static enum inj_status map_mark(struct inj_session *s)
{
	int64_t pid, ignored;
	enum inj_status status = inj_mmap(s->target, 0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0,
					  &s->config.guest_mark);

	if (status == INJ_OK)
		status = inj_syscall(s->target, SYS_madvise, (const uint64_t[6]){ s->config.guest_mark, PAGE, MADV_WIPE }, &ignored);
	if (status == INJ_OK)
		status = inj_syscall(s->target, SYS_getpid, (const uint64_t[6]){ 0 }, &pid);
	return status == INJ_OK ? inj_write(s->target, s->config.guest_mark, &pid, sizeof(int32_t)) : status;
}

static const char *first_module(const struct inj_session *s)
{
	return module_path(s, 0);
}

enum inj_status inj_guest_start(struct inj_session *s)
{
	struct linker l = { .span = 0 };
	struct inj_guest_block block = { .room = 0 };
	struct rt_guest_agent agent;
	uint64_t stack, sp, at = 0;
	enum inj_status status;

	if (s->config.guest_tcb || !any_guest(s))
		return INJ_OK;
	if (!s->tracee)
		return refuse(s, first_module(s), "the process runs already");
	if (!read_headers(&l))
		return refuse(s, first_module(s), INJ_GUEST_LINKER " is not there, or is no dynamic linker");
	block.room = inj_guest_block_bytes(s);
	status = inj_mmap(s->target, 0, STACK + block.room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0,
			  &stack);
	if (status == INJ_OK)
		status = map_linker(s, &l, stack);
	if (status != INJ_OK)
		return status;
	block.top = stack + STACK + block.room;
	block.base = l.base;
	block.entry = l.base + l.eh.e_entry;
	block.phdr = l.base + l.headers;
	block.nphdr = l.eh.e_phnum;
	s->config.guest_stack = stack + STACK;
	status = map_mark(s);
	if (status == INJ_OK)
		status = inj_guest_block(s, &block, &sp);
	if (status == INJ_OK)
		status = run_linker(s, &l, sp, &at);
	if (status == INJ_REMOTE || (status == INJ_OK && !at))
		return refuse(s, first_module(s), status == INJ_OK ? "the dynamic linker has given up" : "it crashed when it started");
	if (status == INJ_OK)
		status = inj_read(s->target, at, &agent, sizeof(agent));
	if (status != INJ_OK)
		return status;
	agent.problem[sizeof(agent.problem) - 1] = '\0';
	return agent.magic == RT_GUEST_MAGIC ? take_over(s, &agent) : INJ_BAD_IMAGE;
}

enum inj_status inj_guest_call(struct inj_session *s, uint64_t function)
{
	static const uint64_t no_args[2];
	struct user_regs_struct saved, regs;
	enum inj_status status = inj_tracee_regs(s->tracee, &saved), restored;
	uint64_t ignored;

	if (status != INJ_OK)
		return status;
	regs = saved;
	regs.fs_base = s->config.guest_tcb;
	status = inj_tracee_set_regs(s->tracee, &regs);
	if (status == INJ_OK)
		status = inj_tracee_call(s->tracee, function, no_args, s->trap, &ignored);
	if (status == INJ_GONE)
		return status;
	saved.orig_rax = (uint64_t)-1;
	restored = inj_tracee_set_regs(s->tracee, &saved);
	return restored != INJ_OK ? restored : status;
}
