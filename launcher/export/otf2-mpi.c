/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * MPI in OTF2: what is sent and received, by ranks of communicators; collective operations; the groups that communicators are made
 * of.  Members of a group are positions in one list, of the location that stands for each rank of MPI_COMM_WORLD.
 */
#include "config.h"

#ifdef HAVE_OTF2

#include "launcher/export/otf2-private.h"
#include "launcher/mpi/mpi.h"

#include <stdlib.h>
#include <string.h>

#define MOST_RANKS (1 << 24)

bool otf2_mpi_begin(struct export *x)
{
	struct otf2_archive *a = x->private;
	size_t n = sonde_trace_threads(x->trace);

	for (size_t i = 0; i < n; i++) {
		int rank = sonde_trace_rank(x->trace, sonde_trace_thread(x->trace, i)->rank_index)->rank;

		if (rank >= a->ranks && rank < MOST_RANKS)
			a->ranks = rank + 1;
	}
	a->place = calloc((size_t)a->ranks + 1, sizeof(*a->place));
	for (int i = 0; a->place && i < a->ranks; i++)
		a->place[i] = -1;
	for (size_t i = 0; a->place && i < n; i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(x->trace, i);
		const struct sonde_trace_rank *part = sonde_trace_rank(x->trace, t->rank_index);

		/* the first run's: one list is all that the format has */
		if (part->rank >= 0 && part->rank < a->ranks && part->run == 1 && t->events && a->place[part->rank] < 0)
			a->place[part->rank] = (int64_t)i;
	}
	return a->place;
}

/* Has each of its processes a location? */
static bool has_places(const struct otf2_archive *a, const struct mpi_group *g)
{
	bool good = g->run == 1;

	for (size_t i = 0; good && i < g->n + (size_t)g->remote; i++)
		good = g->world[i] >= 0 && g->world[i] < a->ranks && a->place[g->world[i]] >= 0;
	return good;
}

/* Those of OpenMP's teams come before. */
static uint32_t number_of(const struct otf2_archive *a, const struct mpi_comm *c)
{
	return a->teams + c->index;
}

static OTF2_CollectiveOp operation(enum mpi_collective op)
{
	static const OTF2_CollectiveOp ops[] = {
		[MPI_OP_BARRIER] = OTF2_COLLECTIVE_OP_BARRIER,
		[MPI_OP_BCAST] = OTF2_COLLECTIVE_OP_BCAST,
		[MPI_OP_GATHER] = OTF2_COLLECTIVE_OP_GATHER,
		[MPI_OP_GATHERV] = OTF2_COLLECTIVE_OP_GATHERV,
		[MPI_OP_SCATTER] = OTF2_COLLECTIVE_OP_SCATTER,
		[MPI_OP_SCATTERV] = OTF2_COLLECTIVE_OP_SCATTERV,
		[MPI_OP_ALLGATHER] = OTF2_COLLECTIVE_OP_ALLGATHER,
		[MPI_OP_ALLGATHERV] = OTF2_COLLECTIVE_OP_ALLGATHERV,
		[MPI_OP_ALLTOALL] = OTF2_COLLECTIVE_OP_ALLTOALL,
		[MPI_OP_ALLTOALLV] = OTF2_COLLECTIVE_OP_ALLTOALLV,
		[MPI_OP_ALLTOALLW] = OTF2_COLLECTIVE_OP_ALLTOALLW,
		[MPI_OP_REDUCE] = OTF2_COLLECTIVE_OP_REDUCE,
		[MPI_OP_ALLREDUCE] = OTF2_COLLECTIVE_OP_ALLREDUCE,
		[MPI_OP_SCAN] = OTF2_COLLECTIVE_OP_SCAN,
		[MPI_OP_EXSCAN] = OTF2_COLLECTIVE_OP_EXSCAN,
		[MPI_OP_REDUCE_SCATTER] = OTF2_COLLECTIVE_OP_REDUCE_SCATTER,
		[MPI_OP_REDUCE_SCATTER_BLOCK] = OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK,
		[MPI_OP_COMM] = OTF2_COLLECTIVE_OP_CREATE_HANDLE,
	};

	return ops[op];
}

/* The format has no operations among neighbours.  Of those that do not block only the calls are there. */
static bool is_written(const struct mpi_fact *f)
{
	return f->kind < MPI_COLLECTIVE || (f->blocking && f->op != MPI_OP_NEIGHBORS);
}

void otf2_mpi_fact(struct export *x, const struct sonde_trace_event *ev, const struct mpi_fact *f)
{
	struct otf2_archive *a = x->private;
	OTF2_EvtWriter *w = a->writer[ev->thread->index];
	uint32_t comm = f->comm ? number_of(a, f->comm) : 0, peer = (uint32_t)f->peer, tag = (uint32_t)f->tag;
	uint32_t root = f->root < 0 ? OTF2_UNDEFINED_UINT32 : (uint32_t)f->root;

	if (x->failed || !w || !f->comm || !is_written(f) || !has_places(a, f->comm->group))
		return;
	a->facts++;
	switch (f->kind) {
	case MPI_SENT:
		otf2_check(x, otf2_lib.OTF2_EvtWriter_MpiSend(w, NULL, ev->time, peer, comm, tag, f->bytes));
		break;
	case MPI_ISENT:
		otf2_check(x, otf2_lib.OTF2_EvtWriter_MpiIsend(w, NULL, ev->time, peer, comm, tag, f->bytes, f->request));
		break;
	case MPI_ISEND_DONE:
		otf2_check(x, otf2_lib.OTF2_EvtWriter_MpiIsendComplete(w, NULL, ev->time, f->request));
		break;
	case MPI_RECV_STARTED:
		otf2_check(x, otf2_lib.OTF2_EvtWriter_MpiIrecvRequest(w, NULL, ev->time, f->request));
		break;
	case MPI_RECEIVED:
		otf2_check(x, otf2_lib.OTF2_EvtWriter_MpiRecv(w, NULL, ev->time, peer, comm, tag, f->bytes));
		break;
	case MPI_IRECEIVED:
		otf2_check(x, otf2_lib.OTF2_EvtWriter_MpiIrecv(w, NULL, ev->time, peer, comm, tag, f->bytes, f->request));
		break;
	case MPI_CANCELLED:
		otf2_check(x, otf2_lib.OTF2_EvtWriter_MpiRequestCancelled(w, NULL, ev->time, f->request));
		break;
	case MPI_COLLECTIVE:
		otf2_check(x, otf2_lib.OTF2_EvtWriter_MpiCollectiveBegin(w, NULL, ev->time));
		break;
	case MPI_COLLECTIVE_END:
		otf2_check(x, otf2_lib.OTF2_EvtWriter_MpiCollectiveEnd(w, NULL, ev->time, operation(f->op), comm, root, f->sent, f->received));
		break;
	}
}

/* ---- definitions ---- */

void otf2_mpi_texts(struct export *x)
{
	(void)otf2_text(x, "MPI");
	for (size_t i = 0; x->mpi && mpi_comm(x->mpi, i); i++)
		(void)otf2_text(x, mpi_comm(x->mpi, i)->name);
}

/* The list: those of the ranks that are in the trace, by rank; position[] says where each is. */
static size_t list(const struct otf2_archive *a, uint64_t *location, uint64_t *position)
{
	size_t n = 0;

	for (int i = 0; i < a->ranks; i++) {
		position[i] = n;
		if (a->place[i] >= 0)
			location[n++] = (uint64_t)a->place[i];
	}
	return n;
}

/* Members that are not in the trace are left out; nothing that was written is of such a group. */
static void define_group(struct export *x, OTF2_GlobalDefWriter *w, uint32_t number, const int32_t *world, uint32_t n,
			 const uint64_t *position)
{
	const struct otf2_archive *a = x->private;
	uint64_t *member = calloc((size_t)n + 1, sizeof(*member));
	uint32_t members = 0;

	for (uint32_t i = 0; member && i < n; i++)
		if (world[i] >= 0 && world[i] < a->ranks && a->place[world[i]] >= 0)
			member[members++] = position[world[i]];
	if (member)
		otf2_check(x, otf2_lib.OTF2_GlobalDefWriter_WriteGroup(w, number, otf2_text(x, ""), OTF2_GROUP_TYPE_COMM_GROUP,
								       OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, members, member));
	x->buf.failed |= !member;
	free(member);
}

/* Numbers follow each other without a gap; a communicator between two groups has two. */
static void define_groups(struct export *x, OTF2_GlobalDefWriter *w, const uint64_t *position, uint32_t *number)
{
	struct otf2_archive *a = x->private;
	const struct mpi_group *g;

	for (size_t i = 0; (g = mpi_group(x->mpi, i)) && !x->failed; i++) {
		number[i] = a->groups;
		define_group(x, w, a->groups++, g->world, g->n, position);
		if (g->remote)
			define_group(x, w, a->groups++, g->world + g->n, g->remote, position);
	}
}

static void define_communicators(struct export *x, OTF2_GlobalDefWriter *w, const uint32_t *number)
{
	const struct otf2_archive *a = x->private;
	const struct mpi_comm *c;

	for (size_t i = 0; (c = mpi_comm(x->mpi, i)) && !x->failed; i++) {
		uint32_t name = otf2_text(x, c->name), group = number[c->group->index];

		if (c->group->remote)
			otf2_check(x, otf2_lib.OTF2_GlobalDefWriter_WriteInterComm(w, number_of(a, c), name, group, group + 1, OTF2_UNDEFINED_COMM,
										   OTF2_COMM_FLAG_NONE));
		else
			otf2_check(x, otf2_lib.OTF2_GlobalDefWriter_WriteComm(w, number_of(a, c), name, group, OTF2_UNDEFINED_COMM,
									      OTF2_COMM_FLAG_NONE));
	}
}

void otf2_mpi_define(struct export *x, OTF2_GlobalDefWriter *w)
{
	struct otf2_archive *a = x->private;
	uint64_t *location, *position;
	uint32_t *number;
	size_t n, groups = 0;

	if (!x->mpi || !a->facts)
		return;
	location = calloc((size_t)a->ranks + 1, sizeof(*location));
	position = calloc((size_t)a->ranks + 1, sizeof(*position));
	while (mpi_group(x->mpi, groups))
		groups++;
	number = calloc(groups + 1, sizeof(*number));
	if (location && position && number) {
		n = list(a, location, position);
		otf2_check(x, otf2_lib.OTF2_GlobalDefWriter_WriteParadigm(w, OTF2_PARADIGM_MPI, otf2_text(x, "MPI"), OTF2_PARADIGM_CLASS_PROCESS));
		otf2_check(x, otf2_lib.OTF2_GlobalDefWriter_WriteGroup(w, a->groups++, otf2_text(x, ""), OTF2_GROUP_TYPE_COMM_LOCATIONS,
								       OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, (uint32_t)n, location));
		define_groups(x, w, position, number);
		define_communicators(x, w, number);
	}
	x->buf.failed |= !location || !position || !number;
	free(number);
	free(location);
	free(position);
}

#endif
