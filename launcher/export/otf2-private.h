/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of this format share: the library, found when it is needed, and the archive that is written. */
#ifndef SONDE_LAUNCHER_EXPORT_OTF2_PRIVATE_H
#define SONDE_LAUNCHER_EXPORT_OTF2_PRIVATE_H

#include <otf2/otf2.h>

#include "launcher/export/export.h"

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
	F(OTF2_GlobalDefWriter_WriteLocation) F(OTF2_Error_GetDescription) F(OTF2_Error_RegisterCallback)                \
	F(OTF2_EvtWriter_MpiSend) F(OTF2_EvtWriter_MpiIsend) F(OTF2_EvtWriter_MpiIsendComplete)                         \
	F(OTF2_EvtWriter_MpiIrecvRequest) F(OTF2_EvtWriter_MpiRecv) F(OTF2_EvtWriter_MpiIrecv)                          \
	F(OTF2_EvtWriter_MpiRequestCancelled) F(OTF2_EvtWriter_MpiCollectiveBegin)                                      \
	F(OTF2_EvtWriter_MpiCollectiveEnd) F(OTF2_GlobalDefWriter_WriteParadigm) F(OTF2_GlobalDefWriter_WriteGroup)     \
	F(OTF2_GlobalDefWriter_WriteComm) F(OTF2_GlobalDefWriter_WriteInterComm)                                        \
	F(OTF2_EvtWriter_ThreadFork) F(OTF2_EvtWriter_ThreadJoin)                                                       \
	F(OTF2_EvtWriter_ThreadTeamBegin) F(OTF2_EvtWriter_ThreadTeamEnd)

struct otf2_library {
#define MEMBER(f) __typeof__(f) *f;
	FUNCTIONS(MEMBER)
#undef MEMBER
};
extern struct otf2_library otf2_lib;

struct otf2_attribute {
	uint32_t name; /* ref of a text */
	OTF2_Type type;
};

struct otf2_recent {
	const char *name; /* NULL: nothing yet */
	OTF2_Type type;
	uint32_t ref;
};

struct otf2_archive {
	struct output_folder folder;
	OTF2_Archive *otf2;
	OTF2_EvtWriter **writer; /* by thread */
	OTF2_AttributeList *values;
	struct export_texts texts;
	struct otf2_attribute *attributes;
	size_t nattributes, attributes_room;
	struct otf2_recent recent[256]; /* attributes that were used */
	uint64_t *events; /* by thread */
	int64_t *place;	  /* of MPI: by rank, its thread; -1: none */
	int ranks;
	uint64_t facts; /* of MPI, written */
	uint8_t *construct; /* of OpenMP, by function */
	uint32_t teams;	 /* numbers of communicators that OpenMP has; those of MPI follow */
	uint32_t groups; /* that are defined, numbered from 0 */
};

/* False after a message, if @code is an error. */
bool otf2_check(struct export *x, OTF2_ErrorCode code);
/* The number of a text, which is defined if that comes before the definitions are written. */
uint32_t otf2_text(struct export *x, const char *s);

/* Which thread stands for a rank. */
bool otf2_mpi_begin(struct export *x) __attribute__((warn_unused_result));
void otf2_mpi_fact(struct export *x, const struct sonde_trace_event *ev, const struct mpi_fact *fact);
/* Texts, and, with locations defined, groups and communicators. */
void otf2_mpi_texts(struct export *x);
void otf2_mpi_define(struct export *x, OTF2_GlobalDefWriter *w);

/* Which functions are OpenMP's, and whether there are any: before otf2_mpi_begin(). */
bool otf2_openmp_begin(struct export *x) __attribute__((warn_unused_result));
/* Records around those of a call's entry and return. */
void otf2_openmp_before_enter(struct export *x, const struct sonde_trace_event *ev);
void otf2_openmp_entered(struct export *x, const struct sonde_trace_event *ev);
void otf2_openmp_before_leave(struct export *x, const struct sonde_trace_thread *t, const struct sonde_trace_function *f, uint64_t time);
void otf2_openmp_left(struct export *x, const struct sonde_trace_thread *t, const struct sonde_trace_function *f, uint64_t time);
/* Texts, and before MPI's groups and communicators those of teams. */
void otf2_openmp_texts(struct export *x);
void otf2_openmp_define(struct export *x, OTF2_GlobalDefWriter *w);

#endif
