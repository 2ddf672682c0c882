/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OpenMP in OTF2: a thread forks a team where a parallel region begins, each thread is in the team for its implicit task, and the
 * first one joins it.  Which threads of a process make up a team is known when it has ended, and a team is what records refer to: so
 * there is one for each process, of all its threads.
 */
#include "config.h"

#ifdef HAVE_OTF2

#include "launcher/export/otf2-private.h"

#include <stdlib.h>
#include <string.h>

enum { OTHER, PARALLEL, IMPLICIT }; /* of a function */

bool otf2_openmp_begin(struct export *x)
{
	struct otf2_archive *a = x->private;

	a->construct = calloc(sonde_trace_functions(x->trace) + 1, sizeof(*a->construct));
	for (size_t i = 0; a->construct && i < sonde_trace_sites(x->trace); i++) {
		const struct sonde_trace_site *s = sonde_trace_site(x->trace, i);
		const char *name = s->function ? s->function->name : "";

		if (!s->module || strcmp(s->module->name, "openmp") != 0)
			continue;
		if (strcmp(name, "omp parallel") == 0)
			a->construct[s->function->index] = PARALLEL;
		else if (strcmp(name, "omp implicit task") == 0)
			a->construct[s->function->index] = IMPLICIT;
		else
			continue;
		a->teams = (uint32_t)x->nprocesses;
	}
	return a->construct;
}

static int construct(const struct otf2_archive *a, const struct sonde_trace_function *f)
{
	return f ? a->construct[f->index] : OTHER;
}

static uint32_t team_of(const struct export *x, const struct sonde_trace_thread *t)
{
	return (uint32_t)(x->of[t->index] - x->process);
}

/* How many threads the program asks for; 0: as many as the runtime likes. */
static uint32_t asked(const struct sonde_trace_event *ev)
{
	for (size_t i = 0; i < ev->nvalues; i++)
		if (ev->values[i].type == SONDE_TRACE_U32 && strcmp(ev->values[i].name, "asked") == 0)
			return (uint32_t)ev->values[i].u;
	return 0;
}

void otf2_openmp_before_enter(struct export *x, const struct sonde_trace_event *ev)
{
	const struct otf2_archive *a = x->private;

	if (construct(a, ev->function) == IMPLICIT)
		otf2_check(x, otf2_lib.OTF2_EvtWriter_ThreadTeamBegin(a->writer[ev->thread->index], NULL, ev->time, team_of(x, ev->thread)));
}

void otf2_openmp_entered(struct export *x, const struct sonde_trace_event *ev)
{
	const struct otf2_archive *a = x->private;

	if (construct(a, ev->function) == PARALLEL)
		otf2_check(x, otf2_lib.OTF2_EvtWriter_ThreadFork(a->writer[ev->thread->index], NULL, ev->time, OTF2_PARADIGM_OPENMP, asked(ev)));
}

void otf2_openmp_before_leave(struct export *x, const struct sonde_trace_thread *t, const struct sonde_trace_function *f, uint64_t time)
{
	const struct otf2_archive *a = x->private;

	if (construct(a, f) == PARALLEL)
		otf2_check(x, otf2_lib.OTF2_EvtWriter_ThreadJoin(a->writer[t->index], NULL, time, OTF2_PARADIGM_OPENMP));
}

void otf2_openmp_left(struct export *x, const struct sonde_trace_thread *t, const struct sonde_trace_function *f, uint64_t time)
{
	const struct otf2_archive *a = x->private;

	if (construct(a, f) == IMPLICIT)
		otf2_check(x, otf2_lib.OTF2_EvtWriter_ThreadTeamEnd(a->writer[t->index], NULL, time, team_of(x, t)));
}

/* ---- definitions ---- */

void otf2_openmp_texts(struct export *x)
{
	(void)otf2_text(x, "OpenMP");
	(void)otf2_text(x, "threads of a process");
}

static void define_group(struct export *x, OTF2_GlobalDefWriter *w, uint32_t number, OTF2_GroupType type, const uint64_t *member, size_t n)
{
	otf2_check(x, otf2_lib.OTF2_GlobalDefWriter_WriteGroup(w, number, otf2_text(x, ""), type, OTF2_PARADIGM_OPENMP, OTF2_GROUP_FLAG_NONE,
							       (uint32_t)n, member));
}

void otf2_openmp_define(struct export *x, OTF2_GlobalDefWriter *w)
{
	struct otf2_archive *a = x->private;
	size_t threads = sonde_trace_threads(x->trace), n = 0;
	uint64_t *location, *member, *position; /* location, and position in the list of them, of those that have events */

	if (!a->teams)
		return;
	location = calloc(threads + 1, sizeof(*location));
	position = calloc(threads + 1, sizeof(*position));
	member = calloc(threads + 1, sizeof(*member));
	x->buf.failed |= !location || !position || !member;
	for (size_t i = 0; !x->buf.failed && i < threads; i++) {
		position[i] = n;
		if (a->events[i])
			location[n++] = i;
	}
	if (!x->buf.failed) {
		otf2_check(x, otf2_lib.OTF2_GlobalDefWriter_WriteParadigm(w, OTF2_PARADIGM_OPENMP, otf2_text(x, "OpenMP"),
									  OTF2_PARADIGM_CLASS_THREAD_FORK_JOIN));
		define_group(x, w, a->groups++, OTF2_GROUP_TYPE_COMM_LOCATIONS, location, n);
	}
	for (uint32_t team = 0; team < a->teams && !x->failed && !x->buf.failed; team++, a->groups++) {
		size_t members = 0;

		for (size_t i = 0; i < threads; i++)
			if (a->events[i] && x->of[i] == &x->process[team])
				member[members++] = position[i];
		define_group(x, w, a->groups, OTF2_GROUP_TYPE_COMM_GROUP, member, members);
		otf2_check(x, otf2_lib.OTF2_GlobalDefWriter_WriteComm(w, team, otf2_text(x, "threads of a process"), a->groups, OTF2_UNDEFINED_COMM,
								      OTF2_COMM_FLAG_NONE));
	}
	free(location);
	free(position);
	free(member);
}

#endif
