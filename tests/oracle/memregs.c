// SPDX-License-Identifier: GPL-3.0-or-later
/* The XSAVE area: Intel manual, volume 1, chapter 13; the kernel gives it in the standard format. */
#include "tests/oracle/memregs.h"

#include <cpuid.h>
#include <elf.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "tests/oracle/oracle.h"

enum { X87 = 32, XMM = 160, LEGACY = 576, COMPONENT_YMM = 2, COMPONENT_K = 5, COMPONENT_ZMM = 6, COMPONENT_HIGH = 7 };

uint64_t reg_gpr(const struct user_regs_struct *r, unsigned int n)
{
	const uint64_t v[16] = { r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
				 r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 };

	if (n >= 16)
		die("register %u", n);
	return v[n];
}

struct component {
	unsigned int bytes, offset;
	bool aligned;
};

static struct component component(unsigned int i)
{
	static struct component known[64];
	unsigned int c, d;

	if (!known[i].bytes) {
		__cpuid_count(0xd, i, known[i].bytes, known[i].offset, c, d);
		known[i].aligned = c & 2;
	}
	return known[i];
}

/* [base + i * stride]: the component's parts of @bytes each. */
static void spread(const uint8_t *area, size_t len, unsigned int number, uint8_t *to, size_t stride, size_t bytes)
{
	struct component c = component(number);

	if (!c.bytes || c.offset + c.bytes > len)
		return;
	for (size_t i = 0; i < c.bytes / bytes; i++)
		memcpy(to + i * stride, area + c.offset + i * bytes, bytes);
}

void reg_vectors(pid_t tid, struct vectors *x)
{
	static uint8_t area[16384];
	struct iovec io = { area, sizeof(area) };

	memset(area, 0, sizeof(area));
	memset(x, 0, sizeof(*x));
	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &io) < 0)
		return; /* killed meanwhile */
	for (int i = 0; i < 16; i++)
		memcpy(x->v[i], area + XMM + 16 * i, 16);
	for (int i = 0; i < 8; i++)
		memcpy(x->mmx[i], area + X87 + 16 * i, 8);
	spread(area, io.iov_len, COMPONENT_YMM, x->v[0] + 16, 64, 16);
	spread(area, io.iov_len, COMPONENT_ZMM, x->v[0] + 32, 64, 32);
	spread(area, io.iov_len, COMPONENT_HIGH, x->v[16], 64, 64);
	spread(area, io.iov_len, COMPONENT_K, (uint8_t *)x->k, 8, 8);
}

size_t reg_area(bool compacted)
{
	unsigned int a, b, c, d, low, high;
	size_t bytes = LEGACY;

	__cpuid_count(0xd, 0, low, b, c, high);
	if (!compacted)
		return b;
	for (unsigned int i = 2; i < 63; i++) {
		if (!(((uint64_t)high << 32 | low) >> i & 1))
			continue;
		__cpuid_count(0xd, i, a, b, c, d);
		if (c & 2)
			bytes = (bytes + 63) & ~UINT64_C(63);
		bytes += a;
	}
	return bytes;
}
