/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Open Trace Format 2, as Vampir and Scalasca read it, by its own library: a folder with a file for each location (thread), and
 * definitions: regions (functions), location groups (processes), hosts; of MPI: otf2-mpi.c; of OpenMP: otf2-openmp.c.
 */
#include "config.h"

#include "launcher/export/export.h"
#include "launcher/common/message.h"

#ifndef HAVE_OTF2

static bool open_folder(struct export *x, const char *path)
{
	(void)x, (void)path;
	msg_error("Sonde was built without OTF2 (Debian: apt-get install libopen-trace-format2-dev, and build it again)");
	return false;
}

const struct export_format export_otf2 = { .name = "otf2", .open_folder = open_folder };

#else

#include "launcher/export/otf2-private.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

struct otf2_library otf2_lib;
static bool load(void)
{
	void *handle = dlopen("libopen-trace-format2.so.10", RTLD_NOW | RTLD_LOCAL);
	bool complete;

	if (!handle) /* as it is called where Debian has not renamed it */
		handle = dlopen("libotf2.so.10", RTLD_NOW | RTLD_LOCAL);
	complete = handle;
#define FIND(f) complete = complete && (otf2_lib.f = (__typeof__(otf2_lib.f))dlsym(handle, #f));
	FUNCTIONS(FIND)
#undef FIND
	if (!complete)
		msg_error("otf2 is written by its library, which is not here (Debian: apt-get install libopen-trace-format2-10)");
	return complete;
}

/* In place of lines of the library, of which one error makes several. */
static OTF2_ErrorCode failure(void *arg, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code, const char *format,
			      va_list args)
{
	struct export *x = arg;
	const struct otf2_archive *a = x->private;

	(void)file, (void)line, (void)function, (void)format, (void)args;
	if (code <= OTF2_SUCCESS || x->failed) /* less is a warning */
		return code;
	msg_error("%s: %s", a->folder.path, otf2_lib.OTF2_Error_GetDescription(code));
	x->failed = true;
	return code;
}

bool otf2_check(struct export *x, OTF2_ErrorCode code)
{
	if (code == OTF2_SUCCESS || x->failed)
		return code == OTF2_SUCCESS;
	msg_error("OTF2: %s", otf2_lib.OTF2_Error_GetDescription(code));
	x->failed = true;
	return false;
}

static OTF2_FlushType before_flush(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
	(void)data, (void)type, (void)location, (void)caller, (void)final;
	return OTF2_FLUSH;
}

/* ---- texts and attributes, which have numbers ---- */

uint32_t otf2_text(struct export *x, const char *s)
{
	struct otf2_archive *a = x->private;

	return export_text(x, &a->texts, s);
}

static uint32_t find_attribute(struct export *x, const char *name, OTF2_Type type)
{
	struct otf2_archive *a = x->private;
	uint32_t ref = otf2_text(x, name);

	for (size_t i = 0; i < a->nattributes; i++)
		if (a->attributes[i].name == ref && a->attributes[i].type == type)
			return (uint32_t)i;
	if (!array_room(a->attributes, a->attributes_room, a->nattributes + 1)) {
		x->buf.failed = true;
		return 0;
	}
	a->attributes[a->nattributes] = (struct otf2_attribute){ .name = ref, .type = type };
	return (uint32_t)a->nattributes++;
}

/* @name lives as long as the trace, so that its address stands for it. */
static uint32_t attribute(struct export *x, const char *name, OTF2_Type type)
{
	struct otf2_archive *a = x->private;
	struct otf2_recent *r = &a->recent[hash_word((uintptr_t)name ^ type) % (sizeof(a->recent) / sizeof(a->recent[0]))];

	if (r->name != name || r->type != type)
		*r = (struct otf2_recent){ .name = name, .type = type, .ref = find_attribute(x, name, type) };
	return r->ref;
}

/* Values of one event; its writer empties the list. */
static OTF2_AttributeList *values(struct export *x, const struct sonde_trace_event *ev)
{
	struct otf2_archive *a = x->private;

	for (size_t i = 0; ev && i < ev->nvalues; i++) {
		const struct sonde_trace_value *v = &ev->values[i];

		switch (v->type) {
		case SONDE_TRACE_I32:
		case SONDE_TRACE_I64:
			otf2_lib.OTF2_AttributeList_AddInt64(a->values, attribute(x, v->name, OTF2_TYPE_INT64), v->i);
			break;
		case SONDE_TRACE_F64:
			otf2_lib.OTF2_AttributeList_AddDouble(a->values, attribute(x, v->name, OTF2_TYPE_DOUBLE), v->f);
			break;
		case SONDE_TRACE_STR:
			otf2_lib.OTF2_AttributeList_AddStringRef(a->values, attribute(x, v->name, OTF2_TYPE_STRING), otf2_text(x, v->str));
			break;
		default:
			otf2_lib.OTF2_AttributeList_AddUint64(a->values, attribute(x, v->name, OTF2_TYPE_UINT64), v->u);
			break;
		}
	}
	return a->values;
}

/* ---- events ---- */

static uint32_t region(const struct export *x, const struct sonde_trace_function *f)
{
	return (uint32_t)(f ? f->index : sonde_trace_functions(x->trace));
}

static bool open_folder(struct export *x, const char *path)
{
	static const OTF2_FlushCallbacks flush = { .otf2_pre_flush = before_flush };
	struct otf2_archive *a;

	if (!load())
		return false;
	a = x->private = calloc(1, sizeof(*a));
	if (a)
		a->events = calloc(sonde_trace_threads(x->trace) + 1, sizeof(*a->events));
	if (a)
		a->writer = calloc(sonde_trace_threads(x->trace) + 1, sizeof(*a->writer));
	if (!a || !a->events || !a->writer || !otf2_openmp_begin(x) || (x->mpi && !otf2_mpi_begin(x))) {
		msg_error("no memory");
		return false;
	}
	if (!output_folder_open(&a->folder, path))
		return false;
	otf2_lib.OTF2_Error_RegisterCallback(failure, x);
	a->otf2 = otf2_lib.OTF2_Archive_Open(a->folder.temporary, "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_EVENTS_DEFAULT,
					OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
	a->values = otf2_lib.OTF2_AttributeList_New();
	if (!a->otf2 || !a->values) {
		if (!x->failed)
			msg_error("%s: cannot be written", path);
		return false;
	}
	return otf2_check(x, otf2_lib.OTF2_Archive_SetFlushCallbacks(a->otf2, &flush, NULL)) &&
	       otf2_check(x, otf2_lib.OTF2_Archive_SetSerialCollectiveCallbacks(a->otf2)) &&
	       otf2_check(x, otf2_lib.OTF2_Archive_SetCreator(a->otf2, PACKAGE_STRING)) && otf2_check(x, otf2_lib.OTF2_Archive_OpenEvtFiles(a->otf2));
}

static void thread(struct export *x, const struct sonde_trace_thread *t)
{
	struct otf2_archive *a = x->private;

	a->writer[t->index] = otf2_lib.OTF2_Archive_GetEvtWriter(a->otf2, t->index);
	if (!a->writer[t->index])
		otf2_check(x, OTF2_ERROR_INVALID);
}

static void enter(struct export *x, const struct sonde_trace_event *ev)
{
	struct otf2_archive *a = x->private;

	if (x->failed)
		return;
	otf2_openmp_before_enter(x, ev);
	otf2_check(x, otf2_lib.OTF2_EvtWriter_Enter(a->writer[ev->thread->index], values(x, ev), ev->time, region(x, ev->function)));
	otf2_openmp_entered(x, ev);
}

static void leave(struct export *x, const struct sonde_trace_thread *t, const struct export_open *call, uint64_t time,
		  enum export_how how, const struct sonde_trace_event *ev)
{
	struct otf2_archive *a = x->private;

	if (x->failed)
		return;
	otf2_openmp_before_leave(x, t, call->function, time);
	if (how != EXPORT_RETURNED)
		otf2_lib.OTF2_AttributeList_AddUint64(a->values, attribute(x, how == EXPORT_UNWOUND ? "unwound" : "open", OTF2_TYPE_UINT64), 1);
	otf2_check(x, otf2_lib.OTF2_EvtWriter_Leave(a->writer[t->index], values(x, how == EXPORT_RETURNED ? ev : NULL), time, region(x, call->function)));
	otf2_openmp_left(x, t, call->function, time);
}

static void lost(struct export *x, const struct sonde_trace_event *ev)
{
	struct otf2_archive *a = x->private;

	if (x->failed)
		return;
	otf2_check(x, otf2_lib.OTF2_EvtWriter_MeasurementOnOff(a->writer[ev->thread->index], NULL, ev->time, OTF2_MEASUREMENT_OFF));
	otf2_check(x, otf2_lib.OTF2_EvtWriter_MeasurementOnOff(a->writer[ev->thread->index], NULL, ev->time, OTF2_MEASUREMENT_ON));
}

static void thread_end(struct export *x, const struct sonde_trace_thread *t)
{
	struct otf2_archive *a = x->private;

	if (!a->writer[t->index])
		return;
	otf2_check(x, otf2_lib.OTF2_EvtWriter_GetNumberOfEvents(a->writer[t->index], &a->events[t->index]));
	otf2_check(x, otf2_lib.OTF2_Archive_CloseEvtWriter(a->otf2, a->writer[t->index]));
	a->writer[t->index] = NULL;
}

/* ---- definitions ---- */

#define HOST_CLASS "node"
#define LOCATION_NAME_MAX 128

static const char *location_name(const struct sonde_trace_thread *t, char name[static LOCATION_NAME_MAX])
{
	snprintf(name, LOCATION_NAME_MAX, "%s %d", t->comm, t->tid);
	return name;
}

/* By function: what the module that recorded it is about. */
static OTF2_Paradigm *paradigms(struct export *x)
{
	static const struct {
		const char *module;
		OTF2_Paradigm paradigm;
	} list[] = {
		{ "mpi", OTF2_PARADIGM_MPI },
		{ "openmp", OTF2_PARADIGM_OPENMP },
		{ "pthread", OTF2_PARADIGM_PTHREAD },
	};
	size_t n = sonde_trace_functions(x->trace) + 1;
	OTF2_Paradigm *v = calloc(n, sizeof(*v));

	for (size_t i = 0; v && i < n; i++)
		v[i] = OTF2_PARADIGM_COMPILER;
	for (size_t i = 0; v && i < sonde_trace_sites(x->trace); i++) {
		const struct sonde_trace_site *s = sonde_trace_site(x->trace, i);

		for (size_t k = 0; s->module && k < sizeof(list) / sizeof(list[0]); k++)
			if (strcmp(s->module->name, list[k].module) == 0)
				v[s->function->index] = list[k].paradigm;
	}
	x->buf.failed |= !v;
	return v;
}

/* Of the module openmp's constructs; what is waiting for a lock is none of them. */
static OTF2_RegionRole role(OTF2_Paradigm paradigm, const char *name)
{
	static const struct {
		const char *name;
		OTF2_RegionRole role;
	} list[] = {
		{ "omp parallel", OTF2_REGION_ROLE_PARALLEL },
		{ "omp implicit task", OTF2_REGION_ROLE_TASK },
		{ "omp loop", OTF2_REGION_ROLE_LOOP },
		{ "omp sections", OTF2_REGION_ROLE_SECTIONS },
		{ "omp section", OTF2_REGION_ROLE_SECTION },
		{ "omp barrier", OTF2_REGION_ROLE_BARRIER },
		{ "omp critical", OTF2_REGION_ROLE_CRITICAL },
		{ "omp atomic", OTF2_REGION_ROLE_ATOMIC },
		{ "omp ordered", OTF2_REGION_ROLE_ORDERED },
		{ "omp task create", OTF2_REGION_ROLE_TASK_CREATE },
		{ "omp taskloop", OTF2_REGION_ROLE_TASK_CREATE },
		{ "omp task", OTF2_REGION_ROLE_TASK },
		{ "omp taskwait", OTF2_REGION_ROLE_TASK_WAIT },
		{ "omp taskgroup wait", OTF2_REGION_ROLE_TASK_WAIT },
	};

	for (size_t i = 0; paradigm == OTF2_PARADIGM_OPENMP && i < sizeof(list) / sizeof(list[0]); i++)
		if (strcmp(name, list[i].name) == 0)
			return list[i].role;
	return OTF2_REGION_ROLE_FUNCTION;
}

static void define_regions(struct export *x, OTF2_GlobalDefWriter *w)
{
	OTF2_Paradigm *paradigm = paradigms(x);
	size_t n = sonde_trace_functions(x->trace);

	for (size_t i = 0; paradigm && i <= n && !x->failed; i++) {
		const struct sonde_trace_function *f = sonde_trace_function(x->trace, i); /* the last one: none */
		uint32_t name = otf2_text(x, export_name(x, f));

		otf2_check(x, otf2_lib.OTF2_GlobalDefWriter_WriteRegion(w, (uint32_t)i, name, f ? otf2_text(x, f->name) : name,
							      otf2_text(x, f ? f->path : ""),
							      role(paradigm[i], f ? f->name : ""), paradigm[i],
							      OTF2_REGION_FLAG_NONE,
							      OTF2_UNDEFINED_STRING, 0, 0));
	}
	free(paradigm);
}

/* All that is named: a reader wants to know texts before it meets their numbers. */
static void define_texts(struct export *x, OTF2_GlobalDefWriter *w)
{
	struct otf2_archive *a = x->private;
	char name[LOCATION_NAME_MAX];

	(void)otf2_text(x, "");
	(void)otf2_text(x, HOST_CLASS);
	for (size_t i = 0; i <= sonde_trace_functions(x->trace); i++) {
		const struct sonde_trace_function *f = sonde_trace_function(x->trace, i);

		(void)otf2_text(x, export_name(x, f));
		(void)otf2_text(x, f ? f->name : "");
		(void)otf2_text(x, f ? f->path : "");
	}
	for (size_t i = 0; i < x->nprocesses; i++) {
		(void)otf2_text(x, x->process[i].name);
		(void)otf2_text(x, export_host(x, &x->process[i]));
	}
	for (size_t i = 0; i < sonde_trace_threads(x->trace); i++)
		(void)otf2_text(x, location_name(sonde_trace_thread(x->trace, i), name));
	otf2_mpi_texts(x);
	otf2_openmp_texts(x);
	for (size_t i = 0; i < a->texts.room && !x->failed; i++)
		if (a->texts.v[i].s)
			otf2_check(x, otf2_lib.OTF2_GlobalDefWriter_WriteString(w, a->texts.v[i].number, a->texts.v[i].s));
}

static void define_processes(struct export *x, OTF2_GlobalDefWriter *w)
{
	struct otf2_archive *a = x->private;
	uint32_t *host = calloc(a->texts.n + 1, sizeof(*host)), hosts = 0; /* by its name's number: its own, and 1 */

	x->buf.failed |= !host;
	for (size_t i = 0; host && i < x->nprocesses && !x->failed; i++) {
		const struct export_process *p = &x->process[i];
		uint32_t name = otf2_text(x, export_host(x, p));

		if (!host[name]) {
			host[name] = ++hosts;
			otf2_check(x, otf2_lib.OTF2_GlobalDefWriter_WriteSystemTreeNode(w, hosts - 1, name, otf2_text(x, HOST_CLASS),
									      OTF2_UNDEFINED_SYSTEM_TREE_NODE));
		}
		otf2_check(x, otf2_lib.OTF2_GlobalDefWriter_WriteLocationGroup(w, (uint32_t)i, otf2_text(x, p->name), OTF2_LOCATION_GROUP_TYPE_PROCESS,
								     host[name] - 1, OTF2_UNDEFINED_LOCATION_GROUP));
	}
	free(host);
}

static void define_locations(struct export *x, OTF2_GlobalDefWriter *w)
{
	struct otf2_archive *a = x->private;

	define_processes(x, w);
	for (size_t i = 0; i < sonde_trace_threads(x->trace) && !x->failed; i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(x->trace, i);
		char name[LOCATION_NAME_MAX];

		if (!a->events[i])
			continue;
		otf2_check(x, otf2_lib.OTF2_GlobalDefWriter_WriteLocation(w, i, otf2_text(x, location_name(t, name)), OTF2_LOCATION_TYPE_CPU_THREAD, a->events[i],
								(uint32_t)(x->of[i] - x->process)));
	}
}

static void define_clock(struct export *x, OTF2_GlobalDefWriter *w)
{
	const struct sonde_trace_rank *first = sonde_trace_rank(x->trace, 0);
	uint64_t last = 0;

	for (size_t i = 0; i < sonde_trace_threads(x->trace); i++)
		if (sonde_trace_thread(x->trace, i)->last > last)
			last = sonde_trace_thread(x->trace, i)->last;
	otf2_check(x, otf2_lib.OTF2_GlobalDefWriter_WriteClockProperties(w, 1000000000, 0, last + 1, first->start_real_ns - first->start));
}

/* Readers want a file of definitions of each location's own, though there are none. */
static void define_nothing_locally(struct export *x)
{
	struct otf2_archive *a = x->private;

	otf2_check(x, otf2_lib.OTF2_Archive_OpenDefFiles(a->otf2));
	for (size_t i = 0; i < sonde_trace_threads(x->trace) && !x->failed; i++) {
		OTF2_DefWriter *w = a->events[i] ? otf2_lib.OTF2_Archive_GetDefWriter(a->otf2, i) : NULL;

		if (w)
			otf2_check(x, otf2_lib.OTF2_Archive_CloseDefWriter(a->otf2, w));
	}
	otf2_check(x, otf2_lib.OTF2_Archive_CloseDefFiles(a->otf2));
}

static void define(struct export *x)
{
	struct otf2_archive *a = x->private;
	OTF2_GlobalDefWriter *w = otf2_lib.OTF2_Archive_GetGlobalDefWriter(a->otf2);

	if (!w) {
		otf2_check(x, OTF2_ERROR_INVALID);
		return;
	}
	define_clock(x, w);
	define_texts(x, w);
	define_regions(x, w);
	define_locations(x, w);
	otf2_openmp_define(x, w);
	otf2_mpi_define(x, w);
	for (size_t i = 0; i < a->nattributes && !x->failed; i++)
		otf2_check(x, otf2_lib.OTF2_GlobalDefWriter_WriteAttribute(w, (uint32_t)i, a->attributes[i].name, otf2_text(x, ""), a->attributes[i].type));
	otf2_check(x, otf2_lib.OTF2_Archive_CloseGlobalDefWriter(a->otf2, w));
}

static void end(struct export *x)
{
	struct otf2_archive *a = x->private;

	otf2_check(x, otf2_lib.OTF2_Archive_CloseEvtFiles(a->otf2));
	define_nothing_locally(x);
	define(x);
}

static bool close_folder(struct export *x, bool keep)
{
	struct otf2_archive *a = x->private;
	bool good = keep && !x->failed;

	if (!a)
		return false;
	if (a->values)
		otf2_lib.OTF2_AttributeList_Delete(a->values);
	if (a->otf2 && otf2_lib.OTF2_Archive_Close(a->otf2) != OTF2_SUCCESS)
		good = false;
	good = output_folder_close(&a->folder, good);
	export_texts_free(&a->texts);
	free(a->attributes);
	free(a->events);
	free(a->writer);
	free(a->place);
	free(a->construct);
	free(a);
	return good;
}

const struct export_format export_otf2 = { .name = "otf2", .by_thread = true, .open_folder = open_folder, .close_folder = close_folder,
					   .thread = thread, .enter = enter, .leave = leave, .fact = otf2_mpi_fact, .lost = lost, .thread_end = thread_end,
					   .end = end };

#endif
