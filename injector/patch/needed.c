// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "injector/image/elffile.h"
#include "injector/patch/attach.h"
#include "injector/patch/needed.h"

#define PATIENCE_NS INT64_C(5000000000) /* for a thread in the program's own code */
#define NAP_NS 2000000
#define STACK_BYTES (UINT64_C(1) << 20)
#define STARTERS 2 /* functions of the C library below the first of the program's: __libc_start_main(), start_thread(), ... */

/* At the top of the stack that the thread gets; the code below knows the places. */
struct order {
	uint64_t dlopen, dlerror, errno_location;
	uint64_t handle, why;
	char name[512];
};

/*
 *	mov %rdi, %rbx			the order
 *	lea -0x100(%rdi), %rsp
 *	call *0x10(%rbx)		__errno_location()
 *	mov %rax, %r12
 *	mov (%rax), %r13d
 *	lea 0x28(%rbx), %rdi
 *	mov $RTLD_NOW, %esi
 *	call *(%rbx)			dlopen()
 *	mov %rax, 0x18(%rbx)
 *	test %rax, %rax
 *	jne 1f
 *	call *0x8(%rbx)			dlerror()
 *	mov %rax, 0x20(%rbx)
 * 1:	mov %r13d, (%r12)
 *	mov $-1, %eax
 *	syscall
 *	ud2
 */
static const uint8_t caller[] = {
	0x48, 0x89, 0xfb, 0x48, 0x8d, 0xa7, 0x00, 0xff, 0xff, 0xff, 0xff, 0x53, 0x10, 0x49, 0x89, 0xc4, 0x44, 0x8b, 0x28,
	0x48, 0x8d, 0x7b, 0x28, 0xbe, RTLD_NOW, 0x00, 0x00, 0x00, 0xff, 0x13, 0x48, 0x89, 0x43, 0x18, 0x48, 0x85, 0xc0,
	0x75, 0x07, 0xff, 0x53, 0x08, 0x48, 0x89, 0x43, 0x20, 0x45, 0x89, 0x2c, 0x24,
	0xb8, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x05, 0x0f, 0x0b,
};

/* ---- which thread can be had ---- */

/* Files whose code may hold locks that dlopen() takes. */
struct lockers {
	struct inj_maps maps;
	const char *path[3];
	size_t n;
};

struct walk {
	const struct lockers *lockers;
	size_t frames, starters, after;
	bool within; /* it has been called by one of them */
};

static bool is_locker(const struct lockers *l, uint64_t pc)
{
	const struct inj_map *m = inj_maps_find(&l->maps, pc);

	for (size_t i = 0; m && i < l->n; i++)
		if (strcmp(m->path, l->path[i]) == 0)
			return true;
	return !m || m->path[0] != '/'; /* who knows */
}

/* The program's functions, then those that have started the thread, then perhaps _start. */
static int look_at_frame(Dwfl_Frame *frame, void *arg)
{
	struct walk *w = arg;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, NULL))
		return DWARF_CB_ABORT;
	if (is_locker(w->lockers, pc)) {
		w->within |= w->frames == 0 || w->after || ++w->starters > STARTERS;
	} else {
		w->after += w->starters > 0;
		w->within |= w->after > 1;
	}
	w->frames++;
	return w->within ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* @th, which is stopped. */
static bool can_call(Dwfl *dwfl, const struct lockers *lockers, const struct inj_thread *th)
{
	struct walk w = { .lockers = lockers };

	if (inj_thread_repeats(th) || is_locker(lockers, th->regs.rip))
		return false;
	return dwfl_getthread_frames(dwfl, th->tid, look_at_frame, &w) == 0 && !w.within && w.starters;
}

/* A Dwfl_Callbacks.find_debuginfo.  Files' own unwind tables are enough; to look for others may ask servers, while all threads are stopped. */
static int find_no_debuginfo(Dwfl_Module *module, void **arg, const char *name, Dwarf_Addr base, const char *file, const char *link, GElf_Word crc,
			     char **found)
{
	(void)module, (void)arg, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)found;
	return -1;
}

static Dwfl *open_unwinder(pid_t pid)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = find_no_debuginfo,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);

	if (dwfl && dwfl_linux_proc_report(dwfl, pid) == 0 && dwfl_report_end(dwfl, NULL, NULL) == 0 &&
	    dwfl_linux_proc_attach(dwfl, pid, true) == 0)
		return dwfl;
	dwfl_end(dwfl);
	return NULL;
}

static void add_locker(struct lockers *l, uint64_t addr)
{
	const struct inj_map *m = addr ? inj_maps_find(&l->maps, addr) : NULL;

	if (m)
		l->path[l->n++] = m->path;
}

/* ---- one thread loads it ---- */

static enum inj_status carry_out(struct inj_session *s, struct inj_threads *t, const struct inj_module *module, struct order *order)
{
	uint64_t stack, at, where;
	char why[256] = "";
	enum inj_status status = inj_mmap(&t->target, 0, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0,
					  &stack);

	if (status != INJ_OK)
		return status;
	where = stack + ((STACK_BYTES - sizeof(*order)) & ~UINT64_C(63));
	status = inj_code_put(&s->code, &t->target, caller, sizeof(caller), &at);
	if (status == INJ_OK)
		status = inj_write(&t->target, where, order, sizeof(*order));
	if (status == INJ_OK)
		status = inj_thread_run(t, t->caller, at, where, at + sizeof(caller) - 4, 0);
	if (status == INJ_OK)
		status = inj_read(&t->target, where, order, sizeof(*order));
	if (status == INJ_OK && !order->handle) {
		if (!order->why || inj_read_string(&t->target, order->why, why, sizeof(why)) != INJ_OK)
			why[0] = '\0';
		s->opt.warn("module %s needs %s, which the process cannot load: %s", module->path, order->name, why);
		status = INJ_NOT_SUPPORTED;
	}
	if (status == INJ_OK || status == INJ_NOT_SUPPORTED)
		(void)!inj_munmap(&t->target, stack, STACK_BYTES);
	return status;
}

/* In that thread if it can be had; else *order stays as it is. */
static enum inj_status try_thread(struct inj_session *s, pid_t tid, Dwfl *dwfl, const struct lockers *lockers,
				  const struct inj_module *module, struct order *order)
{
	struct inj_threads t;
	enum inj_status status = inj_threads_stop(&t, s->attach.target.pid, tid);
	int saved;

	if (status != INJ_OK)
		return status == INJ_GONE ? INJ_OK : status;
	if (can_call(dwfl, lockers, &t.v[t.caller]) && inj_libraries_complete(s))
		status = carry_out(s, &t, module, order);
	saved = errno;
	inj_threads_go(&t);
	errno = saved;
	return status;
}

static enum inj_status try_threads(struct inj_session *s, const struct inj_module *module, struct order *order)
{
	pid_t pid = s->attach.target.pid;
	enum inj_status status;
	struct lockers lockers = { .n = 0 };
	struct dirent *e;
	uint64_t malloc_at = 0;
	char path[32];
	Dwfl *dwfl;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return INJ_GONE;
	status = inj_maps_read(pid, &lockers.maps);
	dwfl = status == INJ_OK ? open_unwinder(pid) : NULL;
	add_locker(&lockers, order->dlopen);
	add_locker(&lockers, s->interp_base);
	if (inj_find_exported(s, "malloc", &malloc_at))
		add_locker(&lockers, malloc_at);
	while (dwfl && status == INJ_OK && !order->handle && (e = readdir(dir)))
		if (atoi(e->d_name) > 0)
			status = try_thread(s, atoi(e->d_name), dwfl, &lockers, module, order);
	dwfl_end(dwfl);
	inj_maps_free(&lockers.maps);
	closedir(dir);
	return status;
}

static enum inj_status load_one(struct inj_session *s, const struct inj_module *module, const char *name)
{
	struct order order = { .handle = 0 };
	int64_t until = clock_now_ns() + PATIENCE_NS;
	enum inj_status status;

	snprintf(order.name, sizeof(order.name), "%s", name);
	if (!inj_find_exported(s, "dlopen", &order.dlopen) || !inj_find_exported(s, "dlerror", &order.dlerror) ||
	    !inj_find_exported(s, "__errno_location", &order.errno_location))
		return INJ_OK; /* the loader says what is undefined */
	while ((status = try_threads(s, module, &order)) == INJ_OK && !order.handle && clock_now_ns() < until)
		nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
	if (status != INJ_OK || order.handle)
		return status;
	s->opt.warn("module %s needs %s, which the process has not mapped, and none of its threads can load it, since all wait or are within "
		    "the C library: try again, or start the process with LD_PRELOAD=%s", module->path, name, name);
	return INJ_NOT_SUPPORTED;
}

/* What another C library than the process's has is no reason to load that one. */
static bool lacks_something(struct inj_session *s, const struct inj_elf *file)
{
	struct inj_elf_symbols table = inj_elf_dynsym(file);
	uint64_t addr;

	for (size_t i = 1; i < table.n; i++) {
		Elf64_Sym sym = inj_elf_symbol(&table, i);

		if (sym.st_shndx == SHN_UNDEF && ELF64_ST_BIND(sym.st_info) == STB_GLOBAL &&
		    !inj_find_exported(s, inj_elf_symbol_name(&table, &sym), &addr))
			return true;
	}
	return false;
}

enum inj_status inj_load_needed(struct inj_session *s, bool *came)
{
	enum inj_status status = INJ_OK;

	*came = false;
	for (size_t i = 0; i < s->nmodules && status == INJ_OK; i++) {
		struct inj_elf file;
		const char *name;
		size_t at = 0;

		if (inj_elf_open(s->modules[i].path, &file) != INJ_OK)
			continue; /* the loader says why */
		while (status == INJ_OK && (name = inj_elf_needed(&file, &at)) && lacks_something(s, &file)) {
			const char *slash = strrchr(name, '/');
			const char *base = slash ? slash + 1 : name;

			if (inj_is_mapped(s, base, strlen(base)))
				continue;
			status = load_one(s, &s->modules[i], name);
			*came = status == INJ_OK;
		}
		inj_elf_close(&file);
	}
	return status;
}
