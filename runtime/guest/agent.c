// SPDX-License-Identifier: MIT
/*
 * The program that the guest's dynamic linker loads: it loads the modules, and does for the runtime what takes the C library
 * itself.  It does not come to main(), and does not end: the program's thread that has run it up to here goes on in the
 * program, and only calls what stands in struct rt_guest_agent.
 *
 * Its threads are the program's, which the C library knows nothing of.  What it needs of its own struct pthread is in variables
 * that are there for debuggers (_thread_db_*, nptl_db/structs.def).  With _dl_allocate_tls() and the head of the TCB, whose
 * layout is a part of the ABI (tcbhead_t, sysdeps/x86_64/nptl/tls.h), that is all.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/guest/layout.h"

#define SMALL_STACK 65536
#define MAX_KEPT 16384
#define RSEQ_FAILED (-2) /* RSEQ_CPU_ID_REGISTRATION_FAILED */

/* tcbhead_t */
struct head {
	uint64_t tcb;
	uint64_t dtv;
	uint64_t self;
	int32_t multiple_threads;
	int32_t gscope;
	uint64_t sysinfo;
	uint64_t stack_guard;
	uint64_t pointer_guard;
};

/* list_t */
struct list {
	struct list *next, *prev;
};

/* As nptl_db knows a member: its size in bits, how many of them, its offset. */
struct member {
	uint32_t bits, n, offset;
};

static struct {
	uint64_t (*allocate_tls)(void *);
	void (*deallocate_tls)(void *, bool);
	void (*ctype_init)(void);
	void (*call_tls_dtors)(void);
	const struct member *tid, *specific, *list;
	struct list *users; /* all threads whose stacks the library has not made */
	uint64_t rseq_offset;
	void *libc;
	void (*fini)(void);
} guest;

static struct rt_guest_agent agent = { .magic = RT_GUEST_MAGIC };

static struct head *own_head(void)
{
	uint64_t tcb;

	__asm__ volatile("movq %%fs:0, %0" : "=r"(tcb));
	return (struct head *)tcb;
}

/* ---- threads ---- */

/* Those that dlopen() gives the variables of libraries that want them in static TLS; others go through the list meanwhile. */
static void enlist(struct head *head)
{
	struct list *l = (struct list *)((char *)head + guest.list->offset);

	l->next = guest.users->next;
	l->prev = guest.users;
	l->next->prev = l;
	__atomic_store_n(&guest.users->next, l, __ATOMIC_RELEASE);
}

static uint64_t create(void)
{
	const struct head *own = own_head();
	struct head *head = (struct head *)guest.allocate_tls(NULL);

	if (!head)
		return 0;
	head->tcb = head->self = (uint64_t)head;
	head->multiple_threads = 1;
	head->sysinfo = own->sysinfo;
	head->stack_guard = own->stack_guard;
	head->pointer_guard = own->pointer_guard;
	if (guest.rseq_offset)
		*(int32_t *)((char *)head + guest.rseq_offset + 4) = RSEQ_FAILED;
	if (guest.users && guest.list)
		enlist(head);
	return (uint64_t)head;
}

/* The C library's own variables of a thread. */
struct kept {
	void *at;
	size_t bytes;
};

static int find_kept(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct kept *k = arg;

	if (size < offsetof(struct dl_phdr_info, dlpi_tls_data) + sizeof(info->dlpi_tls_data) || !info->dlpi_tls_data ||
	    !strstr(info->dlpi_name, "/libc.so.6"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			*k = (struct kept){ info->dlpi_tls_data, info->dlpi_phdr[i].p_memsz };
	return 1;
}

/*
 * All variables of the thread are what they are at the beginning, but for the C library's own, which lead to memory that would be
 * lost.  0: there is no memory, and the TCB is of no use any more.
 */
static int renew_tls(void)
{
	struct head *head = own_head();
	struct kept kept = { 0 };
	char *copy;

	dl_iterate_phdr(find_kept, &kept);
	if (kept.bytes > MAX_KEPT)
		return 0;
	copy = alloca(kept.bytes);
	guest.deallocate_tls(head, false);
	memcpy(copy, kept.at, kept.bytes);
	if (!guest.allocate_tls(head))
		return 0;
	memcpy(kept.at, copy, kept.bytes);
	return 1;
}

/* Values of pthread_setspecific(): two words each in the first block, which is right before the array of blocks. */
static void clear_keys(void)
{
	size_t first = 16 * (size_t)guest.specific->n;

	memset((char *)own_head() + guest.specific->offset - first, 0, first + 8 * (size_t)guest.specific->n);
}

/* What the thread before has left: the C library does not know of its end. */
static int clear(void)
{
	if (guest.call_tls_dtors)
		guest.call_tls_dtors();
	if (guest.specific)
		clear_keys();
	uselocale(LC_GLOBAL_LOCALE);
	return renew_tls();
}

static uint64_t begin(uint64_t tid, uint64_t again)
{
	*(int32_t *)((char *)own_head() + guest.tid->offset) = (int32_t)tid;
	if (again && !clear())
		return 0;
	if (guest.ctype_init)
		guest.ctype_init();
	errno = 0;
	return 1;
}

/* ---- the end ---- */

static jmp_buf end;
static int finishes;

/* Registered first, it is the last one that exit() calls.  Destructors are registered with nobody: see _start. */
static void leave_exit(int status, void *unused)
{
	(void)status;
	(void)unused;
	if (guest.fini)
		guest.fini();
	/* else a module ends the process */
	if (finishes)
		longjmp(end, 1);
}

static void finish(void)
{
	finishes = 1;
	if (!setjmp(end))
		exit(0);
	fflush(NULL);
}

/* ---- the beginning ---- */

static void *nothing(void *unused)
{
	return unused;
}

/* A thread that there has been is what makes the library lock what threads share: it never unlearns it. */
static int learn_threads(void)
{
	char *single = dlsym(guest.libc, "__libc_single_threaded");
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	int failed;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, SMALL_STACK);
	failed = pthread_create(&thread, &attr, nothing, NULL);
	if (!failed)
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (single)
		*single = 0;
	own_head()->multiple_threads = 1;
	return failed;
}

static void *find(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

static const char *look_around(void)
{
	const uint64_t *rseq_offset = find("__rseq_offset");
	const struct member *users = find("_thread_db_rtld_global__dl_stack_user");
	char *global = find("_rtld_global");

	guest.libc = dlopen("libc.so.6", RTLD_NOW);
	guest.allocate_tls = (uint64_t (*)(void *))find("_dl_allocate_tls");
	guest.deallocate_tls = (void (*)(void *, bool))find("_dl_deallocate_tls");
	guest.ctype_init = (void (*)(void))find("__ctype_init");
	guest.call_tls_dtors = (void (*)(void))find("__call_tls_dtors");
	guest.tid = find("_thread_db_pthread_tid");
	guest.specific = find("_thread_db_pthread_specific");
	guest.list = find("_thread_db_pthread_list");
	guest.users = users && global ? (struct list *)(global + users->offset) : NULL;
	guest.rseq_offset = rseq_offset ? *rseq_offset : 0;
	agent.sbrk = (uint64_t)dlsym(guest.libc, "sbrk");
	agent.brk = (uint64_t)dlsym(guest.libc, "brk");
	agent.thread = (uint64_t)dlsym(guest.libc, "pthread_create");
	if (!guest.libc || !guest.allocate_tls || !guest.deallocate_tls || !guest.tid)
		return "the C library here is another one than the GNU C library, or too old";
	return learn_threads() ? "no thread can be created" : NULL;
}

static const char *load(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct link_map *map;

	if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map))
		return dlerror();
	agent.bases[agent.nmodules++] = map->l_addr;
	return NULL;
}

__attribute__((noreturn)) static void ready(void)
{
	__asm__ volatile("syscall" : : "a"(RT_GUEST_READY), "D"(&agent) : "rcx", "r11", "memory");
	__builtin_trap();
}

void sonde_agent_main(uint64_t *sp, void (*fini)(void));

/* argv: this program, the name of the program that we are in, modules. */
__attribute__((noreturn, used, visibility("hidden"))) void sonde_agent_main(uint64_t *sp, void (*fini)(void))
{
	char **argv = (char **)(sp + 1);
	const char *problem = look_around();

	guest.fini = fini;
	program_invocation_name = argv[1];
	program_invocation_short_name = strrchr(argv[1], '/') ? strrchr(argv[1], '/') + 1 : argv[1];
	/* what the program writes is not to be mixed with what modules do */
	stdout->_fileno = 2;
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	on_exit(leave_exit, NULL);
	for (uint64_t i = 2; i < sp[0] && !problem && agent.nmodules < RT_GUEST_MODULES; i++)
		problem = load(argv[i]);
	if (problem)
		snprintf(agent.problem, sizeof(agent.problem), "%s", problem);
	agent.tcb = (uint64_t)own_head();
	agent.spare = create();
	agent.create = (uint64_t)create;
	agent.begin = (uint64_t)begin;
	agent.finish = (uint64_t)finish;
	ready();
}

__asm__(".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
	"	mov %rsp, %rdi\n"
	"	mov %rdx, %rsi\n"
	"	xor %ebp, %ebp\n"
	"	and $-16, %rsp\n"
	"	call sonde_agent_main\n"
	"	hlt\n"
	".size _start, . - _start\n");
