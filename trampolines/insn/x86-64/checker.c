// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The second decoder: libopcodes. It always formats what it decodes and takes some microseconds
 * for it, but functions begin alike: what it said of an instruction is remembered by its bytes.
 */
#include "config.h"

#include <stdlib.h>

#include "trampolines/trampoline.h"

#ifdef HAVE_OPCODES

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <dis-asm.h>	/* wants PACKAGE of config.h */

enum {
	MEMORY = 1024,		/* instructions remembered; a power of two */
	INSN_MAX = 15,
	PRINTED_MAX = 64,
};

struct memory {
	uint8_t bytes[INSN_MAX];
	uint8_t length;		/* 0 = empty */
};

struct tramp_checker {
	disassembler_ftype print;
	struct disassemble_info info;
	bool bad;
	struct memory confirmed[MEMORY];
};

/* Up to binutils 2.38, libopcodes keeps what it is at in static variables. */
static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

/* libopcodes says "(bad)" and a length of one byte or more for what it does not know. */
static void look_for_bad(struct tramp_checker *checker, const char *format, va_list args)
{
	char text[PRINTED_MAX];

	vsnprintf(text, sizeof(text), format, args);
	if (strstr(text, "(bad)"))
		checker->bad = true;
}

static int __attribute__((format(printf, 2, 3)))
on_text(void *stream, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	look_for_bad(stream, format, args);
	va_end(args);
	return 0;
}

static int __attribute__((format(printf, 3, 4)))
on_styled_text(void *stream, enum disassembler_style style, const char *format, ...)
{
	va_list args;

	(void)style;
	va_start(args, format);
	look_for_bad(stream, format, args);
	va_end(args);
	return 0;
}

struct tramp_checker *tramp_checker_new(void)
{
	struct tramp_checker *checker = calloc(1, sizeof(*checker));

	if (!checker)
		return NULL;
	init_disassemble_info(&checker->info, checker, on_text, on_styled_text);
	checker->info.arch = bfd_arch_i386;
	checker->info.mach = bfd_mach_x86_64;
	disassemble_init_for_target(&checker->info);
	checker->print = disassembler(bfd_arch_i386, false, bfd_mach_x86_64, NULL);
	if (!checker->print) {
		tramp_checker_free(checker);
		return NULL;
	}
	return checker;
}

void tramp_checker_free(struct tramp_checker *checker)
{
	if (!checker)
		return;
	disassemble_free_target(&checker->info);
	free(checker);
}

static struct memory *recall(struct tramp_checker *checker, const uint8_t *bytes, size_t length)
{
	uint32_t hash = 2166136261u;	/* FNV-1a */

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	return &checker->confirmed[(hash ^ hash >> 16) % MEMORY];
}

size_t tramp_checker_length(struct tramp_checker *checker, const uint8_t *code, size_t avail)
{
	int length;

	checker->bad = false;
	checker->info.buffer = (bfd_byte *)code;
	checker->info.buffer_length = avail;
	pthread_mutex_lock(&printing);
	length = checker->print(0, &checker->info);
	pthread_mutex_unlock(&printing);
	return length > 0 && !checker->bad ? (size_t)length : 0;
}

static bool confirms(struct tramp_checker *checker, const uint8_t *bytes, size_t length)
{
	struct memory *m = recall(checker, bytes, length);

	if (m->length == length && memcmp(m->bytes, bytes, length) == 0)
		return true;
	if (tramp_checker_length(checker, bytes, length) != length)
		return false;
	memcpy(m->bytes, bytes, length);
	m->length = (uint8_t)length;
	return true;
}

enum tramp_agreement tramp_check_boundaries(struct tramp_checker *checker,
					    const struct tramp_plan *plan, size_t *offset)
{
	for (size_t i = 0; i < plan->ninsns; i++) {
		const struct tramp_insn *ti = &plan->insns[i];

		if (confirms(checker, plan->original + ti->offset, ti->length))
			continue;
		*offset = ti->offset;
		return TRAMP_DISAGREE;
	}
	return TRAMP_AGREE;
}

#else

struct tramp_checker {
	char unused;
};

struct tramp_checker *tramp_checker_new(void)
{
	return calloc(1, sizeof(struct tramp_checker));
}

void tramp_checker_free(struct tramp_checker *checker)
{
	free(checker);
}

size_t tramp_checker_length(struct tramp_checker *checker, const uint8_t *code, size_t avail)
{
	(void)checker;
	(void)code;
	(void)avail;
	return 0;
}

enum tramp_agreement tramp_check_boundaries(struct tramp_checker *checker,
					    const struct tramp_plan *plan, size_t *offset)
{
	(void)checker;
	(void)plan;
	(void)offset;
	return TRAMP_NO_SECOND;
}

#endif
