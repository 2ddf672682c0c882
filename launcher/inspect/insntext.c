/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "launcher/inspect/insntext.h"

#include <stdlib.h>

#ifdef HAVE_OPCODES

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <dis-asm.h> /* wants PACKAGE of config.h */

struct insntext {
	disassembler_ftype print;
	struct disassemble_info info;
	void (*name)(void *arg, uint64_t addr, char *buf, size_t size);
	void *arg;
	char *text;
	size_t len;
};

static int append(struct insntext *t, const char *format, va_list args)
{
	int n = vsnprintf(t->text + t->len, INSNTEXT_MAX - t->len, format, args);

	if (n > 0)
		t->len += (size_t)n;
	if (t->len >= INSNTEXT_MAX)
		t->len = INSNTEXT_MAX - 1;
	return n;
}

static int __attribute__((format(printf, 2, 3)))
on_text(void *stream, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = append(stream, format, args);
	va_end(args);
	return n;
}

static int __attribute__((format(printf, 3, 4)))
on_styled_text(void *stream, enum disassembler_style style, const char *format, ...)
{
	va_list args;

	(void)style;
	va_start(args, format);
	int n = append(stream, format, args);
	va_end(args);
	return n;
}

static void on_address(bfd_vma addr, struct disassemble_info *info)
{
	struct insntext *t = info->application_data;
	char name[INSNTEXT_MAX];

	t->name(t->arg, addr, name, sizeof(name));
	on_text(t, "%s", name);
}

/* Bytes that end in the middle of an instruction are no news to the user. */
static void on_memory_error(int status, bfd_vma addr, struct disassemble_info *info)
{
	(void)status;
	(void)addr;
	(void)info;
}

struct insntext *insntext_new(void (*name)(void *arg, uint64_t addr, char *buf, size_t size), void *arg)
{
	struct insntext *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->name = name;
	t->arg = arg;
	init_disassemble_info(&t->info, t, on_text, on_styled_text);
	t->info.arch = bfd_arch_i386;
	t->info.mach = bfd_mach_x86_64;
	t->info.application_data = t;
	t->info.print_address_func = on_address;
	t->info.memory_error_func = on_memory_error;
	disassemble_init_for_target(&t->info);
	t->print = disassembler(bfd_arch_i386, false, bfd_mach_x86_64, NULL);
	if (t->print)
		return t;
	insntext_free(t);
	return NULL;
}

void insntext_free(struct insntext *t)
{
	if (!t)
		return;
	disassemble_free_target(&t->info);
	free(t);
}

size_t insntext_decode(struct insntext *t, const uint8_t *code, size_t avail, uint64_t addr,
		       char text[INSNTEXT_MAX])
{
	t->text = text;
	t->len = 0;
	text[0] = '\0';
	t->info.buffer = (bfd_byte *)code;
	t->info.buffer_vma = addr;
	t->info.buffer_length = avail;
	int length = t->print(addr, &t->info);
	while (t->len && text[t->len - 1] == ' ')
		text[--t->len] = '\0';
	if (length <= 0) {
		strcpy(text, "(bad)");
		return 1;
	}
	return (size_t)length < avail ? (size_t)length : avail;
}

#else

struct insntext *insntext_new(void (*name)(void *arg, uint64_t addr, char *buf, size_t size), void *arg)
{
	(void)name;
	(void)arg;
	return NULL;
}

void insntext_free(struct insntext *t)
{
	(void)t;
}

size_t insntext_decode(struct insntext *t, const uint8_t *code, size_t avail, uint64_t addr,
		       char text[INSNTEXT_MAX])
{
	(void)t;
	(void)code;
	(void)avail;
	(void)addr;
	text[0] = '\0';
	return 1;
}

#endif
