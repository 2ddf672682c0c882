// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The end of the process, as in syscall/exec.c: a move of five bytes makes the number of the system call, and a jump takes its place.
 *
 *	    mov $231, %eax	(exit_group, or exit: 60)    ──▶   stub: lea -128(%rsp), %rsp
 *	back: ...; syscall						 call sonde_rt_guest_exit
 *									 lea 128(%rsp), %rsp
 *									 mov $231, %eax; jmp back
 *
 * The GNU C library has it in another register first, mov $231, %esi, from which it gets to eax right before the system call; in
 * klibc a jump to the system call follows.
 */
#include "config.h"

#include <string.h>
#include <sys/syscall.h>

#include "injector/guest/guest.h"
#include "injector/image/elffile.h"

#define MOV_SIZE 5
#define AFTER 4	    /* instructions between the move and the system call */
#define REACH 80    /* bytes in which a move of the register to eax is looked for */
#define SLOT 32
#define STUB_BYTES 48

static const uint8_t syscall_insn[] = { 0x0f, 0x05 };

/* Does code[at] go straight to a system call? */
static bool comes_to_syscall(const uint8_t *code, size_t len, size_t at)
{
	bool jumped = false;

	for (int i = 0; i < AFTER && at + 2 <= len; i++) {
		size_t size = tramp_insn_plain(code + at, len - at);
		int32_t rel;

		if (memcmp(code + at, syscall_insn, sizeof(syscall_insn)) == 0)
			return true;
		if (!jumped && code[at] == 0xe9 && len - at >= 5) {
			memcpy(&rel, code + at + 1, sizeof(rel));
			at += 5 + (size_t)(int64_t)rel;
		} else if (!jumped && code[at] == 0xeb) {
			at += 2 + (size_t)(int64_t)(int8_t)code[at + 1];
		} else if (size) {
			at += size;
			continue;
		} else {
			return false;
		}
		jumped = true;
		if (at > len)
			return false;
	}
	return false;
}

/* mov %reg, %eax; syscall */
static bool gets_to_eax(const uint8_t *code, size_t len, size_t at, unsigned int reg)
{
	const uint8_t wanted[] = { 0x89, (uint8_t)(0xc0 | reg << 3), 0x0f, 0x05 };

	return memmem(code + at, len - at < REACH ? len - at : REACH, wanted, sizeof(wanted)) != NULL;
}

/* At code[at] is a word that is the number of such a call: is it the operand of the move? */
static bool ends_process(const uint8_t *code, size_t len, size_t at, uint32_t number)
{
	unsigned int reg;

	if (at < 2 || (code[at - 1] & 0xf8) != 0xb8)
		return false;
	/* a prefix makes that another register, or the end of a longer instruction */
	if ((code[at - 2] & 0xf0) == 0x40 || code[at - 2] == 0x66)
		return false;
	reg = code[at - 1] & 7;
	if (reg == 0)
		return comes_to_syscall(code, len, at + 4);
	return number == SYS_exit_group && gets_to_eax(code, len, at + 4, reg);
}

static enum inj_status emit_stub(struct inj_session *s, const uint8_t *mov, uint64_t addr, uint64_t to, uint64_t *stub)
{
	static const uint8_t head[] = { 0x48, 0x8d, 0x64, 0x24, 0x80, 0xff, 0x15, SLOT - 11, 0, 0, 0,
					0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0 };
	size_t n = sizeof(head), len;
	enum inj_status status;
	uint8_t *mem;

	status = inj_code_alloc(&s->code, s->target, addr, addr + MOV_SIZE, STUB_BYTES, stub, &mem);
	if (status != INJ_OK)
		return status;
	memcpy(mem, head, sizeof(head));
	memcpy(mem + n, mov, MOV_SIZE);
	n += MOV_SIZE;
	memcpy(mem + SLOT, &to, sizeof(to));
	return tramp_emit_jump(*stub + n, addr + MOV_SIZE, mem + n, SLOT - n, &len) == TRAMP_OK ? INJ_OK : INJ_NO_ROOM;
}

static enum inj_status lead(struct inj_session *s, size_t object, const uint8_t *mov, uint64_t addr, uint64_t to,
			    struct inj_edits *edits)
{
	struct inj_edit e = { .addr = addr, .object = (uint32_t)object };
	uint8_t now[MOV_SIZE];
	enum inj_status status;
	uint64_t stub;

	/* patched for something else */
	if (inj_read(s->target, addr, now, sizeof(now)) != INJ_OK || memcmp(now, mov, sizeof(now)) != 0)
		return INJ_OK;
	status = emit_stub(s, mov, addr, to, &stub);
	if (status != INJ_OK)
		return status == INJ_NO_ROOM ? INJ_OK : status;
	inj_edit_jump(&e, mov, stub);
	return inj_edits_add(edits, &e);
}

static enum inj_status lead_all(struct inj_session *s, size_t object, const struct inj_elf_segment *seg, uint32_t number, uint64_t to,
				struct inj_edits *edits)
{
	const uint8_t *p = seg->bytes, *end = p + seg->len;
	enum inj_status status = INJ_OK;

	while (status == INJ_OK && (p = memmem(p, (size_t)(end - p), &number, sizeof(number)))) {
		size_t at = (size_t)(p++ - seg->bytes);

		if (ends_process(seg->bytes, seg->len, at, number))
			status = lead(s, object, seg->bytes + at - 1, s->objects[object].base + seg->addr + at - 1, to, edits);
	}
	return status;
}

enum inj_status inj_guest_exits(struct inj_session *s)
{
	struct inj_edits edits = { 0 };
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < s->nobjects && status == INJ_OK && s->config.guest_tcb; i++) {
		struct inj_elf file;

		if (!inj_object_is_libc(&s->objects[i]) || inj_elf_open(s->objects[i].path, &file) != INJ_OK)
			continue;
		for (size_t k = 0; k < file.nsegs && status == INJ_OK; k++) {
			if (!(file.segs[k].flags & PF_X))
				continue;
			status = lead_all(s, i, &file.segs[k], SYS_exit_group, s->rt_guest_exit, &edits);
			if (status == INJ_OK)
				status = lead_all(s, i, &file.segs[k], SYS_exit, s->rt_guest_exit_thread, &edits);
		}
		inj_elf_close(&file);
	}
	if (status == INJ_OK)
		status = inj_edits_apply(s->target, &s->edits, &edits);
	inj_edits_free(&edits);
	return status;
}
