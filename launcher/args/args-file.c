// SPDX-License-Identifier: GPL-3.0-or-later
/* The functions that an ELF file's debug information describes, by address. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "launcher/args/args-private.h"
#include "launcher/common/debugfiles.h"

struct listing {
	struct args_file *file;
	bool no_memory;
};

/* Of one in several pieces (hot and cold) the first is where it begins. */
static bool entry_of(Dwarf_Die *die, Dwarf_Addr *addr)
{
	Dwarf_Addr base, end;

	return dwarf_entrypc(die, addr) == 0 || dwarf_ranges(die, 0, &base, addr, &end) > 0;
}

static int add_function(Dwarf_Die *die, void *arg)
{
	struct listing *l = arg;
	struct args_file *f = l->file;
	Dwarf_Addr addr;

	if (!entry_of(die, &addr) || !addr)
		return DWARF_CB_OK;
	if (!array_room(f->function, f->room, f->nfunctions + 1)) {
		l->no_memory = true;
		return DWARF_CB_ABORT;
	}
	f->function[f->nfunctions++] = (struct args_entry){ addr, dwarf_dieoffset(die) };
	return DWARF_CB_OK;
}

static int by_address(const void *a, const void *b)
{
	const struct args_entry *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static bool list_functions(struct args_file *f)
{
	struct listing l = { .file = f };
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	while (!l.no_memory && dwarf_get_units(f->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
		dwarf_getfuncs(&die, add_function, &l, 0);
	if (f->nfunctions)
		qsort(f->function, f->nfunctions, sizeof(*f->function), by_address);
	return !l.no_memory;
}

bool args_file_open(struct args_file *f, const char *path)
{
	Dwarf_Addr bias;
	Dwfl_Module *module;

	memset(f, 0, sizeof(*f));
	f->path = strdup(path);
	f->dwfl = dwfl_begin(&debugfiles_callbacks);
	if (!f->path || !f->dwfl) {
		args_file_free(f);
		return false;
	}
	dwfl_report_begin(f->dwfl);
	module = dwfl_report_offline(f->dwfl, "", path, -1);
	dwfl_report_end(f->dwfl, NULL, NULL);
	f->dwarf = module ? dwfl_module_getdwarf(module, &bias) : NULL;
	if (!f->dwarf || list_functions(f))
		return true;
	args_file_free(f);
	return false;
}

void args_file_free(struct args_file *f)
{
	dwfl_end(f->dwfl);
	free(f->path);
	free(f->function);
}

bool args_file_function(const struct args_file *f, uint64_t addr, Dwarf_Die *die)
{
	size_t at = search_first(i, f->nfunctions, f->function[i].addr >= addr);

	return at < f->nfunctions && f->function[at].addr == addr && dwarf_offdie(f->dwarf, f->function[at].die, die) != NULL;
}
