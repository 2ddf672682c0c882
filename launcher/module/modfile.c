/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a module's description from its file. */
#include "launcher/module/modfile.h"
#include "injector/image/elfimage.h"
#include "launcher/common/message.h"
#include "sonde/abi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ENTRIES 65536 /* wraps or sites of one module */

static int bad(const char *path, const char *why)
{
	msg_error("%s: not usable as a module: %s", path, why);
	return EXIT_USAGE;
}

/* The image is laid out for address 0, so that its pointers are offsets into it. */
static uint64_t addr(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

/* Length of an array between two of the image's addresses, or false. */
static bool array_size(const struct inj_image *img, const void *begin, const void *end, size_t *n)
{
	uint64_t len = addr(end) - addr(begin);

	*n = len / sizeof(void *);
	return addr(begin) <= addr(end) && len % sizeof(void *) == 0 && *n <= MAX_ENTRIES &&
	       inj_image_at(img, addr(begin), len);
}

static char *copy_string(const struct inj_image *img, const char *s)
{
	const char *text = s ? inj_image_string(img, addr(s)) : NULL;

	return text ? strdup(text) : NULL;
}

static bool read_wraps(const struct inj_image *img, const struct sonde_module *sm,
		       struct modfile *m)
{
	size_t n;

	if (!array_size(img, sm->wraps_begin, sm->wraps_end, &n))
		return false;
	m->wraps = calloc(n + 1, sizeof(*m->wraps));
	if (!m->wraps)
		return false;
	for (size_t i = 0; i < n; i++) {
		const void *p = inj_image_at(img, addr(sm->wraps_begin + i), sizeof(uint64_t));
		uint64_t where;
		struct sonde_wrap wrap;

		memcpy(&where, p, sizeof(where));
		p = inj_image_at(img, where, sizeof(wrap));
		if (!p)
			return false;
		memcpy(&wrap, p, sizeof(wrap));
		m->wraps[i].symbol = copy_string(img, wrap.symbol);
		m->wraps[i].optional = wrap.flags & SONDE_WRAP_OPTIONAL;
		m->nwraps = i + 1;
		if (!m->wraps[i].symbol)
			return false;
	}
	return true;
}

static bool read_memory(const struct inj_image *img, const struct sonde_module *sm,
			struct modfile *m)
{
	size_t n;

	if (!array_size(img, sm->memory_begin, sm->memory_end, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		const void *p = inj_image_at(img, addr(sm->memory_begin + i), sizeof(uint64_t));
		struct sonde_memory_hook hook;
		uint64_t where;

		memcpy(&where, p, sizeof(where));
		p = inj_image_at(img, where, sizeof(hook));
		if (!p)
			return false;
		memcpy(&hook, p, sizeof(hook));
		m->merges |= sm->flags & SONDE_MODULE_MERGE && hook.merge;
		m->keeps_memory |= hook.flags & SONDE_MEMORY_TRACE;
		m->profiles_memory |= !!(hook.flags & SONDE_MEMORY_PROFILE);
		m->simulates_caches |= !!(hook.flags & SONDE_MEMORY_CACHES);
		m->finds_sharing |= !!(hook.flags & SONDE_MEMORY_SHARING);
		m->nmemory += hook.batch || hook.counts || hook.end;
	}
	return true;
}

/* What modules of before do not have stays 0. */
static bool get_description(const struct inj_image *img, uint64_t vaddr, struct sonde_module *sm)
{
	const void *p = inj_image_at(img, vaddr, SONDE_MODULE_LEAST);

	*sm = (struct sonde_module){ 0 };
	if (!p)
		return false;
	memcpy(sm, p, SONDE_MODULE_LEAST);
	if (sm->magic != SONDE_MODULE_MAGIC || !(sm->flags & SONDE_MODULE_MEMORY))
		return true;
	p = inj_image_at(img, vaddr, sizeof(*sm));
	if (p)
		memcpy(sm, p, sizeof(*sm));
	return p != NULL;
}

static int read_description(const char *path, const struct inj_image *img, struct modfile *m)
{
	struct sonde_module sm;
	uint64_t vaddr;

	if (inj_image_symbol(img, "sonde_module", &vaddr))
		return bad(path, "it has no SONDE_MODULE(name, description)");
	if (!get_description(img, vaddr, &sm) || sm.magic != SONDE_MODULE_MAGIC)
		return bad(path, "its description is damaged");
	if (sm.abi != SONDE_ABI_VERSION)
		return bad(path, "it was compiled for another version of Sonde; compile it again");
	m->name = copy_string(img, sm.name);
	m->description = copy_string(img, sm.description);
	m->needs = copy_string(img, sm.needs);
	if (!m->name || !m->description || (sm.needs && !m->needs) || !read_wraps(img, &sm, m) ||
	    !array_size(img, sm.sites_begin, sm.sites_end, &m->nsites) ||
	    !array_size(img, sm.start_begin, sm.start_end, &m->nstart) ||
	    !array_size(img, sm.exit_begin, sm.exit_end, &m->nexit) || !read_memory(img, &sm, m))
		return bad(path, "its description is damaged");
	return 0;
}

/* Unsupported relocations (thread-local variables) are no hindrance where there is a linker. */
static int relocate(const char *path, struct inj_image *img, struct modfile *m)
{
	struct inj_undefined undefined;
	enum inj_image_status status = inj_image_relocate(img, 0, NULL, NULL, &undefined);

	if (undefined.n)
		m->undefined = strdup(undefined.names[0]);
	else if (status == INJ_IMAGE_RELOC)
		m->undefined = strdup("thread-local variables");
	inj_undefined_free(&undefined);
	m->needs_libc = status == INJ_IMAGE_UNDEFINED || status == INJ_IMAGE_RELOC || m->undefined;
	if (status && !m->needs_libc)
		return bad(path, inj_image_text(status));
	return 0;
}

int modfile_read(const char *path, const char *name, struct modfile *m)
{
	struct inj_image img;

	*m = (struct modfile){ 0 };
	enum inj_image_status opened = inj_image_open(path, &img);
	if (opened == INJ_IMAGE_IO) {
		msg_error("%s: cannot be read: %m", name);
		return EXIT_USAGE;
	}
	if (opened)
		return bad(name, inj_image_text(opened));
	int status = relocate(name, &img, m);
	if (!status)
		status = read_description(name, &img, m);
	inj_image_close(&img);
	if (!status) {
		m->path = realpath(path, NULL);
		m->spec = strdup(name);
		if (!m->path || !m->spec)
			status = bad(name, strerror(errno));
	}
	if (status)
		modfile_free(m);
	return status;
}

bool modfile_takes_memory(const struct modfile *m)
{
	return m->nmemory || m->keeps_memory || m->profiles_memory || m->simulates_caches || m->finds_sharing;
}

bool modfile_wraps(const struct modfile *m)
{
	return m->nwraps || m->nstart || m->nexit || !modfile_takes_memory(m);
}

void modfile_free(struct modfile *m)
{
	for (size_t i = 0; i < m->nwraps; i++)
		free(m->wraps[i].symbol);
	free(m->wraps);
	free(m->path);
	free(m->spec);
	free(m->name);
	free(m->description);
	free(m->needs);
	free(m->undefined);
	*m = (struct modfile){ 0 };
}

void modfile_list_free(struct modfile_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		modfile_free(&list->v[i]);
	free(list->v);
	*list = (struct modfile_list){ 0 };
}
