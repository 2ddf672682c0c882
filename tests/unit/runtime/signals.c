// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The signal shim, with real signals: sigaction() as the program sees it, and handlers that interrupt
 * probes at each of their instructions, one or two at a time.
 */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/blocks.h"
#include "runtime/guest/guest.h"
#include "runtime/memory/memory.h"
#include "runtime/signals/signals.h"
#include "runtime/thread.h"
#include "tests/unit/probe/rig.h"

#define SA_RESTORER_FLAG 0x04000000
#define TRAP_FLAG 0x100
#define MAX_STEPS 80
#define HANDLER_EVENT 0x77777
#define OBJECT UINT64_C(0x400000)
#define ORIG 0x1230

struct rt_config sonde_rt_config;
static struct rt_codemaps codemaps;

static const uint64_t *volatile arrived[4];
static volatile int narrived;

/* There are no memory streams here. */
void rt_mem_arrived(uint64_t *regs)
{
	assert_non_null(regs);
	if (narrived < 4)
		arrived[narrived++] = regs;
}

int rt_mem_begins(const struct rt_codemap *map, uint64_t pc)
{
	(void)map;
	(void)pc;
	return 1;
}

int rt_mem_returns(uint64_t *regs)
{
	assert_non_null(regs);
	return 0;
}

void rt_mem_restorer(void)
{
	fail();
}

void rt_guest_arrived(uint64_t *regs)
{
	assert_non_null(regs);
}

/* Nor are blocks counted. */
void rt_blocks_arrived(uint64_t *regs)
{
	(void)regs;
	fail();
}

void rt_blocks_returns(uint64_t *regs)
{
	(void)regs;
	fail();
}

/* Nobody is attached to. */
struct rt_thread *rt_register(uint64_t tcb)
{
	(void)tcb;
	fail();
	return NULL;
}

void rt_mem_nowhere(struct rt_thread *t)
{
	(void)t;
	fail();
}

void rt_mem_rest(void)
{
	fail();
}

int rt_gs_is_ours(void)
{
	fail();
	return 0;
}

struct kernel_action {
	void *handler;
	uint64_t flags;
	void *restorer;
	uint64_t mask;
};

void sonde_rt_sigaction(void);
extern const uint8_t rt_thunks[];
void restorer(void);
void usr_entry(void);
void on_usr(int sig, siginfo_t *info, void *context, uint64_t rsp);

/* A handler that notes its stack pointer. */
asm(".pushsection .text\n"
    "restorer:\n"
    "	mov	$15, %eax\n	syscall\n"
    "usr_entry:\n"
    "	mov	%rsp, %rcx\n	jmp	on_usr\n"
    ".popsection\n");

static long shim_call(long nr, long sig, const void *act, void *old, long size)
{
	register long r10 asm("r10") = size;
	register long r8 asm("r8") = 0x1111;
	register long r9 asm("r9") = 0x2222;
	long ret;

	asm volatile("lea 1f(%%rip), %%r11\n"
		     "jmp sonde_rt_sigaction\n"
		     "1:\n"
		     : "=a"(ret), "+D"(sig), "+S"(act), "+d"(old), "+r"(r10), "+r"(r8), "+r"(r9)
		     : "0"(nr)
		     : "rcx", "r11", "memory", "cc");
	assert_int_equal(r10, size);
	assert_int_equal(r8, 0x1111);
	assert_int_equal(r9, 0x2222);
	return ret;
}

static long shim(long sig, const void *act, void *old, long size)
{
	return shim_call(SYS_rt_sigaction, sig, act, old, size);
}

static long raw(long sig, const void *act, void *old, long size)
{
	long ret;
	register long r10 asm("r10") = size;

	asm volatile("syscall"
		     : "=a"(ret)
		     : "0"(SYS_rt_sigaction), "D"(sig), "S"(act), "d"(old), "r"(r10)
		     : "rcx", "r11", "memory");
	return ret;
}

static int is_thunk(const void *p)
{
	return (uint64_t)p - (uint64_t)rt_thunks < RT_THUNKS * RT_THUNK_BYTES;
}

static struct kernel_action action_of(void *handler)
{
	return (struct kernel_action){
		.handler = handler,
		.flags = SA_SIGINFO | SA_RESTORER_FLAG,
		.restorer = (void *)restorer,
	};
}

static void test_errors(void **state)
{
	struct kernel_action act = action_of((void *)usr_entry), old;
	uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *edge = pages + 4096;
	const struct {
		long sig;
		const void *act;
		void *old;
		long size;
	} calls[] = {
		{ SIGUSR1, &act, &old, 8 },	    { SIGUSR1, &act, NULL, 8 },
		{ SIGUSR1, NULL, &old, 8 },	    { SIGUSR1, NULL, NULL, 8 },
		{ SIGUSR1, &act, &old, 16 },	    { SIGUSR1, &act, &old, 0 },
		{ SIGUSR1, (void *)8, &old, 8 },    { SIGUSR1, &act, (void *)8, 8 },
		{ SIGUSR1, (void *)8, (void *)8, 8 }, { SIGUSR1, edge - 8, &old, 8 },
		{ SIGUSR1, edge - 24, &old, 8 },    { SIGUSR1, edge - 32, &old, 8 },
		{ SIGUSR1, edge - 31, &old, 8 },    { SIGUSR1, (void *)(-4096L), &old, 8 },
		{ SIGUSR1, &act, edge - 8, 8 },	    { SIGUSR1, &act, edge - 32, 8 },
		{ 0, &act, &old, 8 },		    { 65, &act, &old, 8 },
		{ -1, &act, &old, 8 },		    { SIGKILL, &act, &old, 8 },
		{ SIGKILL, NULL, &old, 8 },	    { SIGSTOP, &act, NULL, 8 },
		{ 64, &act, &old, 8 },
	};

	(void)state;
	memcpy(edge - 32, &act, sizeof(act));
	mprotect(edge, 4096, PROT_NONE);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		assert_int_equal(shim(calls[i].sig, calls[i].act, calls[i].old, calls[i].size),
				 raw(calls[i].sig, calls[i].act, calls[i].old, calls[i].size));
	munmap(pages, 8192);
	assert_int_equal(shim_call(SYS_getpid, 0, NULL, NULL, 0), getpid());
}

static void test_translation(void **state)
{
	struct kernel_action act = action_of((void *)usr_entry), old, real;

	(void)state;
	act.flags |= SA_NODEFER | SA_ONSTACK | SA_RESTART;
	act.mask = 0x1230;
	assert_int_equal(shim(SIGUSR1, &act, NULL, 8), 0);
	assert_int_equal(raw(SIGUSR1, NULL, &real, 8), 0);
	assert_true(is_thunk(real.handler));
	assert_int_equal(real.flags, act.flags);
	assert_ptr_equal(real.restorer, act.restorer);
	assert_int_equal(real.mask, act.mask);
	assert_int_equal(shim(SIGUSR1, NULL, &old, 8), 0);
	assert_memory_equal(&old, &act, sizeof(act));
	/* the old action comes back, and the same structure may serve for both */
	old = action_of((void *)SIG_IGN);
	assert_int_equal(shim(SIGUSR1, &old, &old, 8), 0);
	assert_memory_equal(&old, &act, sizeof(act));
	assert_int_equal(raw(SIGUSR1, NULL, &real, 8), 0);
	assert_ptr_equal(real.handler, SIG_IGN);
	assert_int_equal(shim(SIGUSR1, NULL, &old, 8), 0);
	assert_ptr_equal(old.handler, SIG_IGN);
	/* one thunk for one handler, whatever the signal */
	assert_int_equal(shim(SIGUSR1, &act, NULL, 8), 0);
	assert_int_equal(shim(SIGUSR2, &act, NULL, 8), 0);
	assert_int_equal(raw(SIGUSR1, NULL, &old, 8), 0);
	assert_int_equal(raw(SIGUSR2, NULL, &real, 8), 0);
	assert_ptr_equal(old.handler, real.handler);
	act = action_of((void *)SIG_DFL);
	assert_int_equal(shim(SIGUSR2, &act, NULL, 8), 0);
	assert_int_equal(raw(SIGUSR2, NULL, &real, 8), 0);
	assert_ptr_equal(real.handler, SIG_DFL);
}

/* ---- interrupted probes ---- */

static int stop_at, steps, interrupted;
static int nsignals;	 /* sent at a time */
static int handled, bad; /* runs of on_usr(), and what was wrong there */
static struct machine was;
static const struct tramp_probe *current;

#define EXPECT(condition) (bad += !(condition))

static void handler_records(uint64_t frame)
{
	uint64_t *p = (uint64_t *)rig.pool.ptr;

	p[1] = frame;
	p[0] = __builtin_ia32_rdtsc() << 20 | HANDLER_EVENT;
	rig.pool.ptr += 16;
}

static void expect_registers(const greg_t *regs)
{
	static const uint8_t places[NREGISTERS] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
						    REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
						    REG_R12, REG_R13, REG_R14, REG_R15 };

	for (int i = 0; i < NREGISTERS; i++)
		if (current->live & TRAMP_REG(i) || i == RSP)
			EXPECT((uint64_t)regs[places[i]] == was.registers[i]);
	if (current->live & TRAMP_STATUS)
		EXPECT(((uint64_t)regs[REG_EFL] & MACHINE_FLAGS) == (was.flags & MACHINE_FLAGS));
}

void on_usr(int sig, siginfo_t *info, void *context, uint64_t rsp)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t rip = (uint64_t)regs[REG_RIP];

	EXPECT(info->si_signo == sig);
	EXPECT((uint64_t)context == rsp + 8);
	EXPECT(*(uint64_t *)rsp == (uint64_t)restorer);
	if (nsignals == 2 && handled == 0) {
		/* it seems to have interrupted the other one at its beginning */
		EXPECT(rip == (uint64_t)usr_entry);
	} else {
		EXPECT(rip == (uint64_t)rig.at || rip == (uint64_t)rig.at + rig.code.len);
		expect_registers(regs);
	}
	handled++;
	handler_records(rsp);
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t x = (uint64_t)regs[REG_RIP] - (uint64_t)rig.at;

	(void)sig;
	(void)info;
	if (x == rig.code.len) {
		regs[REG_EFL] &= ~TRAP_FLAG;
	} else if (x < rig.code.len && steps++ == stop_at) {
		interrupted = 1;
		syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
		if (nsignals == 2)
			syscall(SYS_tgkill, getpid(), gettid(), SIGUSR2);
		regs[REG_EFL] &= ~TRAP_FLAG;
	}
}

static void set_codemap(uint64_t end, const struct rt_piece *pieces, uint32_t npieces)
{
	codemaps.v[0] = (struct rt_codemap){
		.arena = (uint64_t)rig.at,
		.arena_end = end,
		.object = OBJECT,
		.pieces = (uint64_t)pieces,
		.probes = (uint64_t)&rig.code.map,
		.npieces = npieces,
		.nprobes = 1,
	};
	codemaps.count = 1;
	sonde_rt_config.codemaps = (uint64_t)&codemaps;
}

static void check_records(uint32_t event)
{
	int own = 0, handlers = 0;

	for (uint64_t i = 0; i < (rig.pool.ptr - (uint64_t)rig.records) / 16; i++) {
		own += (rig.records[i][0] & 0xfffff) == event;
		handlers += (rig.records[i][0] & 0xfffff) == HANDLER_EVENT;
	}
	assert_int_equal(own, 1);
	assert_int_equal(handlers, interrupted ? nsignals : 0);
	assert_int_equal(rig.pool.ptr, rig.records[own + handlers]);
}

static void interrupt_at(const struct tramp_probe_env *env, const struct tramp_probe *probe, int at)
{
	static const struct rt_piece piece = { .orig = ORIG, .kind = RT_PIECE_PROBE };
	struct machine is;

	rig_reset();
	rig_place(env, probe);
	set_codemap((uint64_t)rig.at + rig.code.len, &piece, 1);
	rig_random(&was);
	is = was;
	is.flags |= TRAP_FLAG;
	current = probe;
	stop_at = at;
	steps = interrupted = handled = 0;
	rig_run(&is);
	rig_check(probe, &was, &is);
	assert_int_equal(bad, 0);
	assert_int_equal(handled, interrupted ? nsignals : 0);
	check_records(probe->event);
}

static void interrupt(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	static unsigned int n;

	if (n++ % 61)
		return;
	for (nsignals = 1; nsignals <= 2; nsignals++) {
		int at = 0;

		do
			interrupt_at(env, probe, at);
		while (interrupted && at++ < MAX_STEPS);
		assert_in_range(at, 10, MAX_STEPS);
	}
}

static void install(int sig, void *handler, uint64_t flags, uint64_t mask)
{
	struct kernel_action act = action_of(handler);

	act.flags |= flags;
	act.mask = mask;
	assert_int_equal(shim(sig, &act, NULL, 8), 0);
}

static void test_interrupted(void **state)
{
	struct sigaction trap = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	(void)state;
	sigfillset(&trap.sa_mask);
	sigaction(SIGTRAP, &trap, NULL);
	install(SIGUSR1, (void *)usr_entry, 0, 0);
	install(SIGUSR2, (void *)usr_entry, 0, 0);
	rig_each(&rig_env, TRAMP_PROBE_ENTRY, interrupt);
	rig_each(&rig_env, TRAMP_PROBE_EXIT, interrupt);
}

/* ---- faults ---- */

#define LOADS 16
#define LOAD_BYTES 3

static uint64_t fault_rip;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	fault_rip = (uint64_t)regs[REG_RIP];
	regs[REG_RIP] = (greg_t)(uint64_t)machine_landing;
}

static uint64_t fault_at(uint32_t offset)
{
	struct machine m;

	rig_random(&m);
	m.registers[RAX] = 16;
	fault_rip = 0;
	rig_enter_gs();
	machine_run(&m, rig.at + offset);
	rig_leave_gs();
	return fault_rip;
}

static void test_faults(void **state)
{
	static const struct rt_piece pieces[] = {
		{ .start = 0, .orig = 0x100, .kind = RT_PIECE_COPY | RT_PIECE_RESUMABLE },
		{ .start = 6, .orig = 0x200, .kind = RT_PIECE_COPY },
		{ .start = 9, .orig = 0x300, .kind = RT_PIECE_INSN | RT_PIECE_RESUMABLE },
		{ .start = 18, .orig = 0x400, .kind = RT_PIECE_SLOW | RT_PIECE_RESUMABLE },
		{ .start = 21, .orig = 0x080, .kind = RT_PIECE_COPY | RT_PIECE_RESUMABLE },
	};
	uint64_t at;

	(void)state;
	rig_reset();
	rig.at = rig.page;
	at = (uint64_t)rig.at;
	for (int i = 0; i < LOADS; i++)
		memcpy(rig.at + i * LOAD_BYTES, "\x48\x8b\x18", LOAD_BYTES); /* mov (%rax), %rbx */
	set_codemap(at + 30, pieces, sizeof(pieces) / sizeof(pieces[0]));
	install(SIGSEGV, (void *)on_fault, SA_NODEFER, 0);
	assert_int_equal(fault_at(0), OBJECT + 0x100);
	assert_int_equal(fault_at(3), OBJECT + 0x103);
	assert_int_equal(fault_at(6), at + 6);
	assert_int_equal(fault_at(9), OBJECT + 0x300);
	assert_int_equal(fault_at(12), at + 12);
	assert_int_equal(fault_at(18), at + 18);
	assert_int_equal(fault_at(21), OBJECT + 0x80);
	assert_int_equal(fault_at(27), OBJECT + 0x86);
	assert_int_equal(fault_at(30), at + 30);
	signal(SIGSEGV, SIG_DFL);
}

/* A probe that cannot save registers, because the stack ends there. */
static void test_fault_in_probe(void **state)
{
	static const struct rt_piece piece = { .orig = ORIG,
					       .kind = RT_PIECE_PROBE | RT_PIECE_RESUMABLE };
	struct tramp_probe probe = { .event = 99, .live = TRAMP_ALL_REGS };
	uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static uint8_t alternate[65536];
	stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) }, was_stack;
	struct machine m;

	(void)state;
	mprotect(pages, 4096, PROT_NONE);
	sigaltstack(&stack, &was_stack);
	rig_reset();
	rig_place(&rig_env, &probe);
	set_codemap((uint64_t)rig.at + rig.code.len, &piece, 1);
	install(SIGSEGV, (void *)on_fault, SA_ONSTACK, 0);
	rig_random(&m);
	m.registers[RSP] = (uint64_t)pages + 4096 + 128;
	rig_enter_gs();
	machine_run(&m, rig.at);
	rig_leave_gs();
	assert_int_equal(fault_rip, OBJECT + ORIG);
	assert_int_equal(m.registers[RSP], pages + 4096 + 128);
	assert_int_equal(rig.pool.ptr, rig.records);
	sigaltstack(&was_stack, NULL);
	signal(SIGSEGV, SIG_DFL);
	munmap(pages, 8192);
}

/* ---- a storm ---- */

#define ROUNDS 400000
#define EVENT_ENTER 1000
#define EVENT_HANDLER 2000

static uint64_t many[8 * ROUNDS][2];
static void (*probed[2])(void);
static struct rt_piece storm_pieces[8];
static struct rt_probe_map storm_maps[4];
static volatile int alarms;

static void on_alarm(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	probed[1]();
	alarms++;
}

static size_t put_probe(size_t at, int i, uint32_t event, tramp_regs live)
{
	struct tramp_probe probe = { .kind = i & 1, .event = event, .live = live };
	struct tramp_probe_code code;
	uint8_t *slow = rig.page + 8192 + 256 * i;

	assert_int_equal(tramp_probe_emit(&rig_env, &probe, &code), TRAMP_OK);
	assert_int_equal(tramp_probe_place(&code, (uint64_t)rig.page + at, (uint64_t)slow), TRAMP_OK);
	memcpy(rig.page + at, code.code, code.len);
	memset(slow, 0xcc, 64); /* nobody is to come here */
	storm_maps[i] = code.map;
	storm_pieces[2 * i] = (struct rt_piece){ .start = (uint32_t)at, .probe = (uint16_t)i,
						 .kind = RT_PIECE_PROBE };
	storm_pieces[2 * i + 1] = (struct rt_piece){ .start = (uint32_t)(at + code.len),
						     .kind = RT_PIECE_INSN };
	return at + code.len;
}

static void place_storm(void)
{
	tramp_regs no_flags = TRAMP_ALL_REGS & ~TRAMP_STATUS;
	size_t at = 0;

	for (int i = 0; i < 2; i++) {
		probed[i] = (void (*)(void))(rig.page + at);
		at = put_probe(at, 2 * i, i ? EVENT_HANDLER : EVENT_ENTER, TRAMP_ALL_REGS);
		at = put_probe(at, 2 * i + 1, i ? EVENT_HANDLER + 1 : EVENT_ENTER + 1,
			       i ? no_flags : no_flags & ~TRAMP_REG(TRAMP_R11));
		rig.page[at++] = 0xc3;
	}
	rig.at = rig.page;
	set_codemap((uint64_t)rig.page + at, storm_pieces, 8);
	codemaps.v[0].probes = (uint64_t)storm_maps;
	codemaps.v[0].nprobes = 4;
}

static void test_storm(void **state)
{
	struct itimerval often = { .it_interval.tv_usec = 20, .it_value.tv_usec = 20 }, never = { 0 };
	uint32_t seen[4] = { 0 };
	uint64_t n;

	(void)state;
	rig_reset();
	place_storm();
	rig.pool.ptr = (uint64_t)many;
	rig.pool.room = (uint64_t)many + sizeof(many) - 15;
	alarms = 0;
	install(SIGALRM, (void *)on_alarm, 0, 0);
	rig_enter_gs();
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < ROUNDS; i++)
		probed[0]();
	setitimer(ITIMER_REAL, &never, NULL);
	rig_leave_gs();
	signal(SIGALRM, SIG_DFL);
	n = (rig.pool.ptr - (uint64_t)many) / 16;
	for (uint64_t i = 0; i < n; i++) {
		uint32_t event = many[i][0] & 0xfffff;

		if (event >= EVENT_HANDLER)
			seen[2 + (event - EVENT_HANDLER) % 2]++;
		else
			seen[(event - EVENT_ENTER) % 2]++;
		assert_true(i == 0 || many[i][0] > many[i - 1][0]);
	}
	assert_true(alarms > 10);
	assert_int_equal(seen[0], ROUNDS);
	assert_int_equal(seen[1], ROUNDS);
	assert_int_equal(seen[2], alarms);
	assert_int_equal(seen[3], alarms);
	assert_int_equal(n, 2 * ROUNDS + 2 * alarms);
}

/* The table is full in the end: the handlers are installed as they are. */
/* ---- a signal in a thunk ---- */

#define THUNK_STEPS 60

static volatile struct {
	int calls[2]; /* of the handlers of SIGUSR1 and 2 */
	int wrong;
	const uint64_t *first; /* registers of the frame of SIGUSR1 */
} nested;

static void check_handler(int sig, const siginfo_t *info, int i)
{
	sigset_t now;

	sigprocmask(SIG_SETMASK, NULL, &now);
	nested.wrong |= info->si_signo != sig || !sigismember(&now, sig) || sigismember(&now, SIGTERM);
	nested.calls[i]++;
}

static void on_first(int sig, siginfo_t *info, void *context)
{
	nested.first = (uint64_t *)context + RT_UC_REGS;
	check_handler(sig, info, 0);
}

/* What SIGUSR1 has interrupted is dealt with, whether its handler has run or not. */
static void on_second(int sig, siginfo_t *info, void *context)
{
	(void)context;
	nested.wrong |= narrived < 1;
	check_handler(sig, info, 1);
}

static _Noreturn void be_interrupted(void)
{
	sigset_t none;

	sonde_rt_config.parked = 1;
	narrived = 0;
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
	sigprocmask(SIG_SETMASK, NULL, &none);
	nested.wrong |= nested.calls[0] != 1 || nested.calls[1] != 1 || narrived < 1 || arrived[0] != nested.first;
	for (int i = 1; i < narrived; i++)
		nested.wrong |= arrived[i] == nested.first;
	_exit(nested.wrong || sigismember(&none, SIGUSR1) || sigismember(&none, SIGUSR2));
}

/* SIGUSR2 when @steps instructions of SIGUSR1's thunk and of what follows are done. */
static int interrupt_thunk(int steps)
{
	pid_t pid = fork();
	int status, sig;

	if (pid == 0)
		be_interrupted();
	waitpid(pid, &status, 0);
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &status, 0);
	assert_int_equal(WSTOPSIG(status), SIGUSR1);
	ptrace(PTRACE_SINGLESTEP, pid, 0, SIGUSR1);
	waitpid(pid, &status, 0);
	for (int i = 0; i < steps; i++) {
		assert_int_equal(WSTOPSIG(status), SIGTRAP);
		ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
		waitpid(pid, &status, 0);
	}
	kill(pid, SIGUSR2);
	for (sig = 0; WIFSTOPPED(status); sig = WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP ? WSTOPSIG(status) : 0) {
		ptrace(PTRACE_CONT, pid, 0, sig);
		waitpid(pid, &status, 0);
	}
	return status;
}

static void test_thunk_interrupted(void **state)
{
	(void)state;
	install(SIGUSR1, (void *)on_first, 0, 0);
	install(SIGUSR2, (void *)on_second, 0, 0);
	for (int steps = 0; steps < THUNK_STEPS; steps++)
		assert_int_equal(interrupt_thunk(steps), 0);
}

void rt_signal_arrived(uint64_t *uc); /* called by thunks */

/* Wherever a signal arrives in what stands for a call, the stack is as it was, or the return address is there. */
static void test_in_call(void **state)
{
	static const uint8_t code[] = RT_CALL "\x68\x05\x10\x40\x00\xe9";
	static const uint64_t at[] = { 0, RT_CALL_TAKEN, RT_CALL_SIZE, RT_CALL_SIZE + 5 };
	const struct rt_piece pieces[] = { { .start = 0, .orig = ORIG, .kind = RT_PIECE_INSN } };

	(void)state;
	set_codemap((uint64_t)code + sizeof(code), pieces, 1);
	codemaps.v[0].arena = (uint64_t)code;
	for (size_t i = 0; i < 4; i++) {
		uint64_t frame[256] = { 0 }, *uc = frame + 8, *regs = uc + RT_UC_REGS, stack[2] = { 0 };
		uint64_t start = (uint64_t)code;

		regs[RT_UC_RIP] = start + at[i];
		regs[RT_UC_RSP] = (uint64_t)stack;
		rt_signal_arrived(uc);
		assert_int_equal(regs[RT_UC_RIP], at[i] == RT_CALL_TAKEN ? start : start + at[i]);
		assert_int_equal(regs[RT_UC_RSP], (uint64_t)(at[i] == RT_CALL_TAKEN ? stack + 1 : stack));
	}
}

static void test_many_handlers(void **state)
{
	struct kernel_action act, old, real;
	int thunks = 0;

	(void)state;
	for (uint64_t i = 0; i < RT_THUNKS + 10; i++) {
		act = action_of((void *)(UINT64_C(0x10000) + i));
		assert_int_equal(shim(SIGUSR1, &act, NULL, 8), 0);
		assert_int_equal(shim(SIGUSR1, NULL, &old, 8), 0);
		assert_memory_equal(&old, &act, sizeof(act));
		assert_int_equal(raw(SIGUSR1, NULL, &real, 8), 0);
		thunks += is_thunk(real.handler);
	}
	assert_in_range(thunks, RT_THUNKS - 10, RT_THUNKS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_translation),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_fault_in_probe),
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_thunk_interrupted),
		cmocka_unit_test(test_in_call),
		cmocka_unit_test(test_many_handlers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
