/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Open Trace Format 2, as Vampir and Scalasca read it, by its own library: a folder with a file for each location (thread), and
 * definitions: regions (functions), location groups (processes), hosts.
 */
#include "config.h"

#include "launcher/export/export.h"
#include "launcher/common/files.h"
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

#include <dlfcn.h>
#include <errno.h>
#include <otf2/otf2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"

#define FUNCTIONS(F)                                                                                                    \
	F(OTF2_Archive_Open) F(OTF2_Archive_Close) F(OTF2_Archive_SetSerialCollectiveCallbacks)                         \
	F(OTF2_Archive_SetFlushCallbacks) F(OTF2_Archive_SetCreator) F(OTF2_Archive_OpenEvtFiles)                       \
	F(OTF2_Archive_CloseEvtFiles) F(OTF2_Archive_GetEvtWriter) F(OTF2_Archive_CloseEvtWriter)                       \
	F(OTF2_Archive_OpenDefFiles) F(OTF2_Archive_GetDefWriter) F(OTF2_Archive_CloseDefWriter)                        \
	F(OTF2_Archive_CloseDefFiles) F(OTF2_Archive_GetGlobalDefWriter) F(OTF2_Archive_CloseGlobalDefWriter)           \
	F(OTF2_EvtWriter_Enter) F(OTF2_EvtWriter_Leave) F(OTF2_EvtWriter_MeasurementOnOff)                              \
	F(OTF2_EvtWriter_GetNumberOfEvents) F(OTF2_AttributeList_New) F(OTF2_AttributeList_Delete)                      \
	F(OTF2_AttributeList_AddInt64) F(OTF2_AttributeList_AddUint64) F(OTF2_AttributeList_AddDouble)                  \
	F(OTF2_AttributeList_AddStringRef) F(OTF2_AttributeList_RemoveAllAttributes)                                    \
	F(OTF2_GlobalDefWriter_WriteClockProperties) F(OTF2_GlobalDefWriter_WriteString)                                \
	F(OTF2_GlobalDefWriter_WriteAttribute) F(OTF2_GlobalDefWriter_WriteRegion)                                      \
	F(OTF2_GlobalDefWriter_WriteSystemTreeNode) F(OTF2_GlobalDefWriter_WriteLocationGroup)                          \
	F(OTF2_GlobalDefWriter_WriteLocation) F(OTF2_Error_GetDescription)

static struct {
#define MEMBER(f) __typeof__(f) *f;
	FUNCTIONS(MEMBER)
#undef MEMBER
} lib;

struct text {
	char *s; /* NULL: a free slot */
	uint32_t ref;
};

struct attribute {
	uint32_t name; /* ref of a text */
	OTF2_Type type;
};

struct archive {
	const char *path;
	char *temporary;
	OTF2_Archive *otf2;
	OTF2_EvtWriter *writer; /* of the thread whose calls are written */
	OTF2_AttributeList *values;
	struct text *texts; /* a hash table */
	size_t ntexts, texts_room;
	struct attribute *attributes;
	size_t nattributes, attributes_room;
	uint64_t *events; /* by thread */
};

static bool load(void)
{
	void *handle = dlopen("libopen-trace-format2.so.10", RTLD_NOW | RTLD_LOCAL);
	bool complete;

	if (!handle) /* as it is called where Debian has not renamed it */
		handle = dlopen("libotf2.so.10", RTLD_NOW | RTLD_LOCAL);
	complete = handle;
#define FIND(f) complete = complete && (lib.f = (__typeof__(lib.f))dlsym(handle, #f));
	FUNCTIONS(FIND)
#undef FIND
	if (!complete)
		msg_error("otf2 is written by its library, which is not here (Debian: apt-get install libopen-trace-format2-10)");
	return complete;
}

static bool check(struct export *x, OTF2_ErrorCode code)
{
	if (code == OTF2_SUCCESS || x->failed)
		return code == OTF2_SUCCESS;
	msg_error("OTF2: %s", lib.OTF2_Error_GetDescription(code));
	x->failed = true;
	return false;
}

static OTF2_FlushType before_flush(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final)
{
	(void)data, (void)type, (void)location, (void)caller, (void)final;
	return OTF2_FLUSH;
}

/* ---- texts and attributes, which have numbers ---- */

static struct text *slot_of(const struct archive *a, const char *s)
{
	return &a->texts[hash_slot(i, a->texts_room, hash_bytes(s, strlen(s)), !a->texts[i].s || strcmp(a->texts[i].s, s) == 0)];
}

static uint32_t text(struct export *x, const char *s)
{
	struct archive *a = x->private;
	struct text *at;

	if (!hash_grow(a->texts, a->texts_room, a->ntexts + 1, old, old->s, slot_of(a, old->s))) {
		x->buf.failed = true;
		return 0;
	}
	at = slot_of(a, s);
	if (!at->s) {
		*at = (struct text){ .s = strdup(s), .ref = (uint32_t)a->ntexts };
		x->buf.failed |= !at->s;
		a->ntexts++;
	}
	return at->ref;
}

static uint32_t attribute(struct export *x, const char *name, OTF2_Type type)
{
	struct archive *a = x->private;
	uint32_t ref = text(x, name);

	for (size_t i = 0; i < a->nattributes; i++)
		if (a->attributes[i].name == ref && a->attributes[i].type == type)
			return (uint32_t)i;
	if (!array_room(a->attributes, a->attributes_room, a->nattributes + 1)) {
		x->buf.failed = true;
		return 0;
	}
	a->attributes[a->nattributes] = (struct attribute){ .name = ref, .type = type };
	return (uint32_t)a->nattributes++;
}

/* Values of one event; its writer empties the list. */
static OTF2_AttributeList *values(struct export *x, const struct sonde_trace_event *ev)
{
	struct archive *a = x->private;

	for (size_t i = 0; ev && i < ev->nvalues; i++) {
		const struct sonde_trace_value *v = &ev->values[i];

		switch (v->type) {
		case SONDE_TRACE_I32:
		case SONDE_TRACE_I64:
			lib.OTF2_AttributeList_AddInt64(a->values, attribute(x, v->name, OTF2_TYPE_INT64), v->i);
			break;
		case SONDE_TRACE_F64:
			lib.OTF2_AttributeList_AddDouble(a->values, attribute(x, v->name, OTF2_TYPE_DOUBLE), v->f);
			break;
		case SONDE_TRACE_STR:
			lib.OTF2_AttributeList_AddStringRef(a->values, attribute(x, v->name, OTF2_TYPE_STRING), text(x, v->str));
			break;
		default:
			lib.OTF2_AttributeList_AddUint64(a->values, attribute(x, v->name, OTF2_TYPE_UINT64), v->u);
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
	struct archive *a;

	if (!load())
		return false;
	if (access(path, F_OK) == 0) {
		msg_error("%s: is there already", path);
		return false;
	}
	a = x->private = calloc(1, sizeof(*a));
	if (a)
		a->events = calloc(sonde_trace_threads(x->trace) + 1, sizeof(*a->events));
	if (!a || !a->events || asprintf(&a->temporary, "%s.%d", path, (int)getpid()) < 0) {
		msg_error("no memory");
		return false;
	}
	a->path = path;
	a->otf2 = lib.OTF2_Archive_Open(a->temporary, "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_EVENTS_DEFAULT,
					OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
	a->values = lib.OTF2_AttributeList_New();
	if (!a->otf2 || !a->values) {
		msg_error("%s: cannot be written", path);
		return false;
	}
	return check(x, lib.OTF2_Archive_SetFlushCallbacks(a->otf2, &flush, NULL)) &&
	       check(x, lib.OTF2_Archive_SetSerialCollectiveCallbacks(a->otf2)) &&
	       check(x, lib.OTF2_Archive_SetCreator(a->otf2, PACKAGE_STRING)) && check(x, lib.OTF2_Archive_OpenEvtFiles(a->otf2));
}

static void thread(struct export *x, const struct sonde_trace_thread *t)
{
	struct archive *a = x->private;

	a->writer = lib.OTF2_Archive_GetEvtWriter(a->otf2, t->index);
	if (!a->writer)
		check(x, OTF2_ERROR_INVALID);
}

static void enter(struct export *x, const struct sonde_trace_event *ev)
{
	struct archive *a = x->private;

	if (!x->failed)
		check(x, lib.OTF2_EvtWriter_Enter(a->writer, values(x, ev), ev->time, region(x, ev->function)));
}

static void leave(struct export *x, const struct sonde_trace_thread *t, const struct export_open *call, uint64_t time,
		  enum export_how how, const struct sonde_trace_event *ev)
{
	struct archive *a = x->private;

	(void)t;
	if (x->failed)
		return;
	if (how != EXPORT_RETURNED)
		lib.OTF2_AttributeList_AddUint64(a->values, attribute(x, how == EXPORT_UNWOUND ? "unwound" : "open", OTF2_TYPE_UINT64), 1);
	check(x, lib.OTF2_EvtWriter_Leave(a->writer, values(x, how == EXPORT_RETURNED ? ev : NULL), time, region(x, call->function)));
}

static void lost(struct export *x, const struct sonde_trace_event *ev)
{
	struct archive *a = x->private;

	if (x->failed)
		return;
	check(x, lib.OTF2_EvtWriter_MeasurementOnOff(a->writer, NULL, ev->time, OTF2_MEASUREMENT_OFF));
	check(x, lib.OTF2_EvtWriter_MeasurementOnOff(a->writer, NULL, ev->time, OTF2_MEASUREMENT_ON));
}

static void thread_end(struct export *x, const struct sonde_trace_thread *t)
{
	struct archive *a = x->private;

	if (!a->writer)
		return;
	check(x, lib.OTF2_EvtWriter_GetNumberOfEvents(a->writer, &a->events[t->index]));
	check(x, lib.OTF2_Archive_CloseEvtWriter(a->otf2, a->writer));
	a->writer = NULL;
}

/* ---- definitions ---- */

#define HOST_CLASS "node"
#define LOCATION_NAME_MAX 128

static const char *location_name(const struct sonde_trace_thread *t, char name[static LOCATION_NAME_MAX])
{
	snprintf(name, LOCATION_NAME_MAX, "%s %d", t->comm, t->tid);
	return name;
}

/* By function: a module called mpi recorded it. */
static bool *of_mpi(struct export *x)
{
	bool *v = calloc(sonde_trace_functions(x->trace) + 1, sizeof(*v));

	for (size_t i = 0; v && i < sonde_trace_sites(x->trace); i++) {
		const struct sonde_trace_site *s = sonde_trace_site(x->trace, i);

		v[s->function->index] |= s->module && strcmp(s->module->name, "mpi") == 0;
	}
	x->buf.failed |= !v;
	return v;
}

static void define_regions(struct export *x, OTF2_GlobalDefWriter *w)
{
	bool *mpi = of_mpi(x);
	size_t n = sonde_trace_functions(x->trace);

	for (size_t i = 0; mpi && i <= n && !x->failed; i++) {
		const struct sonde_trace_function *f = sonde_trace_function(x->trace, i); /* the last one: none */
		uint32_t name = text(x, export_name(x, f));

		check(x, lib.OTF2_GlobalDefWriter_WriteRegion(w, (uint32_t)i, name, f ? text(x, f->name) : name,
							      text(x, f ? f->path : ""), OTF2_REGION_ROLE_FUNCTION,
							      mpi[i] ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_COMPILER, OTF2_REGION_FLAG_NONE,
							      OTF2_UNDEFINED_STRING, 0, 0));
	}
	free(mpi);
}

/* All that is named: a reader wants to know texts before it meets their numbers. */
static void define_texts(struct export *x, OTF2_GlobalDefWriter *w)
{
	struct archive *a = x->private;
	char name[LOCATION_NAME_MAX];

	(void)text(x, "");
	(void)text(x, HOST_CLASS);
	for (size_t i = 0; i <= sonde_trace_functions(x->trace); i++) {
		const struct sonde_trace_function *f = sonde_trace_function(x->trace, i);

		(void)text(x, export_name(x, f));
		(void)text(x, f ? f->name : "");
		(void)text(x, f ? f->path : "");
	}
	for (size_t i = 0; i < x->nprocesses; i++) {
		(void)text(x, x->process[i].name);
		(void)text(x, export_host(x, &x->process[i]));
	}
	for (size_t i = 0; i < sonde_trace_threads(x->trace); i++)
		(void)text(x, location_name(sonde_trace_thread(x->trace, i), name));
	for (size_t i = 0; i < a->texts_room && !x->failed; i++)
		if (a->texts[i].s)
			check(x, lib.OTF2_GlobalDefWriter_WriteString(w, a->texts[i].ref, a->texts[i].s));
}

static void define_processes(struct export *x, OTF2_GlobalDefWriter *w)
{
	struct archive *a = x->private;
	uint32_t *host = calloc(a->ntexts + 1, sizeof(*host)), hosts = 0; /* by its name's number: its own, and 1 */

	x->buf.failed |= !host;
	for (size_t i = 0; host && i < x->nprocesses && !x->failed; i++) {
		const struct export_process *p = &x->process[i];
		uint32_t name = text(x, export_host(x, p));

		if (!host[name]) {
			host[name] = ++hosts;
			check(x, lib.OTF2_GlobalDefWriter_WriteSystemTreeNode(w, hosts - 1, name, text(x, HOST_CLASS),
									      OTF2_UNDEFINED_SYSTEM_TREE_NODE));
		}
		check(x, lib.OTF2_GlobalDefWriter_WriteLocationGroup(w, (uint32_t)i, text(x, p->name), OTF2_LOCATION_GROUP_TYPE_PROCESS,
								     host[name] - 1, OTF2_UNDEFINED_LOCATION_GROUP));
	}
	free(host);
}

static void define_locations(struct export *x, OTF2_GlobalDefWriter *w)
{
	struct archive *a = x->private;

	define_processes(x, w);
	for (size_t i = 0; i < sonde_trace_threads(x->trace) && !x->failed; i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(x->trace, i);
		char name[LOCATION_NAME_MAX];

		if (!a->events[i])
			continue;
		check(x, lib.OTF2_GlobalDefWriter_WriteLocation(w, i, text(x, location_name(t, name)), OTF2_LOCATION_TYPE_CPU_THREAD, a->events[i],
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
	check(x, lib.OTF2_GlobalDefWriter_WriteClockProperties(w, 1000000000, 0, last + 1, first->start_real_ns - first->start));
}

/* Readers want a file of definitions of each location's own, though there are none. */
static void define_nothing_locally(struct export *x)
{
	struct archive *a = x->private;

	check(x, lib.OTF2_Archive_OpenDefFiles(a->otf2));
	for (size_t i = 0; i < sonde_trace_threads(x->trace) && !x->failed; i++) {
		OTF2_DefWriter *w = a->events[i] ? lib.OTF2_Archive_GetDefWriter(a->otf2, i) : NULL;

		if (w)
			check(x, lib.OTF2_Archive_CloseDefWriter(a->otf2, w));
	}
	check(x, lib.OTF2_Archive_CloseDefFiles(a->otf2));
}

static void define(struct export *x)
{
	struct archive *a = x->private;
	OTF2_GlobalDefWriter *w = lib.OTF2_Archive_GetGlobalDefWriter(a->otf2);

	if (!w) {
		check(x, OTF2_ERROR_INVALID);
		return;
	}
	define_clock(x, w);
	define_texts(x, w);
	define_regions(x, w);
	define_locations(x, w);
	for (size_t i = 0; i < a->nattributes && !x->failed; i++)
		check(x, lib.OTF2_GlobalDefWriter_WriteAttribute(w, (uint32_t)i, a->attributes[i].name, text(x, ""), a->attributes[i].type));
	check(x, lib.OTF2_Archive_CloseGlobalDefWriter(a->otf2, w));
}

static void end(struct export *x)
{
	struct archive *a = x->private;

	check(x, lib.OTF2_Archive_CloseEvtFiles(a->otf2));
	define_nothing_locally(x);
	define(x);
}

static bool close_folder(struct export *x, bool keep)
{
	struct archive *a = x->private;
	bool good = keep && !x->failed;

	if (!a)
		return false;
	if (a->values)
		lib.OTF2_AttributeList_Delete(a->values);
	if (a->otf2 && lib.OTF2_Archive_Close(a->otf2) != OTF2_SUCCESS)
		good = false;
	if (good && rename(a->temporary, a->path) < 0) {
		msg_error("%s: %s", a->path, strerror(errno));
		good = false;
	}
	if (!good && a->temporary)
		(void)!files_remove_tree(a->temporary);
	for (size_t i = 0; i < a->texts_room; i++)
		free(a->texts[i].s);
	free(a->texts);
	free(a->attributes);
	free(a->events);
	free(a->temporary);
	free(a);
	return good;
}

const struct export_format export_otf2 = { .name = "otf2", .by_thread = true, .open_folder = open_folder, .close_folder = close_folder,
					   .thread = thread, .enter = enter, .leave = leave, .lost = lost, .thread_end = thread_end,
					   .end = end };

#endif
