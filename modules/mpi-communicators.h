/* SPDX-License-Identifier: MIT */
/* The part of the module mpi for communicators: which processes each has, how it is made; processes that are started or connected to. */

/* ---- whose ranks a communicator's are ---- */

/* Numbers as text, "0-3,8,10-14:2": from, to, and by how much where that is not 1; "x": none. */
struct ranks {
	char text[1000];
	int n; /* of that */
	int from, to, step, count; /* those that are not in it yet; count 0: none */
};

static void put_number(struct ranks *r, int v)
{
	char digits[12];
	int n = 0;

	if (v < 0) {
		r->text[r->n++] = '-';
		v = -v;
	}
	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		r->text[r->n++] = digits[--n];
}

static void end_run(struct ranks *r)
{
	if (!r->count)
		return;
	if (r->n)
		r->text[r->n++] = ',';
	if (r->from < 0) {
		r->text[r->n++] = 'x';
	} else {
		put_number(r, r->from);
		if (r->count > 1) {
			r->text[r->n++] = '-';
			put_number(r, r->to);
		}
		if (r->count > 1 && r->step != 1) {
			r->text[r->n++] = ':';
			put_number(r, r->step);
		}
	}
	r->count = 0;
}

/* @rank: negative: none. */
static void put_rank(struct ranks *r, int rank)
{
	bool goes_on = r->count && r->from >= 0 && rank >= 0 &&
		       (r->count > 1 ? rank == r->to + r->step : rank > r->from);

	if (!goes_on) {
		end_run(r);
		r->from = rank;
	} else if (r->count == 1) {
		r->step = rank - r->from;
	}
	r->to = rank;
	r->count++;
}

#define RANKS_AT_ONCE 64

/*
 * Points communicator:ranks, as many as are needed; the others' if @remote.  No @group: it is MPI_COMM_WORLD, and nothing has to be asked
 * that a statically linked program may not have.
 */
static void communicator(MPI_Comm comm, const MPI_Group *group, const MPI_Group *world, bool remote)
{
	int size = 0, in[RANKS_AT_ONCE], out[RANKS_AT_ONCE];
	struct ranks r;

	if (group ? !ASK(MPI_Group_size, *group, &size) : !ASK(MPI_Comm_size, comm, &size))
		return;
	r.n = r.count = 0;
	for (int at = 0, first = 0; at < size; at += RANKS_AT_ONCE) {
		int n = size - at < RANKS_AT_ONCE ? size - at : RANKS_AT_ONCE;

		for (int i = 0; i < n; i++)
			((volatile int *)in)[i] = at + i;
		if (group && !ASK(MPI_Group_translate_ranks, *group, n, in, *world, out))
			return;
		for (int i = 0; i < n; i++) {
			put_rank(&r, group ? out[i] : in[i]);
			if (r.n > (int)sizeof(r.text) - 40 || at + i + 1 == size) {
				end_run(&r);
				sonde_point("ranks", COMM, SONDE_I32("first", first),
					    SONDE_I32("remote", remote),
					    SONDE_STRN("world", r.text, r.n));
				first = at + i + 1;
				r.n = 0;
			}
		}
	}
}

/* Of a communicator that is new. Without MPI_COMM_WORLD (sessions alone) its processes have no numbers that others know. */
static void describe(int result, MPI_Comm comm)
{
	MPI_Group world_group, group;
	int there = 0;

	if (result != MPI_SUCCESS || comm == MPI_COMM_NULL || !world())
		return;
	if (comm == world()) {
		communicator(comm, NULL, NULL, false);
		return;
	}
	if (!ASK(MPI_Initialized, &there) || !there || !ASK(MPI_Comm_group, world(), &world_group))
		return;
	if (ASK(MPI_Comm_group, comm, &group)) {
		communicator(comm, &group, &world_group, false);
		(void)ASK(MPI_Group_free, &group);
	}
	if (between_groups(comm) && ASK(MPI_Comm_remote_group, comm, &group)) {
		communicator(comm, &group, &world_group, true);
		(void)ASK(MPI_Group_free, &group);
	}
	(void)ASK(MPI_Group_free, &world_group);
}

#define DESCRIBE describe(result, *newcomm)

/* ---- communicators that are made ---- */

#define COMM_NEW(name, params, args, ...)                                                      \
	CALL_THEN(name, params, args, (COMM, ##__VA_ARGS__, WAITS(COLLECTIVES)), DESCRIBE,     \
	     (NEW("newcomm", newcomm), RESULT))
#define CONNECT(name, params, args, ...)                                                       \
	CALL_THEN(name, params, args, (__VA_ARGS__, WAITS(PROCESSES)), DESCRIBE,               \
	     (NEW("newcomm", newcomm), RESULT))
COMM_NEW(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm *newcomm), (comm, newcomm))
COMM_NEW(MPI_Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm),
	 (comm, info, newcomm))
CALL(MPI_Comm_idup, (MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request),
     (comm, newcomm, request), (COMM), (NEW("newcomm", newcomm), REQUEST, RESULT))
COMM_NEW(MPI_Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm),
	 (comm, group, newcomm))
COMM_NEW(MPI_Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm),
	 (comm, group, tag, newcomm), TAG(tag))
COMM_NEW(MPI_Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *newcomm),
	 (comm, color, key, newcomm), SONDE_I32("color", color), SONDE_I32("key", key))
COMM_NEW(MPI_Comm_split_type,
	 (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *newcomm),
	 (comm, type, key, info, newcomm), SONDE_I32("type", type), SONDE_I32("key", key))
COMM_NEW(MPI_Intercomm_create,
	 (MPI_Comm comm, int leader, MPI_Comm peer_comm, int remote_leader, int tag,
	  MPI_Comm *newcomm),
	 (comm, leader, peer_comm, remote_leader, tag, newcomm), TAG(tag))
COMM_NEW(MPI_Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *newcomm),
	 (comm, high, newcomm))
COMM_NEW(MPI_Cart_create,
	 (MPI_Comm comm, int n, const int *dims, const int *periods, int reorder,
	  MPI_Comm *newcomm),
	 (comm, n, dims, periods, reorder, newcomm), SONDE_I32("dims", n))
COMM_NEW(MPI_Cart_sub, (MPI_Comm comm, const int *remain, MPI_Comm *newcomm),
	 (comm, remain, newcomm))
COMM_NEW(MPI_Graph_create,
	 (MPI_Comm comm, int n, const int *index, const int *edges, int reorder,
	  MPI_Comm *newcomm),
	 (comm, n, index, edges, reorder, newcomm), SONDE_I32("nodes", n))
COMM_NEW(MPI_Dist_graph_create,
	 (MPI_Comm comm, int n, const int *sources, const int *degrees, const int *targets,
	  const int *weights, MPI_Info info, int reorder, MPI_Comm *newcomm),
	 (comm, n, sources, degrees, targets, weights, info, reorder, newcomm))
COMM_NEW(MPI_Dist_graph_create_adjacent,
	 (MPI_Comm comm, int in, const int *sources, const int *in_weights, int out,
	  const int *targets, const int *out_weights, MPI_Info info, int reorder,
	  MPI_Comm *newcomm),
	 (comm, in, sources, in_weights, out, targets, out_weights, info, reorder, newcomm),
	 SONDE_I32("in", in), SONDE_I32("out", out))
CALL(MPI_Comm_set_name, (MPI_Comm comm, const char *name), (comm, name), (COMM, SONDE_STR("name", name)), DONE)
#if MPI_VERSION >= 4
CALL(MPI_Comm_idup_with_info,
     (MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request),
     (comm, info, newcomm, request), (COMM), (NEW("newcomm", newcomm), REQUEST, RESULT))
CALL_THEN(MPI_Comm_create_from_group,
     (MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm *newcomm),
     (group, tag, info, handler, newcomm), (SONDE_STR("tag", tag), WAITS(COLLECTIVES)), DESCRIBE,
     (NEW("newcomm", newcomm), RESULT))
CALL_THEN(MPI_Intercomm_create_from_groups,
     (MPI_Group group, int leader, MPI_Group remote, int remote_leader, const char *tag,
      MPI_Info info, MPI_Errhandler handler, MPI_Comm *newcomm),
     (group, leader, remote, remote_leader, tag, info, handler, newcomm),
     (SONDE_STR("tag", tag), WAITS(COLLECTIVES)), DESCRIBE, (NEW("newcomm", newcomm), RESULT))
#endif
CALL(MPI_Comm_free, (MPI_Comm *comm), (comm), (NEW("comm", comm), WAITS(COLLECTIVES)), DONE)

CONNECT(MPI_Comm_spawn,
	(const char *command, char **argv, int n, MPI_Info info, int root, MPI_Comm comm,
	 MPI_Comm *newcomm, int *errors),
	(command, argv, n, info, root, comm, newcomm, errors), COMM, SONDE_I32("processes", n))
CONNECT(MPI_Comm_spawn_multiple,
	(int n, char **commands, char ***argvs, const int *counts, const MPI_Info *infos, int root,
	 MPI_Comm comm, MPI_Comm *newcomm, int *errors),
	(n, commands, argvs, counts, infos, root, comm, newcomm, errors), COMM,
	SONDE_I32("processes", root == rank_in(comm) ? SUM(counts, n) : 0))
CONNECT(MPI_Comm_accept,
	(const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm),
	(port, info, root, comm, newcomm), COMM, ROOT)
CONNECT(MPI_Comm_connect,
	(const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm),
	(port, info, root, comm, newcomm), COMM, ROOT)
CONNECT(MPI_Comm_join, (int fd, MPI_Comm *newcomm), (fd, newcomm), SONDE_I32("fd", fd))
CALL(MPI_Comm_disconnect, (MPI_Comm *comm), (comm), (NEW("comm", comm), WAITS(PROCESSES)), DONE)
CALL(MPI_Lookup_name, (const char *service, MPI_Info info, char *port), (service, info, port),
     (SONDE_STR("service", service), WAITS(PROCESSES)), DONE)
CALL(MPI_Publish_name, (const char *service, MPI_Info info, const char *port),
     (service, info, port), (SONDE_STR("service", service), WAITS(PROCESSES)), DONE)
CALL(MPI_Unpublish_name, (const char *service, MPI_Info info, const char *port),
     (service, info, port), (SONDE_STR("service", service), WAITS(PROCESSES)), DONE)
