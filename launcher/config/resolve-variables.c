/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Global and static variables by their symbols; of fields, the variables that they are in. */
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/config/resolve.h"
#include "launcher/select/near.h"

struct variables {
	const char *name;
	struct config_range *v;
	size_t n, room;
	bool of_thread;	/* there is a thread-local one */
	bool failed;
	struct near_names near;
};

/* "counter.0" is a static one of a function. */
static bool is_called(const char *symbol, const char *name)
{
	size_t n = strlen(name);

	return strncmp(symbol, name, n) == 0 &&
	       (!symbol[n] || (symbol[n] == '.' && symbol[n + 1] >= '0' && symbol[n + 1] <= '9'));
}

static void look_at(struct variables *v, const char *symbol, const GElf_Sym *sym)
{
	struct function_name name = { .symbol = symbol };
	int type = GELF_ST_TYPE(sym->st_info);
	bool same;

	if ((type != STT_OBJECT && type != STT_TLS) || sym->st_shndx == SHN_UNDEF || !*symbol)
		return;
	same = is_called(symbol, v->name) || (function_name_is_mangled(symbol) && function_name_forms(&name, false) &&
					      strcmp(function_name_shown(&name), v->name) == 0);
	if (!same)
		near_note(&v->near, v->name, NEAR_WORD, &name);
	function_name_free(&name);
	if (!same)
		return;
	v->of_thread |= type == STT_TLS;
	if (type == STT_TLS || !sym->st_size)
		return;
	v->failed |= !config_add_range(&v->v, &v->n, &v->room, 0, sym->st_value, sym->st_value + sym->st_size);
}

static void look_into(struct variables *v, Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	GElf_Sym sym;
	bool all = false;

	/* .symtab has what .dynsym has */
	while ((scn = elf_nextscn(elf, scn)))
		all |= gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_SYMTAB;
	for (scn = NULL; (scn = elf_nextscn(elf, scn));) {
		Elf_Data *data = gelf_getshdr(scn, &shdr) && shdr.sh_type == (all ? SHT_SYMTAB : SHT_DYNSYM)
					 ? elf_getdata(scn, NULL)
					 : NULL;

		for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
			const char *name = elf_strptr(elf, shdr.sh_link, sym.st_name);

			if (name)
				look_at(v, name, &sym);
		}
	}
}

static void find(struct config_search *s, const char *name, struct variables *v)
{
	int fd = open(s->f->v[0].path, O_RDONLY | O_CLOEXEC);
	Elf *elf = fd >= 0 && elf_version(EV_CURRENT) != EV_NONE ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;

	*v = (struct variables){ .name = name };
	if (elf)
		look_into(v, elf);
	elf_end(elf);
	if (fd >= 0)
		close(fd);
}

static int add(struct config_found *found, const struct variables *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (!config_add_range(&found->variables, &found->nvariables, &found->variables_room, 0, v->v[i].lo, v->v[i].hi))
			return config_no_memory();
	return 0;
}

/* "a", or "a.b": which may be a static variable's symbol, too. */
static int find_plain(struct config_search *s, const struct config_variable *variable, const struct config_mark *at)
{
	const char *name = variable->name;
	size_t base = strcspn(name, ".[");
	struct variables whole, of_field = { .n = 0 };
	char *base_name = name[base] ? strndup(name, base) : NULL;
	int status;

	find(s, name, &whole);
	if (!whole.n && base_name)
		find(s, base_name, &of_field);
	if (whole.failed || of_field.failed || (name[base] && !base_name))
		status = config_no_memory();
	else if (whole.n)
		status = add(s->found, &whole);
	else if (of_field.n)
		status = config_find_field(s, name, at, of_field.v, of_field.n);
	else
		status = config_find_named(s, variable, at, base_name ? &of_field.near : &whole.near, whole.of_thread || of_field.of_thread);
	free(whole.v);
	free(of_field.v);
	free(base_name);
	return status;
}

int config_find_variable(struct config_search *s, const char *text, const struct config_mark *at)
{
	struct near_names none = { 0 };
	struct config_variable v;
	const char *wrong = config_variable_parse(&v, text);
	int status;

	if (wrong)
		return config_error(s->f->config, at, "%s: %s", text, wrong);
	status = v.kind == CONFIG_PLAIN ? find_plain(s, &v, at) : config_find_named(s, &v, at, &none, false);
	config_variable_free(&v);
	return status;
}
