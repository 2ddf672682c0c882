// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * usage: blocks FILE <LIST
 *
 * Judges the control flow that trampolines/flow/flow.h finds in FILE by what ran: wherever control came to (the LIST, from
 * stepper -b), a block has to start.  Prints where none does, and how many addresses were looked at; exit status
 * 1 if there was any such.  Functions with a jump that the analysis itself does not understand are counted apart.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injector/facts/facts.h"
#include "trampolines/flow/flow.h"

static struct inj_symtab *symbols;
static struct inj_codefacts facts;
static struct tramp_code *code;
static struct tramp_flow flow;
static unsigned long checked, unsure, unknown, wrong;

static void open_file(const char *path)
{
	if (inj_symtab_open(path, INJ_SYMTAB_DEBUG_FILE, &symbols) != INJ_OK ||
	    inj_codefacts_read(path, symbols, &facts) != INJ_OK ||
	    tramp_code_new(&facts.facts, &code) != TRAMP_CODE_OK)
		errx(99, "%s: cannot be read", path);
}

static void close_file(void)
{
	tramp_flow_free(&flow);
	tramp_code_free(code);
	inj_codefacts_free(&facts);
	inj_symtab_close(symbols);
}

static bool is_start(uint64_t addr)
{
	uint32_t off = (uint32_t)(addr - tramp_code_base(code)), low = 0, high = flow.nblocks;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (flow.blocks[middle].start == off)
			return true;
		if (flow.blocks[middle].start < off)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static void check(uint64_t addr)
{
	uint32_t fn = tramp_code_function(code, addr);

	if (fn == TRAMP_NONE) {
		unknown++;
		return;
	}
	if ((flow.code != code || flow.fn != fn) && tramp_flow_build(&flow, code, fn) != TRAMP_CODE_OK)
		errx(99, "no memory");
	checked++;
	if (is_start(addr))
		return;
	if (flow.flags & TRAMP_FLOW_UNSURE) {
		unsure++;
		return;
	}
	wrong++;
	printf("%" PRIx64 " in %s (%" PRIx64 ")\n", addr, facts.fn[fn].name, facts.facts.fns[fn].addr);
}

int main(int argc, char **argv)
{
	const char *name = argc == 2 ? strrchr(argv[1], '/') : NULL;
	char line[4096], file[4096];
	uint64_t addr;

	if (!name)
		errx(2, "usage: blocks PATH/FILE <LIST");
	open_file(argv[1]);
	while (fgets(line, sizeof(line), stdin))
		if (sscanf(line, "block %" SCNx64 " %4095s", &addr, file) == 2 && strcmp(file, name + 1) == 0)
			check(addr);
	printf("%s: control came to %lu places in functions", name + 1, checked);
	printf(", %lu unknown in unsure ones, %lu wrong; %lu outside of functions\n", unsure, wrong, unknown);
	close_file();
	return wrong != 0;
}
