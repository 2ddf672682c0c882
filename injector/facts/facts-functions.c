// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * All functions of a file: one for each address where a symbol of a function, a global label
 * outside of all functions, or an entry of the unwind table without symbols starts.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "injector/facts/facts-int.h"
#include "trampolines/insn/x86-64/decode.h"

#define SIGRETURN_MAX 32	/* bytes of a function that does nothing else */

enum origin { BY_SYMBOL, BY_DYNAMIC, BY_LABEL, BY_FRAME };

struct item {
	uint64_t addr, size;
	const char *name;
	uint32_t flags;		/* enum inj_fn_flags */
	uint32_t facts;		/* enum inj_name_facts, of all names */
	enum origin origin;
};

struct items {
	struct item *v;
	size_t n, room;
};

static bool add_item(struct items *items, const struct item *item)
{
	if (!array_room(items->v, items->room, items->n + 1))
		return false;
	items->v[items->n++] = *item;
	return true;
}

/* ---- symbols ---- */

/* Of several names: global, few underscores in front, the default version. */
static int niceness(const struct inj_symbol *s)
{
	size_t underscores = strspn(s->name, "_");

	return (s->flags & INJ_SYM_GLOBAL ? 8 : 0) +
	       2 * (underscores < 3 ? 3 - (int)underscores : 0) + !(s->flags & INJ_SYM_OLD);
}

static uint32_t symbol_flags(const struct inj_symbol *s)
{
	return INJ_FN_SYMBOL | (s->flags & INJ_SYM_GLOBAL ? INJ_FN_GLOBAL : 0) |
	       (s->flags & INJ_SYM_DEBUG ? INJ_FN_DEBUG : 0);
}

/* @s[0..n): all of one address. */
static struct item from_aliases(const struct inj_symbol *s, size_t n)
{
	const struct inj_symbol *best = &s[0];
	struct item item = { .addr = s[0].addr, .origin = BY_SYMBOL };

	for (size_t i = 0; i < n; i++) {
		if (niceness(&s[i]) > niceness(best))
			best = &s[i];
		item.size = s[i].size > item.size ? s[i].size : item.size;
		item.facts |= inj_cf_name(s[i].name);
		if (s[i].flags & INJ_SYM_IFUNC)
			item.flags |= INJ_FN_IFUNC_RESOLVER;
	}
	item.name = best->name;
	item.flags |= symbol_flags(best);
	return item;
}

static bool add_symbols(const struct inj_cf *cf, struct items *items)
{
	size_t n, next;
	const struct inj_symbol *s = inj_symtab_all(cf->tab, &n);

	for (size_t i = 0; i < n; i = next) {
		struct item item;

		for (next = i + 1; next < n && s[next].addr == s[i].addr;)
			next++;
		if (!inj_cf_code(cf, s[i].addr))
			continue;
		item = from_aliases(s + i, next - i);
		if (!add_item(items, &item))
			return false;
	}
	return true;
}

static bool is_function(const Elf64_Sym *sym)
{
	return ELF64_ST_TYPE(sym->st_info) == STT_FUNC ||
	       ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC;
}

/* Labels, and where BFD sees no symbols since there are no section headers, functions. */
static bool add_own(const struct inj_cf *cf, struct items *items,
		    const struct inj_elf_symbols *syms, enum origin origin)
{
	for (size_t i = 1; i < syms->n; i++) {
		Elf64_Sym sym = inj_elf_symbol(syms, i);
		bool global = ELF64_ST_BIND(sym.st_info) != STB_LOCAL;
		bool function = is_function(&sym);
		struct item item = { .addr = sym.st_value, .size = sym.st_size };

		if (sym.st_shndx == SHN_UNDEF || sym.st_shndx == SHN_ABS || !sym.st_name ||
		    (!function && ELF64_ST_TYPE(sym.st_info) != STT_NOTYPE) ||
		    (function && origin != BY_DYNAMIC) || !inj_cf_code(cf, sym.st_value))
			continue;
		item.name = inj_elf_symbol_name(syms, &sym);
		item.facts = inj_cf_name(item.name);
		item.flags = INJ_FN_SYMBOL | (global ? INJ_FN_GLOBAL : 0);
		if (ELF64_ST_TYPE(sym.st_info) == STT_GNU_IFUNC)
			item.flags |= INJ_FN_IFUNC_RESOLVER;
		item.origin = function ? BY_DYNAMIC : BY_LABEL;
		if (*item.name && !add_item(items, &item))
			return false;
	}
	return true;
}

/* ---- the unwind table ---- */

/* PLTs have entries, too: push slot; jmp *slot, or a jump through a slot at the start. */
bool inj_cf_is_plt(const struct inj_cf *cf, uint64_t addr)
{
	uint64_t left;
	const uint8_t *p = inj_elf_at(&cf->file, addr, &left);
	size_t prefix = p ? inj_codefacts_prefix(p, left) : 0;

	if (!p || left - prefix < 8)
		return false;
	p += prefix;
	return (p[0] == 0xff && p[1] == 0x25) || (p[0] == 0xff && p[1] == 0x35 && p[6] == 0xff) ||
	       (p[0] == 0xff && p[1] == 0x35 && p[6] == 0xf2 && p[7] == 0xff);
}

static bool is_sigreturn(const struct inj_cf *cf, uint64_t addr)
{
	uint64_t left;
	const uint8_t *p = inj_elf_at(&cf->file, addr, &left);

	return p && tramp_is_sigreturn(p, left);
}

static bool add_frames(const struct inj_cf *cf, struct items *items)
{
	for (size_t i = 0; i < cf->nfdes; i++) {
		struct item item = {
			.addr = cf->fdes[i].addr,
			.size = cf->fdes[i].size,
			.origin = BY_FRAME,
		};

		if (inj_cf_is_plt(cf, item.addr))
			continue;
		if ((cf->fdes[i].flags & INJ_FDE_SIGNAL) && item.size > 1 &&
		    is_sigreturn(cf, item.addr + 1)) {
			item.addr++; /* unwinders look for the byte before a return address */
			item.size--;
		}
		if (!add_item(items, &item))
			return false;
	}
	return true;
}

/* ---- one list ---- */

static int item_order(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->origin != y->origin)
		return x->origin < y->origin ? -1 : 1;
	return (x->flags & INJ_FN_GLOBAL) > (y->flags & INJ_FN_GLOBAL) ? -1 :
	       (x->flags & INJ_FN_GLOBAL) < (y->flags & INJ_FN_GLOBAL);
}

/* An unwind entry within a function with a size is its own; a label within one is no function. */
static bool is_wanted(const struct inj_cf *cf, const struct item *item, uint64_t covered)
{
	const struct inj_fde *fde;

	if (item->origin == BY_FRAME)
		return item->addr >= covered;
	if (item->origin != BY_LABEL || (item->facts & INJ_NAME_NEVER))
		return true;
	fde = inj_cf_fde(cf, item->addr);
	if (fde)
		return fde->addr == item->addr;
	return (item->flags & INJ_FN_GLOBAL) && item->addr >= covered;
}

/* One item for each address; sizes of those within others reach to the others' end. */
static void unite(const struct inj_cf *cf, struct items *items)
{
	uint64_t covered = 0;
	size_t n = 0;

	if (items->n)
		qsort(items->v, items->n, sizeof(*items->v), item_order);
	for (size_t i = 0; i < items->n; i++) {
		struct item item = items->v[i], *last = n ? &items->v[n - 1] : NULL;
		uint64_t end;

		if (last && last->addr == item.addr) {
			last->size = last->size ? last->size : item.size;
			last->facts |= item.facts;
			last->flags |= item.flags & INJ_FN_IFUNC_RESOLVER;
		} else if (is_wanted(cf, &item, covered)) {
			if (item.addr < covered && item.size < covered - item.addr)
				item.size = covered - item.addr;
			items->v[n++] = item;
		}
		end = item.addr + item.size;
		if (n && items->v[n - 1].addr == item.addr && end > covered)
			covered = end;
	}
	items->n = n;
}

/* Sizes that are not known, and none beyond the next function or the end of the code. */
static void limit_sizes(const struct inj_cf *cf, struct items *items)
{
	for (size_t i = 0; i < items->n; i++) {
		struct item *item = &items->v[i];
		const struct tramp_bytes *code = inj_cf_code(cf, item->addr);
		uint64_t limit = code->addr + code->len - item->addr;

		if (i + 1 < items->n && items->v[i + 1].addr - item->addr < limit)
			limit = items->v[i + 1].addr - item->addr;
		if (!item->size) {
			const struct inj_fde *fde = inj_cf_fde(cf, item->addr);

			item->size = fde ? fde->addr + fde->size - item->addr : limit;
		}
		item->size = item->size < limit ? item->size : limit;
	}
}

/* ---- what is known of each ---- */

bool inj_cf_never(const struct inj_cf *cf, uint64_t addr, uint64_t size)
{
	size_t at = search_first(i, cf->never.n, cf->never.v[i] >= addr);

	return (at < cf->never.n && cf->never.v[at] - addr < size) || (size <= SIGRETURN_MAX && is_sigreturn(cf, addr));
}

static bool is_foreign(const struct inj_cf *cf, const struct item *item)
{
	size_t len;

	if (cf->go || (item->facts & INJ_NAME_FOREIGN))
		return true;
	if (!cf->ghc || !item->name)
		return false;
	len = strlen(item->name);
	return len > 5 && strcmp(item->name + len - 5, "_info") == 0;
}

/*
 * Compilers align functions, but not the cold parts that they put elsewhere.  @before: where the
 * function before it ends.
 */
static bool may_be_part(const struct item *item, const struct inj_fde *fde, uint64_t before)
{
	return !item->name && ((fde && (fde->flags & INJ_FDE_INSIDE)) || item->addr % 16 ||
			       before == item->addr);
}

static uint32_t flow_flags(const struct inj_cf *cf, const struct item *item,
			   const struct inj_fde *fde, uint64_t before)
{
	uint32_t flags = fde ? TRAMP_FN_FRAMED : 0;
	bool sure;

	if (is_foreign(cf, item))
		flags |= TRAMP_FN_FOREIGN;
	if (may_be_part(item, fde, before))
		flags |= TRAMP_FN_MAYBE_PART;
	if (item->name && inj_cf_part_suffix(item->name, &sure))
		flags |= sure ? TRAMP_FN_PART : TRAMP_FN_MAYBE_PART;
	return flags;
}

static bool is_never(const struct inj_cf *cf, const struct item *item, const struct inj_fde *fde)
{
	return (item->facts & INJ_NAME_NEVER) || (fde && (fde->flags & INJ_FDE_SIGNAL)) ||
	       inj_cf_never(cf, item->addr, item->size);
}

/* C code that is linked to it has unwind tables. */
static bool is_go_code(const struct inj_cf *cf, const struct inj_fde *fde)
{
	return cf->go && !fde;
}

char *inj_cf_write_name(char *name, uint64_t addr)
{
	int at = 4, shift = 60;

	memcpy(name, "sub_", 4);
	while (shift && !(addr >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		name[at++] = "0123456789abcdef"[addr >> shift & 15];
	name[at] = '\0';
	return name;
}

static bool allocate(struct inj_cf *cf, const struct items *items)
{
	size_t nameless = 0;

	for (size_t i = 0; i < items->n; i++)
		nameless += !items->v[i].name;
	cf->fns = calloc(items->n + 1, sizeof(*cf->fns));
	cf->info = calloc(items->n + 1, sizeof(*cf->info));
	cf->nameless = calloc(nameless + 1, sizeof(*cf->nameless));
	return cf->fns && cf->info && cf->nameless;
}

static bool fill(struct inj_cf *cf, const struct items *items)
{
	uint64_t before = 0;
	size_t nameless = 0;

	if (!allocate(cf, items))
		return false;
	for (size_t i = 0; i < items->n; i++) {
		const struct item *item = &items->v[i];
		const struct inj_fde *fde = inj_cf_fde(cf, item->addr);

		cf->fns[i] = (struct tramp_fn){
			.addr = item->addr,
			.size = item->size,
			.flags = flow_flags(cf, item, fde, before),
			.parent = TRAMP_NONE,
		};
		before = item->addr + item->size;
		cf->info[i].flags = item->flags | (is_never(cf, item, fde) ? INJ_FN_NEVER : 0) |
				    (fde && fde->addr == item->addr ? INJ_FN_BY_FRAME : 0) |
				    (is_go_code(cf, fde) ? INJ_FN_GO : 0);
		cf->info[i].name = item->name ? item->name :
						inj_cf_write_name(cf->nameless[nameless++], item->addr);
		if (item->facts & INJ_NAME_NORETURN)
			inj_addrs_add(&cf->noreturn, item->addr);
		if (item->facts & INJ_NAME_SYNC)
			inj_addrs_add(&cf->sync, item->addr);
	}
	cf->nfns = items->n;
	return true;
}

static bool gather(const struct inj_cf *cf, struct items *items)
{
	return add_symbols(cf, items) && add_own(cf, items, &cf->symtab, BY_LABEL) &&
	       add_own(cf, items, &cf->dynsym, BY_DYNAMIC) && add_frames(cf, items);
}

enum inj_status inj_cf_functions(struct inj_cf *cf)
{
	enum inj_status status = INJ_MEMORY;
	struct items items = { 0 };

	if (gather(cf, &items)) {
		unite(cf, &items);
		limit_sizes(cf, &items);
		if (fill(cf, &items))
			status = INJ_OK;
	}
	free(items.v);
	return status;
}

size_t inj_cf_function(const struct inj_cf *cf, uint64_t addr)
{
	size_t at = search_first(i, cf->nfns, cf->fns[i].addr + cf->fns[i].size > addr);

	return at < cf->nfns && cf->fns[at].addr <= addr ? at : cf->nfns;
}
