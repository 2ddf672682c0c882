// SPDX-License-Identifier: GPL-3.0-or-later
/* How many stack arguments of a wrapper are to be handed on: what it reads of them, or at least as many as it has parameters. */
#include "config.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <unistd.h>

#include "injector/guest/guest.h"
#include "injector/image/elffile.h"
#include "runtime/guest/layout.h"
#include "trampolines/wrap/stackargs.h"

#define RBP 6 /* DWARF's numbers */
#define RSP 7

struct table {
	Dwarf_CFI *cfi;
	uint64_t addr;
};

/* The canonical frame address is where stack arguments begin. */
static bool cfa_of(void *arg, size_t off, bool *frame, int64_t *offset)
{
	const struct table *t = arg;
	Dwarf_Frame *row;
	Dwarf_Op *ops = NULL;
	size_t n = 0;
	bool known;

	if (dwarf_cfi_addrframe(t->cfi, t->addr + off, &row) != 0)
		return false;
	known = dwarf_frame_cfa(row, &ops, &n) == 0 && n == 1 && ops[0].atom == DW_OP_bregx &&
		(ops[0].number == RSP || ops[0].number == RBP);
	if (known) {
		*frame = ops[0].number == RBP;
		*offset = (int64_t)ops[0].number2;
	}
	free(row);
	return known;
}

/* The length of the function that the unwind table has at @addr; 0: none. */
static uint64_t length_of(const struct inj_elf *file, uint64_t addr)
{
	struct inj_eh eh;
	struct inj_fde fde;

	if (!inj_elf_frames(file, &eh))
		return 0;
	while (inj_eh_next(&eh, &fde))
		if (fde.addr == addr)
			return fde.size;
	return 0;
}

static bool read_args(const char *path, uint64_t addr, uint64_t *bytes)
{
	struct inj_elf file;
	struct table t = { .addr = addr };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const uint8_t *code;
	bool known = false;
	uint64_t len;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	t.cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
	if (t.cfi && inj_elf_open(path, &file) == INJ_OK) {
		len = length_of(&file, addr);
		code = len ? inj_elf_get(&file, addr, len) : NULL;
		known = code && tramp_stack_args(code, len, cfa_of, &t, bytes);
		inj_elf_close(&file);
	}
	if (t.cfi)
		dwarf_cfi_end(t.cfi);
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return known;
}

uint64_t inj_guest_words(const struct inj_session *s, const struct inj_wrap *w)
{
	const struct inj_module *m = &s->modules[w->module];
	uint64_t params = SONDE_WRAP_PARAMS_OF(w->flags), words = RT_GUEST_WORDS_UNKNOWN, bytes;

	if (params && read_args(m->path, w->wrapper - m->base, &bytes))
		words = (bytes + 7) / 8;
	if (params > SONDE_FEW_PARAMS && words < params)
		words = params;
	return (words + 1) & ~UINT64_C(1);
}
