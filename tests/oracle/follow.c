// SPDX-License-Identifier: GPL-3.0-or-later
#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/oracle/follow.h"

struct image images[MAX_IMAGES];
int nimages = 1;
FILE *out;
static const struct watcher *watcher;
static struct thread *threads;
static unsigned long steps_left; /* 0: no bound */
static bool enough;		 /* there was one, and all are being killed */
static pid_t main_pid;
static int main_status;

/* ---- places ---- */

struct image *image_at(uint64_t pc)
{
	size_t left;

	for (int i = 0; i < nimages; i++)
		if (images[i].base != ~UINT64_C(0) && object_code(&images[i].o, pc - images[i].base, &left))
			return &images[i];
	return NULL;
}

struct function *function_at(uint64_t pc)
{
	struct image *im = image_at(pc);

	return im ? object_function(&im->o, pc - im->base) : NULL;
}

const char *base_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

/* Where the program's first instruction is: AT_ENTRY. */
static uint64_t entry_point(pid_t pid)
{
	char name[64];
	Elf64_auxv_t a;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/auxv", pid);
	f = fopen(name, "r");
	while (f && fread(&a, sizeof(a), 1, f) == 1)
		if (a.a_type == AT_ENTRY) {
			fclose(f);
			return a.a_un.a_val;
		}
	die("%s: no AT_ENTRY", name);
}

/*
 * Libraries that were mapped since; the first mapping of a file is its beginning.  Nothing new is looked for as long
 * as @pc stays in one mapping.
 */
static void find_libraries(pid_t pid, uint64_t pc)
{
	static unsigned long lo, hi;
	unsigned long start, end, offset;
	char name[64], line[1024], path[512];
	FILE *f;

	if (pc >= lo && pc < hi)
		return;
	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	f = fopen(name, "r");
	while (f && fgets(line, sizeof(line), f)) {
		path[0] = '\0';
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %511s", &start, &end, &offset, path) < 3)
			continue;
		if (pc >= start && pc < end) {
			lo = start;
			hi = end;
		}
		for (int i = 1; i < nimages && !offset; i++)
			if (images[i].base == ~UINT64_C(0) && strcmp(images[i].o.path, path) == 0)
				images[i].base = start;
	}
	if (f)
		fclose(f);
}

/* ---- the curtain ---- */

static void write_code(struct space *s, bool hide)
{
	static uint8_t traps[1 << 16];

	memset(traps, 0xcc, sizeof(traps));
	for (int i = 0; i < nimages; i++) {
		for (size_t k = 0; images[i].base != ~UINT64_C(0) && k < images[i].o.nsegs; k++) {
			const struct segment *g = &images[i].o.segs[k];

			for (size_t at = 0, n; at < g->len; at += n) {
				n = g->len - at < sizeof(traps) ? g->len - at : sizeof(traps);
				if (pwrite(s->mem, hide ? traps : g->bytes + at, n,
					   (off_t)(images[i].base + g->addr + at)) != (ssize_t)n)
					die("cannot write the program's code: %s", strerror(errno));
			}
		}
	}
	s->curtain = hide;
}

static bool may_hide(const struct thread *t)
{
	/* Libraries come and go unseen behind it, and their constructors run. */
	return t->space->threads == 1 && nimages == 1;
}

/* ---- threads ---- */

static struct thread *find_thread(pid_t tid)
{
	for (struct thread *t = threads; t; t = t->next)
		if (t->tid == tid)
			return t;
	return NULL;
}

static struct thread *new_thread(pid_t tid)
{
	struct thread *t = calloc(1, sizeof(*t));

	if (!t)
		die("no memory");
	t->tid = tid;
	t->next = threads;
	threads = t;
	return t;
}

static struct space *new_space(pid_t pid)
{
	struct space *s = calloc(1, sizeof(*s));
	char name[64];

	if (!s)
		die("no memory");
	snprintf(name, sizeof(name), "/proc/%d/mem", pid);
	s->mem = open(name, O_RDWR | O_CLOEXEC);
	if (s->mem < 0)
		die("%s: %s", name, strerror(errno));
	return s;
}

static pid_t process_of(pid_t tid)
{
	char name[64], line[256];
	pid_t pid = tid;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/status", tid);
	f = fopen(name, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", &pid) == 1)
			break;
	if (f)
		fclose(f);
	return pid;
}

static void drop_space(struct space *s)
{
	if (--s->threads > 0)
		return;
	close(s->mem);
	free(s);
}

static void forget(struct thread *t)
{
	struct thread **p = &threads;

	while (*p != t)
		p = &(*p)->next;
	*p = t->next;
	if (t->space)
		drop_space(t->space);
	free(t->own);
	free(t);
}

static void registers(const struct thread *t, struct user_regs_struct *r)
{
	if (ptrace(PTRACE_GETREGS, t->tid, 0, r) < 0)
		memset(r, 0, sizeof(*r)); /* killed meanwhile */
}

static void executed(struct thread *t, uint64_t pc, uint64_t sp)
{
	if (watcher->executed)
		watcher->executed(t, pc, sp);
}

/*
 * What the instruction does, done for the thread.  Virtual machines carry it out themselves, and some of them lose the trap after it, so the next
 * instruction would not be seen.
 */
static void do_cpuid(struct thread *t, struct user_regs_struct *r)
{
	unsigned int a, b, c, d;

	__cpuid_count((unsigned int)r->rax, (unsigned int)r->rcx, a, b, c, d);
	r->rax = a;
	r->rbx = b;
	r->rcx = c;
	r->rdx = d;
	r->rip += 2;
	ptrace(PTRACE_SETREGS, t->tid, 0, r);
	executed(t, r->rip, r->rsp);
}

/* One instruction, or all outside of the code. */
static void resume(struct thread *t, int sig)
{
	struct user_regs_struct r;
	const uint8_t *code;
	size_t left;

	if (steps_left && --steps_left == 0) {
		enough = true;
		for (t = threads; t; t = t->next)
			kill(t->tid, SIGKILL);
	}
	if (enough)
		return;
	registers(t, &r);
	t->in = image_at(r.rip);
	t->stepping = t->in != NULL;
	t->free = !t->in && may_hide(t);
	t->pc = r.rip;
	t->sp = r.rsp;
	t->injected = sig;
	if (t->in) {
		if (t->space->curtain)
			write_code(t->space, false);
		code = object_code(&t->in->o, r.rip - t->in->base, &left);
		t->insn = insn_read(code, left, &t->len);
		if (watcher->before)
			watcher->before(t, &r);
		if (!sig && left > 1 && code[0] == 0x0f && code[1] == 0xa2) {
			do_cpuid(t, &r);
			resume(t, 0);
			return;
		}
	} else if (t->free && !t->space->curtain) {
		write_code(t->space, true);
	}
	ptrace(t->free ? PTRACE_CONT : PTRACE_SINGLESTEP, t->tid, 0, sig);
}

/* ---- stops ---- */

/* Control came from code that is not watched. */
static void arrived(struct thread *t, uint64_t pc, uint64_t sp)
{
	if (!image_at(pc))
		return;
	if (pc == images[0].base + images[0].o.entry)
		t->space->begun = true;
	if (watcher->arrived)
		watcher->arrived(t, pc, sp);
}

static int trap_code(pid_t tid)
{
	siginfo_t si = { 0 };

	ptrace(PTRACE_GETSIGINFO, tid, 0, &si);
	return si.si_code;
}

/* A trap of the program's own (int3, raise()) is passed on. */
static bool own_trap(const struct thread *t, int code, uint64_t pc)
{
	if (t->free && t->space->curtain && code == SI_KERNEL && image_at(pc - 1))
		return false;
	return code != TRAP_TRACE && code != SIGTRAP && code != TRAP_BRKPT;
}

static void trapped(struct thread *t)
{
	struct user_regs_struct r;
	int code = TRAP_TRACE;

	registers(t, &r);
	if (t->free || t->injected || t->insn == INSN_TRAP || t->insn == INSN_SYSCALL)
		code = trap_code(t->tid);
	if (own_trap(t, code, r.rip)) {
		resume(t, SIGTRAP);
		return;
	}
	if (t->free && code == SI_KERNEL) {
		r.rip--;
		ptrace(PTRACE_SETREGS, t->tid, 0, &r);
	}
	if (t->injected && code != TRAP_TRACE && !t->free) {
		/* the first instruction of a handler */
		if (watcher->handler)
			watcher->handler(t, r.rip, r.rsp);
	} else if (t->stepping) {
		executed(t, r.rip, r.rsp);
	} else {
		if (nimages > 1 && !image_at(r.rip))
			find_libraries(t->pid, r.rip);
		arrived(t, r.rip, r.rsp);
	}
	resume(t, 0);
}

/* A thread or process was made by @t, which stands behind it. */
static void made(struct thread *t, int how)
{
	unsigned long tid = 0;
	struct thread *c;

	ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &tid);
	c = find_thread((pid_t)tid);
	if (!c)
		c = new_thread((pid_t)tid);
	c->known = true;
	c->pid = process_of(c->tid);
	c->as_pid = how == PTRACE_EVENT_VFORK ? t->as_pid : c->pid;
	c->as_tid = how == PTRACE_EVENT_VFORK ? t->as_tid : c->tid;
	if (how == PTRACE_EVENT_FORK || (how == PTRACE_EVENT_CLONE && c->pid != t->pid)) {
		c->space = new_space(c->pid);
		c->space->curtain = t->space->curtain;
		c->space->begun = t->space->begun;
	} else {
		c->space = t->space;
		if (c->space->curtain)
			write_code(c->space, false);
	}
	c->space->threads++;
	if (c->stopped_early)
		resume(c, 0);
	/* not at the next instruction yet: what was going on goes on */
	ptrace(t->free && may_hide(t) ? PTRACE_CONT : PTRACE_SINGLESTEP, t->tid, 0, 0);
	t->free = t->free && may_hide(t);
}

static void ended(struct thread *t, int status)
{
	if (t->tid == main_pid)
		main_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	forget(t);
}

static void signalled(struct thread *t, int sig)
{
	struct user_regs_struct r;

	registers(t, &r);
	/* a fault: the instruction was not executed */
	if (t->stepping && r.rip != t->pc)
		executed(t, r.rip, r.rsp);
	if (t->free && watcher->interrupted)
		watcher->interrupted(t, r.rip, r.rsp);
	resume(t, sig);
}

static void stopped(struct thread *t, int status)
{
	int event = status >> 16;

	if (!t->known) {
		t->stopped_early = true;
	} else if (!t->stopped_early && t->tid != main_pid) {
		t->stopped_early = true; /* its first stop */
		resume(t, 0);
	} else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
		made(t, event);
	} else if (event == PTRACE_EVENT_EXEC) {
		ptrace(PTRACE_DETACH, t->tid, 0, 0);
		if (t->tid == main_pid)
			return; /* stays in the list until it ends */
		forget(t);
	} else if (WSTOPSIG(status) == SIGTRAP) {
		trapped(t);
	} else {
		signalled(t, WSTOPSIG(status));
	}
}

static void follow_all(void)
{
	int status;
	pid_t tid;

	while (threads && (tid = waitpid(-1, &status, __WALL)) > 0) {
		struct thread *t = find_thread(tid);

		if (WIFSTOPPED(status))
			stopped(t ? t : new_thread(tid), status);
		else if (t)
			ended(t, status);
	}
}

/* ---- start ---- */

/* At full speed, through the dynamic linker: libraries are where they stay when control comes to the program. */
static void run_to(struct thread *t, uint64_t pc)
{
	static const uint8_t trap = 0xcc;
	struct user_regs_struct r;
	uint8_t byte;
	int status;

	if (pread(t->space->mem, &byte, 1, (off_t)pc) != 1 || pwrite(t->space->mem, &trap, 1, (off_t)pc) != 1)
		die("cannot write the program's code: %s", strerror(errno));
	ptrace(PTRACE_CONT, t->tid, 0, 0);
	if (waitpid(t->tid, &status, __WALL) != t->tid || !WIFSTOPPED(status))
		die("the program ends before it begins");
	registers(t, &r);
	if (r.rip != pc + 1)
		die("the program stops at %llx before it begins", r.rip);
	r.rip = pc;
	ptrace(PTRACE_SETREGS, t->tid, 0, &r);
	if (pwrite(t->space->mem, &byte, 1, (off_t)pc) != 1)
		die("cannot write the program's code: %s", strerror(errno));
	find_libraries(t->pid, pc);
	arrived(t, pc, r.rsp);
}

static void start(char **argv, bool from_entry)
{
	int status;
	struct thread *t;

	main_pid = fork();
	if (main_pid == 0) {
		personality(ADDR_NO_RANDOMIZE);
		/* so that the dynamic linker does its work in the beginning */
		setenv("LD_BIND_NOW", "1", 1);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(argv[0], argv);
		die("%s: %s", argv[0], strerror(errno));
	}
	if (waitpid(main_pid, &status, 0) != main_pid || !WIFSTOPPED(status))
		die("%s: did not start", argv[0]);
	ptrace(PTRACE_SETOPTIONS, main_pid, 0,
	       PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
		       PTRACE_O_TRACEEXEC);
	images[0].base = entry_point(main_pid) - images[0].o.entry;
	t = new_thread(main_pid);
	t->known = true;
	t->pid = t->as_pid = t->as_tid = main_pid;
	t->space = new_space(main_pid);
	t->space->threads = 1;
	t->space->begun = !images[0].o.dynamic;
	if (t->space->begun) {
		struct user_regs_struct r;

		registers(t, &r);
		arrived(t, r.rip, r.rsp);
	} else if (from_entry) {
		run_to(t, images[0].base + images[0].o.entry);
	}
	resume(t, 0);
}

static void add_library(char *argument)
{
	char *symbols = strchr(argument, '=');

	if (nimages == MAX_IMAGES)
		die("too many libraries");
	if (symbols)
		*symbols++ = '\0';
	images[nimages].base = ~UINT64_C(0);
	object_read(&images[nimages++].o, argument, symbols);
}

/* ---- the command line ---- */

static void usage(const char *name, bool b)
{
	die("usage: %s [-o FILE] [-s SYMBOLS] [-l LIBRARY[=SYMBOLS]]... %s[-n STEPS] PROGRAM [ARGUMENT...]",
	    base_name(name), b ? "[-b] " : "");
}

/* SYMBOLS of the program. */
static const char *options(int argc, char **argv, bool *b)
{
	const char *symbols = NULL;
	int c;

	while ((c = getopt(argc, argv, b ? "+o:s:l:n:b" : "+o:s:l:n:")) != -1) {
		if (c == 'o' && !(out = fopen(optarg, "we")))
			die("%s: %s", optarg, strerror(errno));
		else if (c == 's')
			symbols = optarg;
		else if (c == 'n')
			steps_left = strtoul(optarg, NULL, 10);
		else if (c == 'l')
			add_library(optarg);
		else if (c == 'b')
			*b = true;
		else if (c != 'o')
			usage(argv[0], b);
	}
	if (optind == argc)
		usage(argv[0], b);
	return symbols;
}

int follow_main(const struct watcher *w, bool *b, int argc, char **argv)
{
	const char *symbols;

	watcher = w;
	out = stdout;
	symbols = options(argc, argv, b);
	object_read(&images[0].o, argv[optind], symbols);
	/* With one image, the curtain does the same. */
	start(argv + optind, nimages > 1);
	follow_all();
	if (w->end)
		w->end();
	if (fclose(out))
		die("cannot write: %s", strerror(errno));
	return main_status;
}
