// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Modules: what they wrap and record is read from the file, relocated for the address where the
 * module is in the program, so that its structures can be walked here and addresses in them are the
 * program's.  What the module is to know (ids, originals, the runtime's functions) is set in this
 * copy and written back.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "injector/guest/guest.h"
#include "injector/patch/session.h"

static enum inj_status open_module(struct inj_module *m)
{
	struct inj_known *known = inj_known_file(m->path);
	bool opened = known && inj_known_image(known, m->path, &m->image) == INJ_IMAGE_OK;

	inj_known_leave(known);
	if (!opened || inj_image_symbol(&m->image, "sonde_module", &m->desc) != INJ_IMAGE_OK)
		return INJ_BAD_IMAGE;
	return INJ_OK;
}

enum inj_status inj_modules_open(struct inj_session *s)
{
	enum inj_status status = INJ_OK;

	s->modules = calloc(s->opt.nmodules + 1, sizeof(*s->modules));
	if (!s->modules)
		return INJ_MEMORY;
	for (size_t i = 0; i < s->opt.nmodules && status == INJ_OK; i++) {
		struct inj_module *m = &s->modules[i];

		m->path = strdup(s->opt.modules[i]);
		if (!m->path)
			return INJ_MEMORY;
		s->nmodules++;
		status = open_module(m);
	}
	return status;
}

/* ---- walking a relocated image ---- */

static const void *at(const struct inj_module *m, const void *addr, size_t len)
{
	return inj_image_at(&m->image, (uint64_t)(uintptr_t)addr - m->base, len);
}

/* Ours, as long as the image is. */
static const char *string(const struct inj_module *m, const char *addr)
{
	return addr ? inj_image_string(&m->image, (uint64_t)(uintptr_t)addr - m->base) : NULL;
}

static char *copy_string(const struct inj_module *m, const char *addr)
{
	const char *str = string(m, addr);

	return str ? strdup(str) : NULL;
}

static const struct sonde_module *describe(const struct inj_module *m)
{
	const struct sonde_module *d = inj_image_at(&m->image, m->desc, SONDE_MODULE_LEAST);

	if (!d || d->magic != SONDE_MODULE_MAGIC || d->abi != SONDE_ABI_VERSION)
		return NULL;
	return d;
}

static enum inj_status read_wrap(struct inj_session *s, size_t module, const void *addr)
{
	const struct inj_module *m = &s->modules[module];
	const struct sonde_wrap *w = at(m, addr, sizeof(*w));
	struct inj_wrap *out = &s->wraps[s->nwraps];

	if (!w)
		return INJ_BAD_IMAGE;
	*out = (struct inj_wrap){ .module = module, .flags = w->flags };
	out->symbol = string(m, w->symbol);
	out->function = string(m, w->function);
	out->wrapper = (uint64_t)(uintptr_t)w->wrapper;
	out->real = (uint64_t)(uintptr_t)w->real;
	s->nwraps++;
	return out->symbol && out->function ? INJ_OK : INJ_BAD_IMAGE;
}

static enum inj_status read_wraps(struct inj_session *s, size_t module)
{
	const struct inj_module *m = &s->modules[module];
	const struct sonde_module *d = describe(m);
	size_t n = (size_t)(d->wraps_end - d->wraps_begin);
	struct sonde_wrap *const *list = at(m, d->wraps_begin, n * sizeof(*list));
	enum inj_status status = list || !n ? INJ_OK : INJ_BAD_IMAGE;
	struct inj_wrap *v = status == INJ_OK ? reallocarray(s->wraps, s->nwraps + n + 1, sizeof(*v)) : NULL;

	if (status == INJ_OK && !v)
		return INJ_MEMORY;
	if (v)
		s->wraps = v;
	for (size_t i = 0; i < n && status == INJ_OK; i++)
		status = read_wrap(s, module, list[i]);
	return status;
}

/* ---- sites ---- */

/* Sites of one wrapper follow each other: @last is the one that was found before, or -1. */
static long wrap_of(const struct inj_session *s, size_t module, const char *function, long last)
{
	if (last >= 0 && s->wraps[last].module == module && strcmp(s->wraps[last].function, function) == 0)
		return last;
	for (size_t i = 0; i < s->nwraps; i++)
		if (s->wraps[i].module == module && strcmp(s->wraps[i].function, function) == 0)
			return (long)i;
	return -1;
}

static enum inj_status read_fields(const struct inj_module *m, const struct sonde_field *addr,
				   struct inj_event *e)
{
	struct inj_field v[SONDE_MAX_FIELDS];
	const struct sonde_field *f;

	for (; addr && e->nfields < SONDE_MAX_FIELDS; addr++, e->nfields++) {
		f = at(m, addr, sizeof(*f));
		if (!f)
			return INJ_BAD_IMAGE;
		if (f->type == SONDE_T_END)
			break;
		v[e->nfields] = (struct inj_field){ .name = string(m, f->name), .type = (uint32_t)f->type };
		if (!v[e->nfields].name)
			return INJ_BAD_IMAGE;
	}
	if (!e->nfields)
		return INJ_OK;
	e->fields = malloc(e->nfields * sizeof(*v));
	if (!e->fields)
		return INJ_MEMORY;
	memcpy(e->fields, v, e->nfields * sizeof(*v));
	return INJ_OK;
}

static uint32_t give_id(struct inj_session *s, uint32_t kind)
{
	if (kind == SONDE_COUNTER)
		return s->next_counter < SONDE_MAX_COUNTERS ? s->next_counter++ : 0;
	return s->next_event < SONDE_MAX_EVENTS ? s->next_event++ : 0;
}

/* Two counters of one name in a module are one counter. */
static uint32_t known_counter(const struct inj_session *s, const struct inj_event *e)
{
	for (size_t i = 0; i < s->nevents; i++) {
		const struct inj_event *o = &s->events[i];

		if (o->kind == SONDE_COUNTER && o->module == e->module && o->name && e->name &&
		    strcmp(o->name, e->name) == 0)
			return o->id;
	}
	return 0;
}

static enum inj_status read_site(struct inj_session *s, size_t module, struct sonde_site *site)
{
	const struct inj_module *m = &s->modules[module];
	struct inj_event e = { .kind = site->kind, .module = module };
	enum inj_status status;

	e.function = string(m, site->function); /* __func__ there */
	e.name = string(m, site->name);
	status = e.function ? read_fields(m, site->fields, &e) : INJ_BAD_IMAGE;
	if (status != INJ_OK)
		return status;
	e.wrap = wrap_of(s, module, e.function, s->nevents ? s->events[s->nevents - 1].wrap : -1);
	if (e.kind == SONDE_COUNTER)
		e.id = known_counter(s, &e);
	if (!e.id)
		e.id = give_id(s, e.kind);
	site->id = e.id;
	s->events[s->nevents++] = e;
	return INJ_OK;
}

static enum inj_status read_sites(struct inj_session *s, size_t module)
{
	const struct inj_module *m = &s->modules[module];
	const struct sonde_module *d = describe(m);
	size_t n = (size_t)(d->sites_end - d->sites_begin);
	struct sonde_site *const *list = at(m, d->sites_begin, n * sizeof(*list));
	enum inj_status status = list || !n ? INJ_OK : INJ_BAD_IMAGE;
	struct inj_event *v = status == INJ_OK ? reallocarray(s->events, s->nevents + n + 1, sizeof(*v)) : NULL;

	if (status == INJ_OK && !v)
		return INJ_MEMORY;
	if (v)
		s->events = v;
	for (size_t i = 0; i < n && status == INJ_OK; i++) {
		struct sonde_site *site = (void *)(uintptr_t)at(m, list[i], sizeof(*site));

		status = site ? read_site(s, module, site) : INJ_BAD_IMAGE;
	}
	return status;
}

/* ---- activation ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool inj_is_mapped(const struct inj_session *s, const char *soname, size_t len)
{
	for (size_t i = 0; i < s->nobjects; i++) {
		const char *name = s->objects[i].path[0] ? base_name(s->objects[i].name) : "";

		if (strncmp(name, soname, len) == 0 && name[len] == '\0')
			return true;
	}
	return false;
}

/* Linked into the program, or another object: by its symbols, or by signatures. */
static bool has_function(struct inj_session *s, const char *name, size_t len)
{
	char *text = strndup(name, len);
	bool found = false;

	for (size_t i = 0; text && !found && i < s->nobjects; i++) {
		struct inj_symtab *tab = s->objects[i].path[0] ? inj_object_symbols(&s->objects[i]) : NULL;

		found = tab && inj_symtab_find(tab, text, NULL);
	}
	free(text);
	return found;
}

/* Words: a library that is loaded, or "function()". */
static bool needs_met(struct inj_session *s, const char *needs)
{
	if (!needs)
		return true;
	for (const char *p = needs; *p;) {
		size_t n = strcspn(p, " ");

		if (n > 2 && strncmp(p + n - 2, "()", 2) == 0 ? has_function(s, p, n - 2) : n && inj_is_mapped(s, p, n))
			return true;
		p += n + strspn(p + n, " ");
	}
	return false;
}

bool inj_find_exported(void *arg, const char *name, uint64_t *addr)
{
	struct inj_session *s = arg;

	for (size_t i = 0; i < s->nobjects; i++) {
		struct inj_object *o = &s->objects[i];
		struct inj_symtab *tab = o->path[0] ? inj_object_symbols(o) : NULL;
		const struct inj_symbol *sym = tab ? inj_symtab_find(tab, name, NULL) : NULL;

		if (sym && sym->flags & INJ_SYM_GLOBAL && !(sym->flags & INJ_SYM_IFUNC))
			*addr = sym->addr;
		else if (!tab || !inj_symtab_object(tab, name, addr))
			continue;
		*addr += o->base;
		return true;
	}
	return false;
}

/* By our own loader. */
static enum inj_status map_module(struct inj_session *s, struct inj_module *m)
{
	struct inj_undefined undefined = { 0 };
	enum inj_status status = inj_load_image(s, &m->image, &m->base, s->opt.is_static ? NULL : inj_find_exported, &undefined);

	if (status != INJ_OK && !s->opt.own_loader)
		status = INJ_BAD_IMAGE;
	else if (undefined.n)
		s->opt.warn("module %s needs %s, which the process has not mapped, or chooses at its start by the processor: write it "
			    "against sonde/module.h alone", m->path, undefined.names[0]);
	else if (status == INJ_BAD_IMAGE)
		s->opt.warn("module %s cannot be put into a program that does not load it itself", m->path);
	if (s->opt.own_loader && (undefined.n || status == INJ_BAD_IMAGE))
		status = INJ_NOT_SUPPORTED;
	inj_undefined_free(&undefined);
	m->mapped = m->ours = status == INJ_OK;
	return status;
}

static enum inj_status relocate_mapped(struct inj_module *m)
{
	switch (inj_image_relocate(&m->image, m->base, NULL, NULL, NULL)) {
	case INJ_IMAGE_OK:
	case INJ_IMAGE_UNDEFINED: /* the dynamic linker's business, and already done */
	case INJ_IMAGE_RELOC:
		return INJ_OK;
	default:
		return INJ_BAD_IMAGE;
	}
}

/* Where the dynamic linker has put it; in a static program, and in a process that runs already, we do. */
static enum inj_status place(struct inj_session *s, struct inj_module *m)
{
	if (m->mapped && inj_is_guest(s, (size_t)(m - s->modules)))
		return relocate_mapped(m);
	if (m->mapped)
		return INJ_OK;
	if (s->opt.is_static || s->opt.own_loader)
		return map_module(s, m);
	for (size_t i = 0; i < s->nobjects && !m->mapped; i++) {
		if (strcmp(s->objects[i].name, m->path) != 0)
			continue;
		m->base = s->objects[i].base;
		m->mapped = true;
	}
	return m->mapped ? relocate_mapped(m) : INJ_OK;
}

static uint32_t no_id;

struct range {
	uint64_t lo, hi;
};

static void cover(struct range *r, uint64_t addr, uint64_t len)
{
	if (r->hi == 0 || addr < r->lo)
		r->lo = addr;
	if (addr + len > r->hi)
		r->hi = addr + len;
}

static void set_word(struct inj_module *m, struct range *r, uint64_t addr, uint64_t value)
{
	void *p = inj_image_at(&m->image, addr - m->base, 8);

	if (!p)
		return;
	memcpy(p, &value, 8);
	cover(r, addr, 8);
}

/* The same word by word: its constructors have run, and changed what lies between. */
static enum inj_status write_words(struct inj_session *s, const struct inj_module *m, struct sonde_site *const *list, size_t n)
{
	const struct sonde_module *d = describe(m);
	struct inj_span *v = calloc(n + 1, sizeof(*v));
	enum inj_status status;

	if (!v)
		return INJ_MEMORY;
	for (size_t i = 0; i < n; i++) {
		const struct sonde_site *site = at(m, list[i], sizeof(*site));

		v[i] = (struct inj_span){ (uint64_t)(uintptr_t)&list[i]->id, (void *)(uintptr_t)(site ? &site->id : &no_id),
					  sizeof(site->id) };
	}
	v[n] = (struct inj_span){ (uint64_t)(uintptr_t)d->api, &s->rt_api, sizeof(s->rt_api) };
	status = inj_write_spans(s->target, v, n + 1);
	free(v);
	return status;
}

/*
 * Writes ids and the runtime's functions into the program: one range of the module's data, from
 * the first to the last of them.  Nothing of the module has run yet, so what lies between is as in
 * the file.
 */
static enum inj_status write_data(struct inj_session *s, size_t module)
{
	struct inj_module *m = &s->modules[module];
	const struct sonde_module *d = describe(m);
	size_t n = (size_t)(d->sites_end - d->sites_begin);
	struct sonde_site *const *list = at(m, d->sites_begin, n * sizeof(*list));
	struct range r = { 0, 0 };

	set_word(m, &r, (uint64_t)(uintptr_t)d->api, s->rt_api);
	if (inj_is_guest(s, module))
		return write_words(s, m, list, n);
	for (size_t i = 0; i < n; i++)
		cover(&r, (uint64_t)(uintptr_t)list[i], sizeof(struct sonde_site));
	if (r.hi == 0 || !inj_image_at(&m->image, r.lo - m->base, r.hi - r.lo))
		return INJ_BAD_IMAGE;
	return inj_write(s->target, r.lo, inj_image_at(&m->image, r.lo - m->base, r.hi - r.lo),
			 r.hi - r.lo);
}

static enum inj_status activate(struct inj_session *s, size_t module)
{
	struct inj_module *m = &s->modules[module];
	const struct sonde_module *d;
	enum inj_status status = place(s, m);

	if (status != INJ_OK || !m->mapped)
		return status;
	d = describe(m);
	if (!d)
		return INJ_BAD_IMAGE;
	if (!m->name) {
		m->name = copy_string(m, d->name);
		m->description = copy_string(m, d->description);
		m->needs = copy_string(m, d->needs);
		if (!m->name)
			return INJ_BAD_IMAGE;
	}
	if (!needs_met(s, m->needs))
		return INJ_OK;
	status = read_wraps(s, module);
	if (status == INJ_OK)
		status = read_sites(s, module);
	if (status == INJ_OK)
		status = write_data(s, module);
	m->active = status == INJ_OK;
	return status;
}

enum inj_status inj_modules_activate(struct inj_session *s)
{
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < s->nmodules && status == INJ_OK; i++)
		if (!s->modules[i].active)
			status = activate(s, i);
	return status;
}

enum inj_status inj_modules_silence(struct inj_session *s, struct inj_target *t)
{
	struct inj_span *v = calloc(s->nwraps + s->nevents + 1, sizeof(*v));
	enum inj_status status = INJ_OK;
	size_t n = 0;

	if (!v)
		return INJ_MEMORY;
	for (size_t i = 0; i < s->nmodules; i++) {
		const struct inj_module *m = &s->modules[i];
		const struct sonde_module *d = m->active ? describe(m) : NULL;
		size_t sites = d ? (size_t)(d->sites_end - d->sites_begin) : 0;
		struct sonde_site *const *list = sites ? at(m, d->sites_begin, sites * sizeof(*list)) : NULL;

		for (size_t k = 0; list && k < sites && n < s->nevents; k++)
			v[n++] = (struct inj_span){ (uint64_t)(uintptr_t)&list[k]->id, &no_id, sizeof(no_id) };
	}
	for (size_t i = 0; i < s->nwraps; i++)
		if (s->wraps[i].state == INJ_WRAP_ACTIVE)
			v[n++] = (struct inj_span){ s->wraps[i].real, &s->wraps[i].addr, sizeof(s->wraps[i].addr) };
	if (n)
		status = inj_write_spans(t, v, n);
	free(v);
	return status;
}

void inj_modules_free(struct inj_session *s)
{
	for (size_t i = 0; i < s->nmodules; i++) {
		struct inj_module *m = &s->modules[i];

		inj_image_close(&m->image);
		free(m->path);
		free(m->name);
		free(m->description);
		free(m->needs);
	}
	free(s->modules);
	free(s->wraps);
	for (size_t i = 0; i < s->nevents; i++)
		free(s->events[i].fields);
	free(s->events);
}
