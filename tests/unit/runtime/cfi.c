// SPDX-License-Identifier: GPL-3.0-or-later
/* What the runtime reads in unwind tables is what libdw reads there, for all code that is in this process. */
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "runtime/stacks/stacks.h"

#define STEP 3
#define REG_BP 6
#define REG_SP 7
#define REG_RA 16

struct tally {
	size_t files, places, known, outermost, realigned;
};

/* ---- libdw's ---- */

/* "CFA + offset", as libdw has it. */
static bool is_by_cfa(const Dwarf_Op *op, size_t n, int64_t *offset)
{
	*offset = 0;
	if (!n || op[0].atom != DW_OP_call_frame_cfa)
		return false;
	for (size_t i = 1; i < n; i++) {
		if (op[i].atom != DW_OP_plus_uconst)
			return false;
		*offset += (int64_t)op[i].number;
	}
	return true;
}

static struct rt_rule rule_of_cfa(Dwarf_Frame *frame)
{
	struct rt_rule rule = { .kind = RT_RULE_UNKNOWN };
	Dwarf_Op *op;
	size_t n;

	if (dwarf_frame_cfa(frame, &op, &n) != 0)
		return rule;
	if (n == 1 && (op[0].atom == DW_OP_bregx ? op[0].number == REG_SP || op[0].number == REG_BP :
						   op[0].atom == DW_OP_breg6 || op[0].atom == DW_OP_breg7)) {
		bool sp = op[0].atom == DW_OP_bregx ? op[0].number == REG_SP : op[0].atom == DW_OP_breg7;

		rule.kind = sp ? RT_RULE_SP : RT_RULE_BP;
		rule.cfa = (int32_t)(op[0].atom == DW_OP_bregx ? op[0].number2 : op[0].number);
	} else if (n == 2 && op[0].atom == DW_OP_breg6 && op[1].atom == DW_OP_deref) {
		rule.kind = RT_RULE_AT_BP;
		rule.cfa = (int32_t)op[0].number;
	}
	return rule;
}

static void add_bp(Dwarf_Frame *frame, struct rt_rule *rule)
{
	Dwarf_Op mem[3], *op;
	int64_t offset;
	size_t n;

	rule->from = RT_BP_LOST;
	if (dwarf_frame_register(frame, REG_BP, mem, &op, &n) != 0)
		return;
	if (!n && !op) {
		rule->from = RT_BP_SAME;
	} else if (is_by_cfa(op, n, &offset) && offset % 8 == 0) {
		rule->from = RT_BP_CFA;
		rule->bp = (int16_t)(offset / 8);
	} else if (n == 2 && op[0].atom == DW_OP_call_frame_cfa && op[1].atom == DW_OP_breg6 && (int64_t)op[1].number % 8 == 0) {
		/* an expression begins with the CFA on the stack */
		rule->from = RT_BP_BP;
		rule->bp = (int16_t)((int64_t)op[1].number / 8);
	}
}

static struct rt_rule rule_of_libdw(Dwarf_CFI *cfi, uint64_t at)
{
	struct rt_rule rule = { .kind = RT_RULE_UNKNOWN };
	Dwarf_Frame *frame = NULL;
	Dwarf_Op mem[3], *op;
	int64_t offset;
	bool is_signal;
	size_t n;

	if (dwarf_cfi_addrframe(cfi, at, &frame) != 0)
		return rule;
	if (dwarf_frame_register(frame, REG_RA, mem, &op, &n) == 0 && dwarf_frame_info(frame, NULL, NULL, &is_signal) >= 0 && !is_signal) {
		if (!n && op == mem)
			rule.kind = RT_RULE_OUTERMOST;
		else if (is_by_cfa(op, n, &offset) && offset == -8)
			rule = rule_of_cfa(frame);
	}
	if (rule.kind > RT_RULE_OUTERMOST)
		add_bp(frame, &rule);
	free(frame);
	return rule;
}

/* ---- both ---- */

static void compare(const struct rt_unwind_file *f, Dwarf_CFI *cfi, uint64_t base, struct tally *t)
{
	for (uint64_t at = f->begin; at < f->end; at += STEP) {
		struct rt_rule got = rt_cfi_rule(f, at + 1), wanted = rule_of_libdw(cfi, at - base);

		t->places++;
		t->known += wanted.kind > RT_RULE_OUTERMOST;
		t->outermost += wanted.kind == RT_RULE_OUTERMOST;
		t->realigned += wanted.kind == RT_RULE_AT_BP;
		if (memcmp(&got, &wanted, sizeof(got)) != 0)
			fail_msg("0x%lx: kind %d, cfa %d, rbp %d %d; libdw: %d, %d, %d %d", (unsigned long)(at - base), got.kind, got.cfa, got.from,
				 got.bp, wanted.kind, wanted.cfa, wanted.from, wanted.bp);
	}
}

static bool find(const struct dl_phdr_info *info, struct rt_unwind_file *f)
{
	*f = (struct rt_unwind_file){ 0 };
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_GNU_EH_FRAME) {
			f->header = info->dlpi_addr + p->p_vaddr;
			f->header_end = f->header + p->p_memsz;
		} else if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			f->begin = info->dlpi_addr + p->p_vaddr;
			f->end = f->begin + p->p_filesz;
		}
	}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && f->header - info->dlpi_addr - p->p_vaddr < p->p_filesz) {
			f->tables = info->dlpi_addr + p->p_vaddr;
			f->tables_end = f->tables + p->p_filesz;
		}
	}
	return f->header && f->tables && f->begin;
}

static int each(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
	struct rt_unwind_file f;
	struct tally *t = arg;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : NULL;

	(void)size;
	if (cfi && find(info, &f)) {
		t->files++;
		compare(&f, cfi, info->dlpi_addr, t);
	}
	if (cfi)
		dwarf_cfi_end(cfi);
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return 0;
}

static void as_libdw(void **state)
{
	struct tally t = { 0 };

	(void)state;
	elf_version(EV_CURRENT);
	dl_iterate_phdr(each, &t);
	/* the C library, libdw, and this program */
	assert_true(t.files >= 3);
	assert_true(t.known > t.places / 2);
	assert_true(t.outermost > 0);
}

/* As in static programs: without the header all is the same. */
static int without_header(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct rt_unwind_file f, bare = { 0 };
	bool *done = arg;

	(void)size;
	if (*info->dlpi_name || !find(info, &f))
		return 0;
	bare = f;
	bare.header = bare.header_end = 0;
	/* "pcrel, 4 bytes" */
	bare.tables = f.header + 4 + (uint64_t)(int64_t)*(const int32_t *)(uintptr_t)(f.header + 4);
	for (uint64_t at = f.begin; at < f.end; at += 16 * STEP) {
		struct rt_rule got = rt_cfi_rule(&bare, at + 1), wanted = rt_cfi_rule(&f, at + 1);

		assert_memory_equal(&got, &wanted, sizeof(got));
	}
	*done = true;
	return 1;
}

static void scanned(void **state)
{
	bool done = false;

	(void)state;
	dl_iterate_phdr(without_header, &done);
	assert_true(done);
}

/* Code that no entry is for. */
static void elsewhere(void **state)
{
	struct rt_unwind_file f = { 0, UINT64_MAX, 0, 0, 0, 0 };
	uint8_t header[16] = { 1, 0x1b, 3, 0x3b };

	(void)state;
	assert_int_equal(rt_cfi_rule(&f, 1000).kind, RT_RULE_UNKNOWN);
	f.header = f.tables = (uint64_t)(uintptr_t)header;
	f.header_end = f.tables_end = f.header + sizeof(header);
	assert_int_equal(rt_cfi_rule(&f, f.header + 1000).kind, RT_RULE_UNKNOWN);
	header[8] = 0xff; /* more entries than there are */
	assert_int_equal(rt_cfi_rule(&f, f.header + 1000).kind, RT_RULE_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(as_libdw), cmocka_unit_test(scanned), cmocka_unit_test(elsewhere) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
