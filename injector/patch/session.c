// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <elf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "injector/image/elffile.h"
#include "injector/patch/attach.h"
#include "injector/patch/preload.h"
#include "injector/guest/guest.h"
#include "injector/mirror/planners.h"
#include "injector/patch/session.h"
#include "injector/process/maps.h"
#include "runtime/image.h"

static enum inj_status open_runtime(struct inj_image *img)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct inj_image runtime;
	size_t bytes = (size_t)(sonde_runtime_image_end - sonde_runtime_image);
	enum inj_image_status status = INJ_IMAGE_OK;

	pthread_mutex_lock(&lock);
	if (!runtime.mem)
		status = inj_image_parse(sonde_runtime_image, bytes, &runtime);
	if (status == INJ_IMAGE_OK)
		status = inj_image_copy(&runtime, img);
	pthread_mutex_unlock(&lock);
	return status == INJ_IMAGE_OK ? INJ_OK : INJ_BAD_IMAGE;
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_ino : 0;
}

enum inj_status inj_session_new(struct inj_session *s, const struct inj_session_options *opt)
{
	enum inj_status status;

	memset(s, 0, sizeof(*s));
	s->opt = *opt;
	if (!s->opt.threads)
		s->opt.threads = inj_processors();
	s->next_event = SONDE_FIRST_EVENT;
	s->next_counter = 1;
	s->code.fd = s->code.shm = -1;
	status = open_runtime(&s->runtime_image);
	if (status == INJ_OK)
		status = inj_modules_open(s);
	if (status == INJ_OK)
		status = inj_code_create(&s->code, opt->code_bytes, opt->for_perf);
	s->shared[0] = inode_of(s->code.fd);
	s->shared[1] = inode_of(opt->ring_fd);
	s->shared[2] = inode_of(opt->alive_fd);
	s->shared[3] = inode_of(opt->compiled_fd);
	return status;
}

void inj_session_free(struct inj_session *s)
{
	inj_mirrors_free(s);
	inj_objects_free(s);
	inj_modules_free(s);
	inj_code_free(&s->code);
	inj_image_close(&s->runtime_image);
	tramp_checker_free(s->checker);
	inj_edits_free(&s->edits);
	inj_edits_free(&s->attach.held);
	inj_leftovers_free(s->attach.left);
	if (s->attach.active)
		inj_target_close(&s->attach.target);
	memset(s, 0, sizeof(*s));
}

/* ---- beginning ---- */

static enum inj_status set_bases(struct inj_session *s)
{
	struct user_regs_struct regs;
	enum inj_status status = inj_tracee_regs(s->tracee, &regs);

	if (status != INJ_OK)
		return status;
	if (regs.gs_base != 0) {
		s->opt.warn("the program uses the GS register for itself and cannot be traced");
		return INJ_NOT_SUPPORTED;
	}
	regs.gs_base = s->config.nobody;
	if (s->opt.is_static)
		regs.fs_base = s->config.pre_tls;
	return inj_tracee_set_regs(s->tracee, &regs);
}

/* Addresses of the dynamic linker's debugger interface. */
bool inj_find_linker(struct inj_session *s)
{
	const struct inj_symbol *stop;
	struct inj_known *linker;
	struct inj_symtab *tab;
	uint64_t data = 0;

	s->interp_base = inj_auxv(s->target->pid, AT_BASE);
	linker = s->interp_base ? inj_known_file(s->opt.interp) : NULL;
	tab = linker ? inj_known_symbols(linker, s->opt.interp, false) : NULL;
	if (!tab) {
		inj_known_leave(linker);
		return false;
	}
	stop = inj_symtab_find(tab, "_dl_debug_state", NULL);
	if (!stop)
		stop = inj_symtab_find(tab, "__dl_debug_state", NULL);
	if (stop)
		s->dl_debug_state = s->interp_base + stop->addr;
	if (inj_symtab_object(tab, "_r_debug", &data))
		s->config.r_debug = s->interp_base + data;
	else if (inj_symtab_object(tab, "_dl_debug_addr", &data))
		s->dl_debug_addr = s->interp_base + data;
	inj_known_leave(linker);
	return s->dl_debug_state && (s->config.r_debug || s->dl_debug_addr);
}

bool inj_libraries_complete(struct inj_session *s)
{
	struct {
		int32_t version;
		uint64_t map, brk;
		int32_t state;
	} r;

	if (s->dl_debug_addr &&
	    inj_read(s->target, s->dl_debug_addr, &s->config.r_debug, 8) != INJ_OK)
		return false;
	return inj_read(s->target, s->config.r_debug, &r, sizeof(r)) == INJ_OK && r.map &&
	       r.state == 0 /* RT_CONSISTENT */;
}

/* A linker that we do not know: let it run to the program's entry, and read DT_DEBUG. */
static enum inj_status await_entry(struct inj_session *s)
{
	uint64_t entry = inj_auxv(s->target->pid, AT_ENTRY);

	s->no_linker_stop = true;
	s->dl_debug_state = 0;
	return inj_tracee_until(s->tracee, entry);
}

enum inj_status inj_debug_from_dynamic(struct inj_session *s)
{
	struct inj_elf file;
	enum inj_status status = inj_elf_open(s->opt.elf_path, &file);
	uint64_t base, debug;

	if (status != INJ_OK)
		return status;
	base = inj_auxv(s->target->pid, AT_ENTRY) - file.entry;
	debug = file.dyn.debug;
	inj_elf_close(&file);
	if (debug)
		status = inj_read(s->target, base + debug, &s->config.r_debug, sizeof(s->config.r_debug));
	if (status != INJ_OK || s->config.r_debug)
		return status;
	s->opt.warn("its dynamic linker does not say which libraries are loaded, as debuggers need it");
	return INJ_NOT_SUPPORTED;
}

static enum inj_status await_libraries(struct inj_session *s)
{
	enum inj_status status;

	if (!inj_find_linker(s)) {
		status = await_entry(s);
		return status == INJ_OK ? inj_debug_from_dynamic(s) : status;
	}
	do
		status = inj_tracee_until(s->tracee, s->dl_debug_state);
	while (status == INJ_OK && !inj_libraries_complete(s));
	return status;
}

enum inj_status inj_session_begin(struct inj_session *s, struct inj_tracee *t)
{
	enum inj_status status;

	s->tracee = t;
	s->target = &t->target;
	status = inj_load_runtime(s);
	if (status == INJ_OK)
		status = inj_preload_add(s);
	if (status == INJ_OK)
		status = set_bases(s);
	if (status != INJ_OK)
		return status;
	if (s->opt.is_static)
		return inj_objects_static(s);
	status = await_libraries(s);
	if (status == INJ_OK)
		status = inj_objects_read(s);
	if (status == INJ_OK)
		status = inj_write(s->target, s->rt_config, &s->config, sizeof(s->config));
	return status;
}

/* ---- instrumenting ---- */

static int wrap_order(const void *a, const void *b, void *arg)
{
	const struct inj_session *s = arg;
	const struct inj_wrap *x = &s->wraps[*(const size_t *)a], *y = &s->wraps[*(const size_t *)b];

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x < y ? -1 : x > y;
}

static bool is_ready(const struct inj_session *s, const struct inj_wrap *w)
{
	return w->state == INJ_WRAP_PENDING && w->addr && !w->ifunc && s->modules[w->module].active;
}

/* Names of one function within a module: the first wrapper gets it. */
static size_t drop_aliases(struct inj_session *s, size_t *list, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct inj_wrap *w = &s->wraps[list[i]];
		size_t k = kept;

		while (k-- > 0 && s->wraps[list[k]].addr == w->addr)
			if (s->wraps[list[k]].module == w->module) {
				w->state = INJ_WRAP_ALIAS;
				w->same = list[k];
				break;
			}
		if (w->state != INJ_WRAP_ALIAS)
			list[kept++] = list[i];
	}
	return kept;
}

/* A function that is patched already cannot get a further wrapper in front. */
static size_t drop_patched(struct inj_session *s, size_t *list, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct inj_wrap *w = &s->wraps[list[i]];

		for (size_t k = 0; k < s->nwraps; k++) {
			const struct inj_wrap *o = &s->wraps[k];

			if (o->state != INJ_WRAP_ACTIVE || o->addr != w->addr)
				continue;
			w->state = o->module == w->module ? INJ_WRAP_ALIAS : INJ_WRAP_REFUSED;
			w->same = k;
			w->reason = "wrapped by another module before";
			break;
		}
		if (w->state == INJ_WRAP_PENDING)
			list[kept++] = list[i];
	}
	return kept;
}

enum inj_status inj_patch_ready(struct inj_session *s)
{
	size_t *list = calloc(s->nwraps + 1, sizeof(*list));
	enum inj_status status;
	size_t n = 0;

	if (!list)
		return INJ_MEMORY;
	for (size_t i = 0; i < s->nwraps; i++)
		if (is_ready(s, &s->wraps[i]))
			list[n++] = i;
	n = drop_patched(s, list, n);
	qsort_r(list, n, sizeof(*list), wrap_order, s);
	n = drop_aliases(s, list, n);
	status = inj_patch_pending(s, list, n);
	free(list);
	return status;
}

static bool any_active(const struct inj_session *s)
{
	for (size_t i = 0; i < s->nwraps; i++)
		if (s->wraps[i].state == INJ_WRAP_ACTIVE)
			return true;
	return false;
}

bool inj_any_ifunc(const struct inj_session *s)
{
	for (size_t i = 0; i < s->nwraps; i++)
		if (s->wraps[i].state == INJ_WRAP_PENDING && s->wraps[i].ifunc)
			return true;
	return false;
}

/*
 * A static program knows the processor's features, which resolvers look at, only after its C library
 * has started: let it run to main().
 */
static enum inj_status reach_main(struct inj_session *s)
{
	struct inj_symtab *tab = inj_object_symbols(&s->objects[0]);
	const struct inj_symbol *sym = tab ? inj_symtab_find(tab, "main", NULL) : NULL;
	enum inj_status status;

	if (s->at_main)
		return INJ_OK;
	if (!sym)
		return INJ_NOT_SUPPORTED;
	status = inj_tracee_until(s->tracee, s->objects[0].base + sym->addr);
	s->at_main = status == INJ_OK;
	return status;
}

/*
 * What a dynamic linker would do for a module.  The unwinder's functions, and what hooks may call, need a C
 * library that has started.
 */
static enum inj_status settle_static(struct inj_session *s)
{
	struct inj_symtab *tab = inj_object_symbols(&s->objects[0]);
	bool unwinds = tab && any_active(s) && inj_symtab_find(tab, "__register_frame_info", NULL);
	enum inj_status status;

	if (s->opt.own_loader)
		return inj_lead_unwinder(s);
	if (!s->opt.is_static || (!unwinds && !inj_has_hooks(s)))
		return INJ_OK;
	status = reach_main(s);
	if (status == INJ_OK && unwinds)
		status = inj_register_frames(s);
	if (status == INJ_OK || status == INJ_NOT_SUPPORTED)
		status = inj_static_hooks(s);
	return status;
}

static void refuse_ifuncs(struct inj_session *s)
{
	for (size_t i = 0; i < s->nwraps; i++) {
		struct inj_wrap *w = &s->wraps[i];

		if (w->state != INJ_WRAP_PENDING || !w->ifunc)
			continue;
		w->state = INJ_WRAP_REFUSED;
		w->reason = "an IFUNC of a static program without a symbol for main()";
	}
}

static enum inj_status settle_ifuncs(struct inj_session *s)
{
	enum inj_status status = INJ_OK;

	if (!inj_any_ifunc(s))
		return INJ_OK;
	if (s->opt.is_static)
		status = reach_main(s);
	if (status == INJ_NOT_SUPPORTED) {
		refuse_ifuncs(s);
		return INJ_OK;
	}
	if (status == INJ_OK)
		status = inj_resolve_ifuncs(s);
	return status == INJ_OK ? inj_patch_ready(s) : status;
}

void inj_session_undo(struct inj_session *s)
{
	inj_edits_undo(s->target, &s->edits, 0);
}

enum inj_status inj_session_instrument(struct inj_session *s)
{
	enum inj_status status = inj_guest_start(s);

	if (status == INJ_OK)
		status = inj_modules_activate(s);
	if (status == INJ_OK)
		status = inj_unwind_files(s);
	if (status == INJ_OK)
		status = inj_resolve(s);
	if (status == INJ_OK)
		status = inj_patch_ready(s);
	if (status == INJ_OK && s->opt.follow)
		status = inj_exec_sites(s, true);
	if (status == INJ_OK)
		status = inj_guest_exits(s);
	if (status == INJ_OK)
		status = inj_mirrors_instrument(s);
	if (status == INJ_OK && s->opt.follow)
		status = inj_exec_sites(s, false);
	if (status != INJ_OK && status != INJ_GONE)
		inj_session_undo(s);
	return status;
}

enum inj_status inj_session_settle(struct inj_session *s)
{
	enum inj_status status = settle_ifuncs(s);

	if (status == INJ_OK)
		status = inj_guest_hooks(s);
	if (status == INJ_OK)
		status = settle_static(s);
	if (status == INJ_OK && !s->opt.is_static && inj_session_wants_libraries(s))
		status = inj_patch_linker(s);
	if (status != INJ_OK && status != INJ_GONE)
		inj_session_undo(s);
	return status;
}

bool inj_session_wants_libraries(const struct inj_session *s)
{
	if (s->opt.mirror.libraries || s->opt.frames > 1 || inj_awaits_unwinder(s))
		return true;
	for (size_t i = 0; i < s->nmodules; i++)
		if (!s->modules[i].active)
			return true;
	for (size_t i = 0; i < s->nwraps; i++)
		if (s->wraps[i].state == INJ_WRAP_PENDING)
			return true;
	return false;
}

enum inj_status inj_session_library(struct inj_session *s, struct inj_target *t)
{
	enum inj_status status;

	s->target = t;
	status = inj_objects_read(s);
	if (status == INJ_OK)
		status = inj_modules_activate(s);
	if (status == INJ_OK)
		status = inj_unwind_files(s);
	if (status == INJ_OK)
		status = inj_resolve(s);
	if (status == INJ_OK)
		status = inj_resolve_ifuncs(s);
	if (status == INJ_OK)
		status = inj_patch_ready(s);
	if (status == INJ_OK && inj_awaits_unwinder(s))
		status = inj_lead_unwinder(s);
	if (status == INJ_OK)
		status = inj_mirrors_instrument(s);
	s->target = NULL;
	return status;
}

/* ---- letting go ---- */

void inj_session_abandon(struct inj_session *s)
{
	struct inj_tracee *tracee = s->tracee;
	struct user_regs_struct regs;

	inj_session_undo(s);
	(void)!inj_preload_remove(s);
	if (inj_tracee_regs(tracee, &regs) == INJ_OK) {
		if (regs.gs_base == s->config.nobody)
			regs.gs_base = 0;
		if (s->opt.is_static && regs.fs_base == s->config.pre_tls)
			regs.fs_base = 0;
		(void)!inj_tracee_set_regs(tracee, &regs);
	}
	(void)!inj_tracee_detach(tracee);
	s->tracee = NULL;
	s->target = NULL;
}

enum inj_status inj_session_release(struct inj_session *s)
{
	struct inj_tracee *tracee = s->tracee;
	enum inj_status status = inj_preload_remove(s);

	/* Once the program runs, the session is the collector's: a library may come at once. */
	s->tracee = NULL;
	s->target = NULL;
	if (status == INJ_OK)
		status = inj_tracee_detach(tracee);
	return status;
}
