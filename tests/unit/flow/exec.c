// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The processor's word on control flow and liveness.  A program is single-stepped; before every
 * instruction of its own, all registers and flags that are dead there get values of ours.  It still has to
 * print what it prints otherwise; and it may only come to places where a block or instruction starts, by
 * indirect jumps only where their kind says.
 *
 *	flow_exec [PROGRAM ARGUMENT...]		without: flow_program.c, compiled in several ways by Sonde's own compiler
 */
#include "config.h"

#include <elf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/flow/support.h"

enum { SKIPPED = 77, LISTED_MAX = 20, STEPS_MAX = 40000000 };

struct place {
	uint32_t fn;		/* index + 1; 0: no instruction */
	tramp_regs live;
	uint8_t kind;
	uint8_t ends;		/* of the block, at its last instruction */
	bool start, external;
};

struct run {
	struct file_facts facts;
	struct tramp_code *code;
	struct place *places;	/* for each byte from text on */
	uint64_t text, size, bias;
	pid_t pid;
	size_t steps, own, changed, jumps, wrong;
	uint64_t garbage;
};

static void note_flow(struct run *r, const struct tramp_flow *flow)
{
	for (uint32_t i = 0; i < flow->nblocks; i++) {
		const struct tramp_block *b = &flow->blocks[i];

		for (uint32_t k = b->op; k < b->op + b->nops; k++) {
			uint64_t at = tramp_code_base(r->code) + flow->ops[k].off - r->text;
			struct place *p = &r->places[at];

			if (at >= r->size)
				continue;
			*p = (struct place){
				.fn = flow->fn + 1, .live = tramp_flow_live_at(flow, i, k),
				.kind = flow->ops[k].kind, .start = k == b->op,
				.ends = k + 1 == b->op + b->nops ? b->ends : TRAMP_END_FALL,
				.external = b->flags & (TRAMP_BLOCK_EXTERNAL | TRAMP_BLOCK_ENTRY),
			};
		}
	}
}

static void find_places(struct run *r, const char *path)
{
	struct tramp_flow flow = { 0 };

	file_facts_open(&r->facts, path);
	if (tramp_code_new(&r->facts.facts, &r->code) != TRAMP_CODE_OK)
		errx(99, "%s: no code", path);
	r->text = r->facts.elf.text_addr;
	r->size = r->facts.elf.text_size;
	r->places = calloc(r->size, sizeof(*r->places));
	if (!r->places)
		err(99, "places");
	for (uint32_t i = 0; i < r->facts.facts.nfns; i++) {
		if (tramp_code_function(r->code, r->facts.fns[i].addr) != i)
			continue;
		if (tramp_flow_build(&flow, r->code, i) != TRAMP_CODE_OK)
			errx(99, "no memory");
		tramp_flow_live(&flow);
		note_flow(r, &flow);
	}
	tramp_flow_free(&flow);
}

static uint64_t read_entry(pid_t pid)
{
	Elf64_auxv_t aux[64] = { 0 };
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, aux, sizeof(aux)) <= 0)
		err(99, "%s", path);
	close(fd);
	for (size_t i = 0; i < 64; i++) {
		if (aux[i].a_type == AT_ENTRY)
			return aux[i].a_un.a_val;
	}
	errx(99, "no entry");
}

static pid_t start(char **argv, const char *output, bool traced)
{
	pid_t pid = fork();
	int fd;

	if (pid < 0)
		err(99, "fork");
	if (pid)
		return pid;
	fd = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || dup2(fd, 1) < 0)
		_exit(98);
	personality(ADDR_NO_RANDOMIZE);
	/* so that the dynamic linker does its work before the entry */
	setenv("LD_BIND_NOW", "1", 1);
	if (traced)
		ptrace(PTRACE_TRACEME, 0, 0, 0);
	execv(argv[0], argv);
	_exit(97);
}

static void complain(struct run *r, uint64_t at, uint64_t from, const char *what)
{
	if (r->wrong++ < LISTED_MAX)
		printf("at %#" PRIx64 ", from %#" PRIx64 ": %s\n", r->text + at, r->text + from, what);
}

static unsigned long long *slot_of(struct user_regs_struct *regs, int reg)
{
	unsigned long long *const slots[] = {
		&regs->rax, &regs->rcx, &regs->rdx, &regs->rbx, &regs->rsp, &regs->rbp, &regs->rsi,
		&regs->rdi, &regs->r8, &regs->r9, &regs->r10, &regs->r11, &regs->r12, &regs->r13,
		&regs->r14, &regs->r15,
	};

	return slots[reg];
}

static void change_dead(struct run *r, struct user_regs_struct *regs, tramp_regs live)
{
	static const uint8_t flag_bit[] = { 0, 2, 4, 6, 7, 11 };
	bool changed = false;

	for (int i = 0; i < 16; i++) {
		if (live & TRAMP_REG(i))
			continue;
		r->garbage = r->garbage * 6364136223846793005u + 1442695040888963407u;
		/* some virtual machines have the program fail where the stack pointer is no address, though nothing accesses the stack */
		*slot_of(regs, i) = i == TRAMP_RSP ? r->garbage >> 17 : r->garbage;
		changed = true;
		r->changed++;
	}
	for (int i = 0; i < 6; i++) {
		if (live & TRAMP_REG(TRAMP_CF + i))
			continue;
		regs->eflags ^= (r->garbage >> (40 + i) & 1) << flag_bit[i];
		changed = true;
	}
	if (changed && ptrace(PTRACE_SETREGS, r->pid, 0, regs) != 0)
		err(99, "setregs");
}

/* @from: the instruction before, if it was the program's own. */
static void check_jump(struct run *r, uint64_t at, uint64_t from)
{
	const struct place *p = &r->places[from], *q = at < r->size ? &r->places[at] : NULL;

	if (from == UINT64_MAX || p->kind != TRAMP_OP_JMP_IND)
		return;
	r->jumps++;
	if (p->ends == TRAMP_END_SWITCH && (!q || q->fn != p->fn || !q->start || !q->external))
		complain(r, at, from, "a switch leads to what is none of its targets");
	if (p->ends == TRAMP_END_TAIL_IND && q && q->fn == p->fn &&
	    r->facts.fns[q->fn - 1].addr != r->text + at)
		complain(r, at, from, "a tail call leads into its own function");
}

static void look(struct run *r, uint64_t *from)
{
	struct user_regs_struct regs;
	uint64_t at;

	if (ptrace(PTRACE_GETREGS, r->pid, 0, &regs) != 0)
		err(99, "getregs");
	at = regs.rip - r->bias - r->text;
	check_jump(r, at, *from);
	*from = UINT64_MAX;
	if (at >= r->size)
		return;
	r->own++;
	if (r->places[at].fn == 0) {
		if (tramp_code_function(r->code, r->text + at) != TRAMP_NONE)
			complain(r, at, at, "no instruction of any block");
		return;
	}
	*from = at;
	change_dead(r, &regs, r->places[at].live);
}

/* The dynamic linker's steps are not of interest. */
static void run_to(struct run *r, uint64_t entry)
{
	struct user_regs_struct regs;
	long word;
	int status;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, r->pid, entry, 0);
	if (errno || ptrace(PTRACE_POKETEXT, r->pid, entry, (word & ~0xffl) | 0xcc) != 0 ||
	    ptrace(PTRACE_CONT, r->pid, 0, 0) != 0 || waitpid(r->pid, &status, 0) != r->pid ||
	    !WIFSTOPPED(status) || ptrace(PTRACE_POKETEXT, r->pid, entry, word) != 0 ||
	    ptrace(PTRACE_GETREGS, r->pid, 0, &regs) != 0)
		err(99, "did not come to its entry");
	regs.rip = entry;
	if (ptrace(PTRACE_SETREGS, r->pid, 0, &regs) != 0)
		err(99, "setregs");
}

static int step_through(struct run *r)
{
	uint64_t from = UINT64_MAX;
	int status, sig = 0;

	if (waitpid(r->pid, &status, 0) != r->pid || !WIFSTOPPED(status))
		errx(99, "not started");
	r->bias = read_entry(r->pid) - ((const Elf64_Ehdr *)r->facts.elf.map)->e_entry;
	run_to(r, read_entry(r->pid));
	for (; r->steps < STEPS_MAX; r->steps++) {
		if (ptrace(PTRACE_SINGLESTEP, r->pid, 0, sig) != 0)
			err(99, "step");
		if (waitpid(r->pid, &status, 0) != r->pid)
			err(99, "wait");
		if (!WIFSTOPPED(status))
			return status;
		sig = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		if (sig == 0)
			look(r, &from);
	}
	kill(r->pid, SIGKILL);
	waitpid(r->pid, &status, 0);
	return status;
}

static bool same_files(const char *left, const char *right)
{
	char command[512];

	snprintf(command, sizeof(command), "cmp %s %s", left, right);
	return system(command) == 0;
}

static bool run(char **argv)
{
	struct run r = { .garbage = 1 };
	int plain, stepped;
	bool good;

	find_places(&r, argv[0]);
	r.pid = start(argv, "flow_exec.plain", false);
	if (waitpid(r.pid, &plain, 0) != r.pid)
		err(99, "wait");
	r.pid = start(argv, "flow_exec.stepped", true);
	stepped = step_through(&r);
	good = plain == stepped && same_files("flow_exec.plain", "flow_exec.stepped") && r.wrong == 0 &&
	       WIFEXITED(plain) && r.changed > 0;
	printf("%s: %zu steps, %zu in the program, %zu registers changed, %zu indirect jumps; status %#x "
	       "and %#x%s\n", argv[0], r.steps, r.own, r.changed, r.jumps, plain, stepped,
	       good ? "" : ": FAILED");
	tramp_code_free(r.code);
	free(r.places);
	file_facts_close(&r.facts);
	return good;
}

static bool compile_and_run(const char *source, const char *compiler, const char *options)
{
	char command[1024];
	char *argv[] = { (char *)"./flow_exec.program", NULL };

	snprintf(command, sizeof(command), "%s %s -w -o %s %s", compiler, options, argv[0], source);
	puts(command);
	fflush(stdout);
	if (system(command) != 0)
		errx(99, "cannot compile");
	return run(argv);
}

int main(int argc, char **argv)
{
	static const char *const options[] = {
		"-O0 -no-pie -fno-pie", "-O2", "-Os", "-O3 -fomit-frame-pointer -march=x86-64-v3",
		"-O2 -fcf-protection=full -fno-plt", "-O2 -static",
	};
	const char *compiler = getenv("BUILT_WITH");
	char source[512], command[64];
	bool good = true;

	if (argc > 1)
		return !run(argv + 1);
	compiler = compiler ? compiler : "gcc";
	snprintf(source, sizeof(source), "%s/tests/unit/flow/program.c", SRCDIR);
	snprintf(command, sizeof(command), "command -v %s >/dev/null", compiler);
	if (system(command) != 0)
		return SKIPPED;
	for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++)
		good &= compile_and_run(source, compiler, options[k]);
	return good ? 0 : 1;
}
