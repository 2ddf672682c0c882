// SPDX-License-Identifier: GPL-3.0-or-later
/* Objects as BFD reads them: alone, or in an archive. */
#include "config.h"

#include <bfd.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "injector/image/bfdfile.h"
#include "injector/signatures/sigmake.h"

/* Its sections with code, with what BFD's own index of each is. */
struct object {
	bfd *abfd;
	asymbol **symbols;
	long nsymbols;
	struct inj_sig_in_section *sections;
	size_t n, sections_room;
	size_t *place;		/* by BFD's index: in sections; SIZE_MAX: none */
	size_t nplace;
	bool no_memory;
};

static void release(struct object *o)
{
	for (size_t i = 0; i < o->n; i++) {
		free((void *)(uintptr_t)o->sections[i].code);
		free(o->sections[i].funcs);
		free(o->sections[i].relocs);
	}
	free(o->sections);
	free(o->symbols);
	free(o->place);
}

static bool read_symbols(struct object *o)
{
	long bytes = bfd_get_symtab_upper_bound(o->abfd);

	if (bytes <= (long)sizeof(asymbol *))
		return false;
	o->symbols = malloc((size_t)bytes);
	o->no_memory = !o->symbols;
	if (!o->symbols)
		return false;
	o->nsymbols = bfd_canonicalize_symtab(o->abfd, o->symbols);
	return o->nsymbols > 0;
}

/* ---- relocations ---- */

static bool is_global(const asymbol *sym)
{
	return (sym->flags & (BSF_GLOBAL | BSF_WEAK | BSF_GNU_UNIQUE)) || bfd_is_und_section(sym->section) || bfd_is_com_section(sym->section);
}

/* Some versions of BFD append the version to the name; its memory is ours to cut. */
static const char *plain_name(const asymbol *sym)
{
	char *at = strchr((char *)(uintptr_t)sym->name, '@');

	if (at && at != sym->name)
		*at = '\0';
	return sym->name;
}

static struct inj_sig_in_reloc convert(const struct object *o, const arelent *r)
{
	const asymbol *sym = r->sym_ptr_ptr ? *r->sym_ptr_ptr : NULL;
	struct inj_sig_in_reloc in = {
		.at = r->address, .type = r->howto ? r->howto->type : UINT32_MAX, .addend = (int64_t)r->addend, .section = SIZE_MAX,
	};

	if (sym && is_global(sym)) {
		in.global = plain_name(sym);
	} else if (sym && sym->section->index < o->nplace) {
		in.section = o->place[sym->section->index];
		in.value = sym->value;
	}
	return in;
}

static bool read_relocations(struct object *o, asection *s, struct inj_sig_in_section *in)
{
	long bytes = bfd_get_reloc_upper_bound(o->abfd, s), n;
	arelent **v = bytes > 0 ? malloc((size_t)bytes) : NULL;

	n = v ? bfd_canonicalize_reloc(o->abfd, s, v, o->symbols) : -1;
	in->relocs = n >= 0 ? calloc((size_t)n + 1, sizeof(*in->relocs)) : NULL;
	for (long i = 0; in->relocs && i < n; i++)
		in->relocs[i] = convert(o, v[i]);
	in->nrelocs = n > 0 ? (size_t)n : 0;
	free(v);
	return in->relocs != NULL;
}

/* ---- sections ---- */

static bool is_wanted(const asection *s)
{
	return (s->flags & SEC_CODE) && (s->flags & SEC_HAS_CONTENTS) && s->size && strcmp(s->name, ".init") != 0 && strcmp(s->name, ".fini") != 0;
}

static bool note_sections(struct object *o)
{
	for (asection *s = o->abfd->sections; s; s = s->next)
		o->nplace = s->index >= o->nplace ? s->index + (size_t)1 : o->nplace;
	o->place = malloc((o->nplace + 1) * sizeof(*o->place));
	if (!o->place)
		return false;
	memset(o->place, 0xff, (o->nplace + 1) * sizeof(*o->place));
	for (asection *s = o->abfd->sections; s; s = s->next) {
		bfd_byte *code = NULL;

		if (!is_wanted(s) || !bfd_malloc_and_get_section(o->abfd, s, &code))
			continue;
		if (!array_room(o->sections, o->sections_room, o->n + 1)) {
			free(code);
			return false;
		}
		o->place[s->index] = o->n;
		o->sections[o->n++] = (struct inj_sig_in_section){ .code = code, .len = s->size,
								   .shared = (s->flags & SEC_LINK_ONCE) || bfd_is_group_section(o->abfd, s) };
	}
	return true;
}

static bool read_sections(struct object *o)
{
	for (asection *s = o->abfd->sections; s; s = s->next)
		if (o->place[s->index] != SIZE_MAX && !read_relocations(o, s, &o->sections[o->place[s->index]]))
			return false;
	return true;
}

static bool note_function(struct object *o, const asymbol *sym)
{
	struct inj_sig_in_section *s;
	size_t place = sym->section->index < o->nplace ? o->place[sym->section->index] : SIZE_MAX;
	struct inj_sig_in_func *v;

	if (place == SIZE_MAX || !(sym->flags & (BSF_FUNCTION | BSF_GNU_INDIRECT_FUNCTION)) || !sym->name[0])
		return true;
	s = &o->sections[place];
	if (s->nfuncs % 16 == 0) {
		v = reallocarray(s->funcs, s->nfuncs + 16, sizeof(*v));
		if (!v)
			return false;
		s->funcs = v;
	}
	s->funcs[s->nfuncs++] = (struct inj_sig_in_func){
		.at = sym->value, .len = inj_bfd_symbol_size(sym), .name = plain_name(sym),
		.flags = (sym->flags & (BSF_GLOBAL | BSF_WEAK | BSF_GNU_UNIQUE) ? SIG_NAME_GLOBAL : 0u) |
			 (sym->flags & BSF_WEAK ? SIG_NAME_WEAK : 0u) | (sym->flags & BSF_GNU_INDIRECT_FUNCTION ? SIG_NAME_IFUNC : 0u),
	};
	return true;
}

/* False: no memory. */
static bool add_object(struct inj_sig_maker *m, bfd *abfd)
{
	struct object o = { .abfd = abfd };
	bool good = true;

	if (read_symbols(&o)) {
		good = note_sections(&o) && read_sections(&o);
		for (long i = 0; good && i < o.nsymbols; i++)
			good = note_function(&o, o.symbols[i]);
		good = good && inj_sig_add_object(m, o.sections, o.n);
	}
	good = good && !o.no_memory;
	release(&o);
	return good;
}

/* ---- files ---- */

/* False: no memory.  *found: objects. */
static bool add_members(struct inj_sig_maker *m, bfd *archive, size_t *found)
{
	bfd *member = NULL, *next;
	bool good = true;

	while (good && (next = bfd_openr_next_archived_file(archive, member))) {
		if (member)
			bfd_close(member);
		member = next;
		if (!bfd_check_format(member, bfd_object))
			continue;
		++*found;
		good = add_object(m, member);
	}
	if (member)
		bfd_close(member);
	return good;
}

static bool is_linked(bfd *abfd)
{
	return (bfd_get_file_flags(abfd) & (EXEC_P | DYNAMIC)) != 0;
}

static const char *add_opened(struct inj_sig_maker *m, bfd *abfd)
{
	size_t found = 0;

	if (bfd_check_format(abfd, bfd_archive)) {
		if (!add_members(m, abfd, &found))
			return "needs more memory than there is";
		return found ? NULL : "holds no object file for x86-64";
	}
	if (!bfd_check_format(abfd, bfd_object))
		return "is neither an archive nor an object file for x86-64";
	if (is_linked(abfd))
		return "is linked; signatures are made of archives and object files";
	return add_object(m, abfd) ? NULL : "needs more memory than there is";
}

/* Such as Debian's libm.a; what GNU ld takes for one is text. */
static bool is_script(const char *path)
{
	static const char *const words[] = { "GROUP", "INPUT", "GNU ld script" };
	char text[512];
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	bool script = false;

	if (f)
		fclose(f);
	text[n] = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		script |= strstr(text, words[i]) != NULL;
	return script && text[0] != '!';
}

bool inj_sig_add_archive(struct inj_sig_maker *m, const char *path, const char **problem)
{
	FILE *f = fopen(path, "re");
	bfd *abfd;

	if (!f) {
		*problem = strerror(errno);
		return false;
	}
	fclose(f);
	if (is_script(path)) {
		*problem = "is a script for the linker; make signatures of the archives that it names";
		return false;
	}
	inj_bfd_lock();
	abfd = bfd_openr(path, "elf64-x86-64");
	*problem = abfd ? add_opened(m, abfd) : "cannot be opened";
	if (abfd)
		bfd_close(abfd);
	inj_bfd_unlock();
	return !*problem;
}
