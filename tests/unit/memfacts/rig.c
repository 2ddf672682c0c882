// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/memfacts/rig.h"

#include <asm/prctl.h>
#include <err.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/wrap/machine.h"

enum {
	PAGE = 4096, AT_INSN = PAGE / 2, AT_VECTORS = PAGE, AT_MASKS = AT_VECTORS + 32 * 64,
	AT_MMX = AT_MASKS + 64, ALT_STACK = 1 << 16, JMP_BYTES = 14,
};

static sigjmp_buf back;
static volatile sig_atomic_t code_of_signal;
static bool has_avx512, has_avx;

static void *map(size_t bytes, int prot)
{
	void *p = mmap(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	return p;
}

static struct rig_arena map_arena(int prot)
{
	uint8_t *p = map(2 * RIG_GUARD + RIG_ARENA, PROT_NONE);

	if (mprotect(p + RIG_GUARD, RIG_ARENA, PROT_READ | PROT_WRITE))
		err(1, "mprotect");
	for (size_t i = 0; i < RIG_ARENA; i++)
		p[RIG_GUARD + i] = (uint8_t)random();
	if (mprotect(p + RIG_GUARD, RIG_ARENA, prot))
		err(1, "mprotect");
	return (struct rig_arena){ (uintptr_t)p + RIG_GUARD, (uintptr_t)p + RIG_GUARD + RIG_ARENA };
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)context;
	code_of_signal = sig == SIGSEGV && info->si_code != SI_KERNEL ? RIG_FAULT : RIG_OTHER;
	siglongjmp(back, 1);
}

static void catch_signals(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	stack_t stack = { .ss_sp = malloc(ALT_STACK), .ss_size = ALT_STACK };

	action.sa_sigaction = on_signal;
	if (!stack.ss_sp || sigaltstack(&stack, NULL))
		err(1, "sigaltstack");
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (sigaction(signals[i], &action, NULL))
			err(1, "sigaction");
	}
}

/* `op`, its ModRM byte for register n, and the displacement from after it to base + at. */
static uint8_t *put_load(uint8_t *p, const uint8_t *op, size_t len, unsigned int n, uint8_t *data)
{
	int32_t disp;

	memcpy(p, op, len);
	p += len;
	*p++ = (uint8_t)((n & 7) << 3 | 5);
	disp = (int32_t)(data - (p + 4));
	memcpy(p, &disp, 4);
	return p + 4;
}

static uint8_t *put_vector(uint8_t *p, unsigned int n, uint8_t *data)
{
	/* vmovdqu64 data(%rip), %zmm; vmovdqu data(%rip), %ymm; movdqu data(%rip), %xmm */
	uint8_t evex[] = { 0x62, (uint8_t)((~n >> 3 & 1) << 7 | 0x61 | (~n >> 4 & 1) << 4), 0xfe,
			   0x48, 0x6f };
	uint8_t vex[] = { 0xc5, (uint8_t)((~n >> 3 & 1) << 7 | 0x7e), 0x6f };
	uint8_t sse[] = { 0xf3, (uint8_t)(0x40 | (n >> 3) << 2), 0x0f, 0x6f };

	if (has_avx512)
		return put_load(p, evex, sizeof(evex), n, data);
	if (n >= 16)
		return p;
	return has_avx ? put_load(p, vex, sizeof(vex), n, data) :
			 put_load(p, sse, sizeof(sse), n, data);
}

/*
 * The code that loads the vector registers stands before the instruction, and ends in a jump
 * to it.
 */
static size_t put_loads(uint8_t *code, int mmx)
{
	static const uint8_t kmovq[] = { 0xc4, 0xe1, 0xf8, 0x90 }, movq[] = { 0x0f, 0x6f };
	uint8_t *p = code;
	int32_t rel;

	for (unsigned int n = 0; n < 32; n++)
		p = put_vector(p, n, code + AT_VECTORS + 64 * n);
	for (unsigned int n = 0; has_avx512 && n < 8; n++)
		p = put_load(p, kmovq, sizeof(kmovq), n, code + AT_MASKS + 8 * n);
	for (unsigned int n = 0; mmx && n < 8; n++)
		p = put_load(p, movq, sizeof(movq), n, code + AT_MMX + 8 * n);
	*p++ = 0xe9;
	rel = (int32_t)(code + AT_INSN - (p + 4));
	memcpy(p, &rel, 4);
	return (size_t)(p + 4 - code);
}

void rig_open(struct rig *rig)
{
	has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
	has_avx = __builtin_cpu_supports("avx");
	catch_signals();
	rig->rw = map_arena(PROT_READ | PROT_WRITE);
	rig->ro = map_arena(PROT_READ);
	rig->code = (uintptr_t)map(2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) + AT_INSN;
	if (syscall(SYS_arch_prctl, ARCH_GET_FS, &rig->fs))
		err(1, "arch_prctl");
}

static void put_insn(uint8_t *code, const struct rig_state *s, const uint8_t *insn, size_t len,
		     int mmx)
{
	/* jmp *0(%rip); machine_landing */
	static const uint8_t jmp[] = { 0xff, 0x25, 0, 0, 0, 0 };
	void (*landing)(void) = machine_landing;

	put_loads(code, mmx);
	memcpy(code + AT_VECTORS, s->zmm, sizeof(s->zmm));
	memcpy(code + AT_MASKS, s->k, sizeof(s->k));
	memcpy(code + AT_MMX, s->mm, sizeof(s->mm));
	memcpy(code + AT_INSN, insn, len);
	memcpy(code + AT_INSN + len, jmp, sizeof(jmp));
	memcpy(code + AT_INSN + len + sizeof(jmp), &landing, sizeof(landing));
}

static void clean_up(void)
{
	asm volatile("fninit");
	if (has_avx)
		asm volatile("vzeroupper");
}

enum rig_outcome rig_run(const struct rig *rig, struct rig_state *s, const uint8_t *insn,
			 size_t len, int mmx)
{
	uint8_t *code = (uint8_t *)(uintptr_t)(rig->code - AT_INSN);
	struct machine m = { .flags = s->flags };

	memcpy(m.registers, s->r, sizeof(s->r));
	put_insn(code, s, insn, len, mmx);
	if (sigsetjmp(back, 0)) {
		clean_up();
		return (enum rig_outcome)code_of_signal;
	}
	machine_run(&m, code);
	clean_up();
	memcpy(s->r, m.registers, sizeof(s->r));
	s->flags = m.flags;
	return RIG_OK;
}
