// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The ELF files in the program's memory, from the dynamic linker's own list (struct r_debug and
 * link_map of <link.h>), in the order in which it searches them.
 */
#include "config.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "injector/image/elffile.h"
#include "injector/mirror/first.h"
#include "injector/process/maps.h"
#include "injector/process/procpath.h"
#include "injector/patch/session.h"

#define MAX_OBJECTS 65536 /* a list that is longer than this is a loop */

struct link_map_words {
	uint64_t addr, name, ld, next, prev;
};

static struct inj_object *add_object(struct inj_session *s)
{
	struct inj_object *v = realloc(s->objects, (s->nobjects + 1) * sizeof(*v));

	if (!v)
		return NULL;
	s->objects = v;
	v = &s->objects[s->nobjects++];
	memset(v, 0, sizeof(*v));
	v->fd = -1;
	return v;
}

static bool is_module_path(const struct inj_session *s, const char *path)
{
	for (size_t i = 0; i < s->opt.nmodules; i++)
		if (strcmp(s->opt.modules[i], path) == 0)
			return true;
	return false;
}

/* A relative name means something only to the program: the kernel knows the file.  @path: PATH_MAX bytes. */
static bool mapped_path(struct inj_session *s, uint64_t addr, char *path)
{
	const struct inj_map *m = NULL;
	struct inj_maps maps;

	if (inj_maps_read(s->target->pid, &maps) != INJ_OK)
		return false;
	m = inj_maps_find(&maps, addr);
	if (m && m->path[0] == '/')
		snprintf(path, PATH_MAX, "%s", m->path);
	inj_maps_free(&maps);
	return path[0] == '/';
}

/* ELF's headers and, as a rule, the build-id. */
#define FIRST_BYTES 1024

/* Is the file at @path the one whose first bytes are at @base in the program? */
static bool is_mapped(struct inj_session *s, uint64_t base, const char *path)
{
	uint8_t memory[FIRST_BYTES], file[FIRST_BYTES];
	size_t n = inj_read_some(s->target, base, memory, sizeof(memory));
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool same = fd >= 0 && n > EI_NIDENT && pread(fd, file, n, 0) == (ssize_t)n && memcmp(memory, file, n) == 0;

	if (fd >= 0)
		close(fd);
	return same;
}

/*
 * How we can open what the program has loaded from @path: its root may be another one, and /proc/self is itself.  Left as it is
 * if that is no better.
 */
static void find_file(struct inj_session *s, uint64_t base, char *path)
{
	static const char self[] = "/proc/self/";
	bool itself = strncmp(path, self, sizeof(self) - 1) == 0;
	char other[PATH_MAX], begin[INJ_PROC_PATH];
	int n;

	if (is_mapped(s, base, path))
		return;
	inj_proc_path(begin, s->target->pid, itself ? "" : "root");
	n = snprintf(other, sizeof(other), "%s%s", begin, itself ? path + sizeof(self) - 1 : path);
	if (n < (int)sizeof(other) && is_mapped(s, base, other))
		memcpy(path, other, (size_t)n + 1);
}

/* May functions of it be recorded without a module?  Then by all the names that `sonde list` knows. */
static bool has_recorded(const struct inj_session *s, const struct inj_object *o)
{
	const struct inj_mirror_options *opt = &s->opt.mirror;

	return opt->enabled && !o->is_module && opt->want_object(opt->arg, o);
}

static enum inj_status note_object(struct inj_session *s, const struct link_map_words *m,
				   const char *name, bool first)
{
	const char *path = first ? s->opt.elf_path : name;
	char file[PATH_MAX] = "", open_by[PATH_MAX];
	struct inj_object *o;

	for (size_t i = 0; i < s->nobjects; i++) {
		o = &s->objects[i];
		if (o->path[0] && o->base == m->addr && o->ld == m->ld && strcmp(o->name, path) == 0) {
			o->seen = true;
			return INJ_OK;
		}
	}
	if (!first && name[0] != '/' && !mapped_path(s, m->ld, file))
		return INJ_OK; /* the vDSO */
	snprintf(open_by, sizeof(open_by), "%s", file[0] ? file : path);
	if (!first)
		find_file(s, m->addr, open_by);
	if (!file[0] && (strncmp(path, "/proc/", 6) != 0 || !mapped_path(s, m->ld, file)))
		snprintf(file, sizeof(file), "%s", path);
	o = add_object(s);
	if (!o)
		return INJ_MEMORY;
	o->path = strdup(open_by);
	o->file = strdup(file);
	o->name = strdup(path);
	if (!o->path || !o->file || !o->name)
		return INJ_MEMORY;
	o->base = m->addr;
	o->ld = m->ld;
	o->seen = true;
	o->is_main = first;
	o->is_module = is_module_path(s, path);
	o->is_linker = !first && s->interp_base && m->addr == s->interp_base;
	o->debug_file = first || has_recorded(s, o);
	return INJ_OK;
}

static void forget_wraps(struct inj_session *s, size_t object)
{
	for (size_t i = 0; i < s->nwraps; i++) {
		struct inj_wrap *w = &s->wraps[i];

		if (w->state == INJ_WRAP_PENDING || w->object != object)
			continue;
		w->state = INJ_WRAP_PENDING;
		w->addr = 0;
		w->ifunc = false;
	}
}

/* A library that is gone leaves its place: indices stay valid. */
static enum inj_status drop_unseen(struct inj_session *s)
{
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < s->nobjects && status == INJ_OK; i++) {
		struct inj_object *o = &s->objects[i];

		if (o->seen || !o->path[0])
			continue;
		forget_wraps(s, i);
		inj_edits_forget(&s->edits, i);
		o->path[0] = '\0';
		if (!o->facts) { /* which use its names */
			inj_known_leave(o->known);
			o->known = NULL;
			o->symtab = NULL;
		}
		o->done = true;
		o->mirrored = true;
		status = inj_first_forget(s, i);
	}
	return status;
}

enum inj_status inj_objects_read(struct inj_session *s)
{
	struct {
		int32_t version;
		uint64_t map, brk;
		int32_t state;
	} r;
	struct link_map_words m;
	enum inj_status status = inj_read(s->target, s->config.r_debug, &r, sizeof(r));
	char name[PATH_MAX];
	size_t n = 0;

	for (size_t i = 0; i < s->nobjects; i++)
		s->objects[i].seen = false;
	for (uint64_t at = r.map; status == INJ_OK && at && n < MAX_OBJECTS; at = m.next, n++) {
		status = inj_read(s->target, at, &m, sizeof(m));
		if (status != INJ_OK)
			break;
		if (inj_read_string(s->target, m.name, name, sizeof(name)) != INJ_OK)
			name[0] = '\0';
		status = note_object(s, &m, name, n == 0);
	}
	return status == INJ_OK ? drop_unseen(s) : status;
}

/* An object that is in no dynamic linker's list. */
static enum inj_status add_fixed(struct inj_session *s, const char *path, uint64_t base)
{
	struct inj_object *o = add_object(s);

	if (!o)
		return INJ_MEMORY;
	o->path = strdup(path);
	o->file = strdup(path);
	o->name = strdup(path);
	o->base = base;
	o->seen = true;
	return o->path && o->file && o->name ? INJ_OK : INJ_MEMORY;
}

/* Where the program starts says where it was loaded. */
enum inj_status inj_objects_static(struct inj_session *s)
{
	enum inj_status status;
	struct inj_elf file;

	status = inj_elf_open(s->opt.elf_path, &file);
	if (status != INJ_OK)
		return status;
	status = add_fixed(s, s->opt.elf_path, inj_auxv(s->target->pid, AT_ENTRY) - file.entry);
	inj_elf_close(&file);
	if (status != INJ_OK)
		return status;
	s->objects[0].is_main = s->objects[0].debug_file = true;
	return s->opt.interp ? add_fixed(s, s->opt.interp, inj_auxv(s->target->pid, AT_BASE)) : INJ_OK;
}

bool inj_object_is_libc(const struct inj_object *o)
{
	static const char *const begins[] = { "libc.", "libc-", "ld-musl", "klibc-" };
	const char *name = strrchr(o->path, '/');

	name = name ? name + 1 : o->path;
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (strncmp(name, begins[i], strlen(begins[i])) == 0)
			return true;
	return o->is_main;
}

struct inj_known *inj_object_known(struct inj_object *o)
{
	if (!o->known && o->path[0])
		o->known = inj_known_file(o->path);
	return o->known;
}

struct inj_symtab *inj_object_symbols(struct inj_object *o)
{
	struct inj_known *known = o->symtab ? NULL : inj_object_known(o);

	if (known && o->path[0])
		o->symtab = inj_known_symbols(known, o->path, o->debug_file);
	return o->symtab;
}

/* Without file descriptors nothing can be written any more: half of them are left. */
void inj_object_hold(struct inj_object *o)
{
	struct rlimit limit;

	if (o->fd < 0)
		o->fd = open(o->path, O_RDONLY | O_CLOEXEC);
	if (o->fd < 0 || (getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)o->fd < limit.rlim_cur / 2))
		return;
	close(o->fd);
	o->fd = -1;
}

void inj_objects_free(struct inj_session *s)
{
	for (size_t i = 0; i < s->nobjects; i++) {
		inj_known_leave(s->objects[i].known);
		if (s->objects[i].fd >= 0)
			close(s->objects[i].fd);
		free(s->objects[i].path);
		free(s->objects[i].file);
		free(s->objects[i].name);
	}
	free(s->objects);
	s->objects = NULL;
	s->nobjects = 0;
}
