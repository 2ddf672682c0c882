// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * execve() and execveat(): C libraries put the number into eax right before the system call, and a move of five bytes is
 * exactly what a jump needs.  So no function has to be known; nobody can jump into the middle of an instruction; and whoever
 * jumps to the system call itself, with another number, gets there.
 *
 *	    mov $59, %eax     ──▶   stub: mov $59, %eax
 *	back: syscall			  lea back(%rip), %r11
 *					  jmp sonde_rt_exec ──▶ back
 *
 * So it is with the last argument of the C library's syscall(), but the number is known only when it runs.  rcx and r11 are
 * free in either case, the kernel destroys them.
 *
 *	    mov 8(%rsp), %r9  ──▶   stub: mov 8(%rsp), %r9
 *	back: syscall			  is eax 59 or 322?  else jmp back
 *					  lea back(%rip), %r11
 *					  jmp sonde_rt_exec ──▶ back
 *
 * And with the common end of all system calls that klibc and dietlibc have, which is as long as a jump:
 *
 *	    mov %rcx, %r10    ──▶   stub: mov %rcx, %r10
 *	    syscall			  is eax 59 or 322?  else
 *	back:			     1:   syscall; jmp back
 *					  lea 1b(%rip), %r11
 *					  jmp sonde_rt_exec ──▶ 1b
 *
 * Where signal handlers are led to the runtime such a place is taken already, and its stub does both: see sigsites.c.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "injector/facts/facts.h"
#include "injector/facts/known.h"
#include "injector/patch/session.h"
#include "injector/syscall/sigsites.h"

#define STUB_BYTES 48
#define MOV_SIZE 5

static const uint8_t last_argument[MOV_SIZE] = { 0x4c, 0x8b, 0x4c, 0x24, 0x08 };

/* The bytes for a jump, at or before a system call at @at in code[], that make it one of those, or may; NULL: something else. */
static const uint8_t *exec_before(const uint8_t *code, size_t at)
{
	const uint8_t *mov = code + at - MOV_SIZE;
	uint32_t number;

	if (at < MOV_SIZE + 1)
		return NULL;
	if (inj_codefacts_common_end(code, 0, at))
		return code + at - INJ_COMMON_END_MOV;
	if (memcmp(mov, last_argument, MOV_SIZE) == 0)
		return mov;
	memcpy(&number, mov + 1, sizeof(number));
	if (mov[0] != 0xb8 || (number != SYS_execve && number != SYS_execveat))
		return NULL;
	/* a prefix makes that the end, or the beginning, of a longer instruction */
	return (mov[-1] & 0xf0) == 0x40 || mov[-1] == 0x66 ? NULL : mov;
}

/* jmp back */
static const uint8_t jmp[] = { 0xe9, 0, 0, 0, 0 };
static const uint8_t lea_r11[] = { 0x4c, 0x8d, 0x1d, 0, 0, 0, 0 };

size_t inj_is_exec(uint8_t *mem, uint8_t over)
{
	/* lea -59(%rax), %ecx; jrcxz; lea -322(%rax), %ecx; jrcxz */
	const uint8_t code[INJ_IS_EXEC] = { 0x8d, 0x48, 0xc5, 0xe3, (uint8_t)(over + 8), 0x8d, 0x88, 0xbe, 0xfe, 0xff, 0xff,
					    0xe3, over };

	memcpy(mem, code, sizeof(code));
	return sizeof(code);
}

/* Instructions that end with the distance to @to. */
static size_t put(uint8_t *mem, size_t n, const uint8_t *bytes, size_t len, uint64_t stub, uint64_t to)
{
	int32_t rel = (int32_t)(to - (stub + n + len));

	memcpy(mem + n, bytes, len);
	memcpy(mem + n + len - sizeof(rel), &rel, sizeof(rel));
	return n + len;
}

static enum inj_status emit_stub(struct inj_session *s, const uint8_t *mov, uint64_t addr, uint64_t *stub)
{
	uint64_t back = addr + MOV_SIZE, at = back;
	bool common = inj_codefacts_common_end(mov, 0, INJ_COMMON_END_MOV);
	enum inj_status status;
	size_t n = common ? INJ_COMMON_END_MOV : MOV_SIZE, len;
	uint8_t *mem;

	status = inj_code_alloc(&s->code, s->target, addr, back, STUB_BYTES, stub, &mem);
	if (status != INJ_OK)
		return status;
	memcpy(mem, mov, MOV_SIZE);
	if (mov[0] != 0xb8)
		n += inj_is_exec(mem + n, sizeof(jmp) + (common ? INJ_SYSCALL_LEN : 0));
	if (common) {
		at = *stub + n;
		memcpy(mem + n, mov + INJ_COMMON_END_MOV, INJ_SYSCALL_LEN);
		n += INJ_SYSCALL_LEN;
	}
	if (mov[0] != 0xb8)
		n = put(mem, n, jmp, sizeof(jmp), *stub, back);
	n = put(mem, n, lea_r11, sizeof(lea_r11), *stub, at);
	return tramp_emit_jump(*stub + n, s->rt_exec, mem + n, STUB_BYTES - n, &len) == TRAMP_OK ? INJ_OK : INJ_NO_ROOM;
}

static enum inj_status lead(struct inj_session *s, size_t object, const uint8_t *mov, uint64_t addr, struct inj_edits *edits)
{
	struct inj_edit e = { .addr = addr, .object = (uint32_t)object };
	uint8_t now[MOV_SIZE];
	enum inj_status status;
	uint64_t stub;

	/* patched for something else, or about to be */
	if (inj_edits_touch(&s->attach.held, addr, MOV_SIZE))
		return INJ_OK;
	if (inj_read(s->target, addr, now, sizeof(now)) != INJ_OK || memcmp(now, mov, sizeof(now)) != 0)
		return INJ_OK;
	status = emit_stub(s, mov, addr, &stub);
	if (status != INJ_OK)
		return status == INJ_NO_ROOM ? INJ_OK : status;
	inj_edit_jump(&e, mov, stub);
	s->nexecs++;
	return inj_edits_add(edits, &e);
}

/* 0f begins many instructions, 05 is seldom. */
static bool scan_segment(const struct inj_elf_segment *seg, struct inj_known_exec **v, size_t *n, size_t *room)
{
	const uint8_t *p = seg->bytes, *end = p + seg->len, *mov;

	while (p < end && (p = memchr(p, 0x05, (size_t)(end - p)))) {
		size_t at = (size_t)(p++ - seg->bytes);

		if (at == 0 || seg->bytes[at - 1] != 0x0f || !(mov = exec_before(seg->bytes, at - 1)))
			continue;
		if (!array_room(*v, *room, *n + 1))
			return false;
		(*v)[*n].addr = seg->addr + (uint64_t)(mov - seg->bytes);
		memcpy((*v)[(*n)++].mov, mov, MOV_SIZE);
	}
	return true;
}

static struct inj_known_exec *scan(const struct inj_elf *file, size_t *n)
{
	struct inj_known_exec *v = NULL;
	size_t room = 0;

	*n = 0;
	for (size_t i = 0; i < file->nsegs; i++)
		if ((file->segs[i].flags & PF_X) && !scan_segment(&file->segs[i], &v, n, &room))
			break;
	return v;
}

enum inj_status inj_exec_sites(struct inj_session *s, bool numbers)
{
	enum inj_status status = INJ_OK;
	struct inj_edits edits = { 0 };

	for (size_t i = 0; i < s->nobjects && status == INJ_OK; i++) {
		struct inj_object *o = &s->objects[i];
		struct inj_known *known = inj_object_is_libc(o) ? inj_object_known(o) : NULL;
		const struct inj_known_exec *v = NULL;
		size_t n = 0;

		if (known)
			v = inj_known_execs(known, o->path, scan, &n);
		for (size_t k = 0; k < n && status == INJ_OK; k++)
			if ((v[k].mov[0] == 0xb8) == numbers)
				status = lead(s, i, v[k].mov, o->base + v[k].addr, &edits);
	}
	if (status == INJ_OK)
		status = s->attach.hold ? inj_edits_append(&s->attach.held, &edits) :
					  inj_edits_apply(s->target, &s->edits, &edits);
	inj_edits_free(&edits);
	return status;
}
