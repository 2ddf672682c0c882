// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <bfd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/search.h"
#include "injector/image/bfdfile.h"
#include "injector/image/symbols.h"
#include "injector/signatures/signatures.h"

#define DEMANGLE_PARAMS 3 /* DMGL_PARAMS | DMGL_ANSI of libiberty's demangle.h */

/*
 * BFD keeps ELF's own symbol after each asymbol (elf_symbol_type in its elf-bfd.h), but does not
 * install that header, and has no other way to a symbol's size.  The value, which is known
 * otherwise too, is compared before the size is believed.
 */
struct elf_asymbol {
	asymbol symbol;
	struct {
		bfd_vma st_value;
		bfd_vma st_size;
	} internal;
};

struct name_slot {
	uint32_t index; /* into by_addr, plus one; 0: empty */
};

struct inj_symtab {
	bfd *files[2]; /* names live in their memory */
	asymbol **raw[3];
	long nraw[3];
	struct inj_symbol *syms;
	size_t n, room;
	size_t own; /* those that are not of .dynsym */
	struct name_slot *names;
	size_t nnames; /* a power of two */
	struct inj_sig_names found; /* by signature */
};

/* ---- reading ---- */

uint64_t inj_bfd_symbol_size(const asymbol *sym)
{
	const struct elf_asymbol *elf = (const struct elf_asymbol *)sym;
	uint64_t value = bfd_asymbol_value(sym);

	if (elf->internal.st_value != value || elf->internal.st_size > sym->section->size)
		return 0;
	return elf->internal.st_size;
}

static bool is_function(const asymbol *sym)
{
	if (!(sym->flags & (BSF_FUNCTION | BSF_GNU_INDIRECT_FUNCTION)))
		return false;
	return sym->name[0] && (sym->section->flags & SEC_CODE) &&
	       sym->value < sym->section->size;
}

/* A version that is kept for programs linked long ago: name@VERSION, not name@@VERSION. */
static bool is_old_version(bfd *abfd, asymbol *sym)
{
	bool hidden = false;

	return bfd_get_symbol_version_string(abfd, sym, true, &hidden) && hidden;
}

static enum inj_status add(struct inj_symtab *tab, bfd *abfd, asymbol *sym, uint32_t flags)
{
	struct inj_symbol *s;
	char *at;

	if (!array_room(tab->syms, tab->room, tab->n + 1))
		return INJ_MEMORY;
	s = &tab->syms[tab->n++];
	s->name = sym->name;
	s->addr = bfd_asymbol_value(sym);
	s->size = inj_bfd_symbol_size(sym);
	s->avail = sym->section->vma + sym->section->size - s->addr;
	s->flags = flags;
	s->source = NULL;
	if (sym->flags & (BSF_GLOBAL | BSF_WEAK | BSF_GNU_UNIQUE))
		s->flags |= INJ_SYM_GLOBAL;
	if (sym->flags & BSF_GNU_INDIRECT_FUNCTION)
		s->flags |= INJ_SYM_IFUNC;
	if ((flags & INJ_SYM_DYNAMIC) && is_old_version(abfd, sym))
		s->flags |= INJ_SYM_OLD;
	/* some versions of BFD append the version to the name; its memory is ours to cut */
	at = strchr((char *)(uintptr_t)sym->name, '@');
	if (at && at != sym->name)
		*at = '\0';
	return INJ_OK;
}

enum table { STATIC_TABLE, DYNAMIC_TABLE, DEBUG_TABLE };

static enum inj_status read_table(struct inj_symtab *tab, bfd *abfd, enum table which,
				  uint32_t flags)
{
	asymbol ***raw = &tab->raw[which];
	bool dynamic = which == DYNAMIC_TABLE;
	long bytes = dynamic ? bfd_get_dynamic_symtab_upper_bound(abfd) :
			       bfd_get_symtab_upper_bound(abfd);
	enum inj_status status = INJ_OK;
	long n;

	if (bytes <= (long)sizeof(asymbol *))
		return INJ_OK;
	*raw = malloc((size_t)bytes);
	if (!*raw)
		return INJ_MEMORY;
	n = dynamic ? bfd_canonicalize_dynamic_symtab(abfd, *raw) :
		      bfd_canonicalize_symtab(abfd, *raw);
	tab->nraw[which] = n > 0 ? n : 0;
	for (long i = 0; i < n && status == INJ_OK; i++)
		if (is_function((*raw)[i]))
			status = add(tab, abfd, (*raw)[i], flags);
	return status;
}

/*
 * What sonde/mark.h brings has sections of its own, named after the functions, so that it is found in a file that was stripped of
 * its symbols, too.
 */
static enum inj_status read_marks(struct inj_symtab *tab, bfd *abfd)
{
	static const char prefix[] = "sonde_mark.";

	for (asection *s = abfd->sections; s; s = s->next) {
		if (strncmp(s->name, prefix, sizeof(prefix) - 1) != 0 || !(s->flags & SEC_CODE) || !s->size)
			continue;
		if (!array_room(tab->syms, tab->room, tab->n + 1))
			return INJ_MEMORY;
		tab->syms[tab->n++] = (struct inj_symbol){ .name = s->name + sizeof(prefix) - 1, .addr = s->vma, .avail = s->size,
							   .flags = INJ_SYM_GLOBAL };
	}
	return INJ_OK;
}

static pthread_mutex_t bfd_lock = PTHREAD_MUTEX_INITIALIZER;

void inj_bfd_lock(void)
{
	static bool ready;

	pthread_mutex_lock(&bfd_lock);
	if (ready)
		return;
	bfd_init();
	bfd_set_error_handler((bfd_error_handler_type)(void (*)(void))abs);
	ready = true;
}

void inj_bfd_unlock(void)
{
	pthread_mutex_unlock(&bfd_lock);
}

/* With the lock. */
static bfd *open_elf(const char *path)
{
	bfd *abfd = bfd_openr(path, "elf64-x86-64");

	if (abfd && bfd_check_format(abfd, bfd_object))
		return abfd;
	if (abfd)
		bfd_close(abfd);
	return NULL;
}

static enum inj_status read_debug_file(struct inj_symtab *tab)
{
	char *path = bfd_follow_build_id_debuglink(tab->files[0], INJ_DEBUG_FOLDER);
	enum inj_status status = INJ_OK;

	if (!path)
		path = bfd_follow_gnu_debuglink(tab->files[0], INJ_DEBUG_FOLDER);
	if (!path)
		return INJ_OK;
	tab->files[1] = open_elf(path);
	if (tab->files[1])
		status = read_table(tab, tab->files[1], DEBUG_TABLE, INJ_SYM_DEBUG);
	free(path);
	return status;
}

/* ---- order ---- */

static int by_addr(const void *a, const void *b)
{
	const struct inj_symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	/* the same symbol out of two tables: the one with more knowledge first */
	if ((x->size != 0) != (y->size != 0))
		return x->size ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Drops what stands in .symtab and .dynsym alike; sets avail from the next function. */
static void settle(struct inj_symtab *tab)
{
	size_t n = 0;
	uint64_t next = 0;

	if (tab->n)
		qsort(tab->syms, tab->n, sizeof(*tab->syms), by_addr);
	for (size_t i = 0; i < tab->n; i++) {
		struct inj_symbol *s = &tab->syms[i], *last = n ? &tab->syms[n - 1] : NULL;

		if (last && last->addr == s->addr && strcmp(last->name, s->name) == 0)
			last->flags |= s->flags & (INJ_SYM_DYNAMIC | INJ_SYM_GLOBAL | INJ_SYM_OLD);
		else
			tab->syms[n++] = *s;
	}
	tab->n = n;
	for (size_t i = n; i-- > 0;) {
		struct inj_symbol *s = &tab->syms[i];
		uint64_t after = i + 1 < n ? tab->syms[i + 1].addr : 0;

		if (after > s->addr)
			next = after;
		if (next > s->addr && next - s->addr < s->avail)
			s->avail = next - s->addr;
		if (s->size > s->avail)
			s->avail = s->size;
	}
}

static uint64_t hash_name(const char *name)
{
	return hash_bytes(name, strlen(name));
}

static enum inj_status index_names(struct inj_symtab *tab)
{
	size_t room = hash_room(tab->n);

	tab->names = calloc(room, sizeof(*tab->names));
	if (!tab->names)
		return INJ_MEMORY;
	tab->nnames = room;
	for (size_t i = 0; i < tab->n; i++)
		tab->names[hash_slot(at, room, hash_name(tab->syms[i].name), !tab->names[at].index)].index = (uint32_t)i + 1;
	return INJ_OK;
}

/* With the lock. */
static enum inj_status read_files(struct inj_symtab *tab, const char *path, unsigned int flags)
{
	enum inj_status status;

	tab->files[0] = open_elf(path);
	status = tab->files[0] ? INJ_OK : INJ_NO_FILE;
	if (status == INJ_OK)
		status = read_table(tab, tab->files[0], STATIC_TABLE, 0);
	tab->own = tab->n;
	if (status == INJ_OK)
		status = read_table(tab, tab->files[0], DYNAMIC_TABLE, INJ_SYM_DYNAMIC);
	tab->own -= tab->n;
	if (status == INJ_OK && (flags & INJ_SYMTAB_DEBUG_FILE))
		status = read_debug_file(tab);
	tab->own += tab->n;
	if (status == INJ_OK)
		status = read_marks(tab, tab->files[0]);
	return status;
}

/* ---- names that are known by signature ---- */

static bool has_symbol(const struct inj_sig_known *known, size_t n, uint64_t addr)
{
	size_t at = search_first(i, n, known[i].addr >= addr);

	return at < n && known[at].addr == addr;
}

static int by_known(const void *a, const void *b)
{
	const struct inj_sig_known *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static enum inj_status add_found(struct inj_symtab *tab, const struct inj_sig_name_of *found)
{
	if (!array_room(tab->syms, tab->room, tab->n + 1))
		return INJ_MEMORY;
	tab->syms[tab->n++] = (struct inj_symbol){
		.name = found->name, .addr = found->addr, .size = found->size, .avail = found->size ? found->size : 1,
		.flags = INJ_SYM_SIGNATURE | (found->flags & SIG_NAME_GLOBAL ? INJ_SYM_GLOBAL : 0u) |
			 (found->flags & SIG_NAME_IFUNC ? INJ_SYM_IFUNC : 0u),
		.source = found->source,
	};
	return INJ_OK;
}

static enum inj_status read_signatures(struct inj_symtab *tab, const char *path)
{
	size_t n = tab->n;
	struct inj_sig_known *known = inj_signatures_key() ? calloc(n + 1, sizeof(*known)) : NULL;
	enum inj_status status = inj_signatures_key() && !known ? INJ_MEMORY : INJ_OK;

	for (size_t i = 0; known && i < n; i++)
		known[i] = (struct inj_sig_known){ tab->syms[i].addr, tab->syms[i].name };
	if (known && n)
		qsort(known, n, sizeof(*known), by_known);
	if (known && inj_signatures_name(path, known, n, &tab->found))
		for (size_t i = 0; i < tab->found.n && status == INJ_OK; i++)
			if (!has_symbol(known, n, tab->found.v[i].addr))
				status = add_found(tab, &tab->found.v[i]);
	free(known);
	return status;
}

enum inj_status inj_symtab_open(const char *path, unsigned int flags, struct inj_symtab **out)
{
	struct inj_symtab *tab = calloc(1, sizeof(*tab));
	enum inj_status status;

	*out = NULL;
	if (!tab)
		return INJ_MEMORY;
	inj_bfd_lock();
	status = read_files(tab, path, flags);
	inj_bfd_unlock();
	if (status == INJ_OK && !tab->own && !(flags & INJ_SYMTAB_NO_SIGNATURES))
		status = read_signatures(tab, path);
	if (status == INJ_OK) {
		settle(tab);
		status = index_names(tab);
	}
	if (status != INJ_OK) {
		inj_symtab_close(tab);
		return status;
	}
	*out = tab;
	return INJ_OK;
}

void inj_symtab_close(struct inj_symtab *tab)
{
	if (!tab)
		return;
	for (int i = 0; i < 3; i++)
		free(tab->raw[i]);
	inj_bfd_lock();
	for (int i = 0; i < 2; i++)
		if (tab->files[i])
			bfd_close(tab->files[i]);
	inj_bfd_unlock();
	free(tab->names);
	free(tab->syms);
	inj_sig_names_free(&tab->found);
	free(tab);
}

const struct inj_symbol *inj_symtab_all(const struct inj_symtab *tab, size_t *n)
{
	*n = tab->n;
	return tab->syms;
}

/* ---- finding ---- */

char *inj_demangle(const char *name)
{
	/* C++ (_Z), Rust (_R, and _ZN...17h<hash>E, which the demangler also knows) */
	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return NULL;
	return bfd_demangle(NULL, name, DEMANGLE_PARAMS);
}

static int rank(const struct inj_symbol *s)
{
	return (s->flags & INJ_SYM_OLD ? 0 : 2) + (s->flags & INJ_SYM_GLOBAL ? 1 : 0);
}

static void consider(const struct inj_symbol *s, const struct inj_symbol **best, size_t *others)
{
	if (!*best) {
		*best = s;
		return;
	}
	if ((*best)->addr != s->addr && rank(s) == rank(*best))
		++*others;
	if (rank(s) > rank(*best)) {
		*others = 0;
		*best = s;
	}
}

static bool demangled_is(const char *mangled, const char *name)
{
	char *full = inj_demangle(mangled);
	size_t n = strlen(name);
	bool same;

	if (!full)
		return false;
	same = strncmp(full, name, n) == 0 &&
	       (full[n] == '\0' || (full[n] == '(' && !strchr(name, '(')));
	free(full);
	return same;
}

static const struct inj_symbol *find_demangled(const struct inj_symtab *tab, const char *name,
					       size_t *others)
{
	const struct inj_symbol *best = NULL;

	for (size_t i = 0; i < tab->n; i++)
		if (demangled_is(tab->syms[i].name, name))
			consider(&tab->syms[i], &best, others);
	return best;
}

const struct inj_symbol *inj_symtab_find(const struct inj_symtab *tab, const char *name,
					 size_t *others)
{
	const struct inj_symbol *best = NULL;
	size_t ignored;

	others = others ? others : &ignored;
	*others = 0;
	if (strstr(name, "::") || strchr(name, '(') || strchr(name, ' '))
		return find_demangled(tab, name, others);
	for (size_t h = hash_name(name) & (tab->nnames - 1); tab->names[h].index; h = hash_next(h, tab->nnames)) {
		const struct inj_symbol *s = &tab->syms[tab->names[h].index - 1];

		if (strcmp(s->name, name) == 0)
			consider(s, &best, others);
	}
	return best;
}

const struct inj_symbol *inj_symtab_at(const struct inj_symtab *tab, uint64_t addr)
{
	size_t at = search_first(i, tab->n, tab->syms[i].addr >= addr);

	return at < tab->n && tab->syms[at].addr == addr ? &tab->syms[at] : NULL;
}

size_t inj_symtab_maybe(const struct inj_symtab *tab, uint64_t addr, const char *names[], size_t room, const char **source)
{
	const struct inj_sig_name_of *v = tab->found.v + tab->found.n;
	size_t all = tab->found.nunsure, first = search_first(i, all, v[i].addr >= addr), n = 0;

	for (; first + n < all && v[first + n].addr == addr; n++) {
		*source = v[first + n].source;
		if (n < room)
			names[n] = v[first + n].name;
	}
	return n;
}

bool inj_symtab_object(const struct inj_symtab *tab, const char *name, uint64_t *addr)
{
	size_t len = strlen(name);

	for (long i = 0; i < tab->nraw[DYNAMIC_TABLE]; i++) {
		const asymbol *sym = tab->raw[DYNAMIC_TABLE][i];

		if (strncmp(sym->name, name, len) != 0 || (sym->name[len] && sym->name[len] != '@'))
			continue;
		if (bfd_is_und_section(sym->section))
			continue;
		*addr = bfd_asymbol_value(sym);
		return true;
	}
	return false;
}
