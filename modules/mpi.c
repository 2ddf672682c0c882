// SPDX-License-Identifier: MIT
/*
 * mpi: messages, collective operations, one-sided communication, files.
 *
 * Built once for Open MPI and once for MPICH and what shares its ABI, for the two have different
 * handles; only the one whose library the program loads becomes active.
 *
 * Each function is one line: the macros SEND, BCAST, PUT... hold what is recorded for a kind of
 * function.  Sizes are bytes of this process's part of the operation: count times the size of the
 * datatype, for the arguments that MPI calls significant at this rank; data that is there already
 * (MPI_IN_PLACE) counts as if it came from a buffer of its own.  doc/modules.md has it by field.
 *
 * Whatever may block until another process, or a disk, has done something counts as waiting: what MPI calls nonlocal.
 * Starting an operation does not; nor does asking whether it is done, which is apart, lest the time be missed.
 */
#include <mpi.h>
#include <stdbool.h>
#include <sonde/module.h>

#ifdef OPEN_MPI
SONDE_MODULE_FOR("mpi", "messages, collectives, one-sided communication and files (Open MPI)",
		 "libmpi.so.40 libmpi.so.20");
/* The library is not linked with; where it is not there yet, the address of this is 0. */
#pragma weak ompi_mpi_comm_world
#else
SONDE_MODULE_FOR("mpi", "messages, collectives, one-sided communication and files (MPICH)",
		 "libmpich.so.12 libmpi.so.12");
#endif

/* ---- one function ---- */

/* Name, parameters, arguments, what is recorded at entry and at return. */
#define CALL(name, params, args, before, after) CALL_WITH(name, params, args, , before, after)
/* The same with code that comes first. */
#define CALL_WITH(name, params, args, code, before, after)                                     \
	_Static_assert(__builtin_types_compatible_p(__typeof__(name), int params),             \
		       "not the prototype of mpi.h");                                          \
	SONDE_WRAP_IF_PRESENT(int, name, params)                                               \
	{                                                                                      \
		code;                                                                          \
		sonde_enter before;                                                            \
		int result = SONDE_REAL(name) args;                                            \
		sonde_leave after;                                                             \
		return result;                                                                 \
	}

/*
 * What the module calls itself.  The wrappers only make Sonde look for these functions, wherever
 * the program's MPI library is, also one that is loaded late and for itself.
 */
#define HELPER(name, params, args)                                                             \
	_Static_assert(__builtin_types_compatible_p(__typeof__(name), int params),             \
		       "not the prototype of mpi.h");                                          \
	SONDE_WRAP_IF_PRESENT(int, name, params)                                               \
	{                                                                                      \
		return SONDE_REAL_POINTER(name) args;                                          \
	}
#define ASK(name, ...)                                                                         \
	(SONDE_REAL_POINTER(name) && SONDE_REAL_POINTER(name)(__VA_ARGS__) == MPI_SUCCESS)

HELPER(MPI_Type_size_x, (MPI_Datatype t, MPI_Count *size), (t, size))
HELPER(MPI_Comm_test_inter, (MPI_Comm comm, int *inter), (comm, inter))
HELPER(MPI_Comm_remote_size, (MPI_Comm comm, int *size), (comm, size))
HELPER(MPI_Topo_test, (MPI_Comm comm, int *kind), (comm, kind))
HELPER(MPI_Cartdim_get, (MPI_Comm comm, int *dims), (comm, dims))
HELPER(MPI_Graph_neighbors_count, (MPI_Comm comm, int rank, int *n), (comm, rank, n))
HELPER(MPI_Dist_graph_neighbors_count, (MPI_Comm comm, int *in, int *out, int *weighted),
       (comm, in, out, weighted))

/* ---- fields ---- */

/* A handle is a pointer in Open MPI and mostly an int in MPICH. */
#define HANDLE(name, h)                                                                        \
	SONDE_PTR(name, sizeof(h) == 4 ? (uintptr_t)(h) & 0xffffffff : (uintptr_t)(h))
#define COMM HANDLE("comm", comm)
#define REQUEST HANDLE("request", *request)
#define WIN HANDLE("win", win)
#define FILE_ HANDLE("file", file)
#define NEW(name, h) HANDLE(name, *(h))
#define PEER(rank) SONDE_I32("peer", rank)
#define TAG(tag) SONDE_I32("tag", tag)
#define ROOT SONDE_I32("root", root)
#define RESULT SONDE_I32("result", result)
#define DONE (RESULT)

/*
 * The same operation may be blocking, nonblocking or persistent.  How it is called, what it gives
 * back, and whether its bytes are an amount transferred (a persistent one only plans it).
 */
#define PARAMS_NOW
#define ARGS_NOW
#define AFTER_NOW DONE
#define AMOUNT_NOW SONDE_BYTES
#define WAITS_NOW(what) , SONDE_WAIT_FOR(what)
#define PARAMS_LATER , MPI_Request *request
#define ARGS_LATER , request
#define AFTER_LATER (REQUEST, RESULT)
#define AMOUNT_LATER SONDE_BYTES
#define WAITS_LATER(what)
#define PARAMS_PLAN , MPI_Request *request
#define ARGS_PLAN , request
#define AFTER_PLAN (REQUEST, RESULT)
#define AMOUNT_PLAN SONDE_U64
#define WAITS_PLAN(what)
#define PARAMS_INIT , MPI_Info info, MPI_Request *request
#define ARGS_INIT , info, request
#define AFTER_INIT (REQUEST, RESULT)
#define AMOUNT_INIT SONDE_U64
#define WAITS_INIT WAITS_NOW /* planning a collective operation is collective */

/* What time goes to. */
#define POINT_TO_POINT "point to point"
#define COMPLETION "completion"
#define PROBES "probes"
#define COLLECTIVES "collectives"
#define ONE_SIDED "one-sided"
#define FILES "files"
#define PROCESSES "spawning and connecting"
#define WAITS(what) SONDE_WAIT_FOR(what)
#define POLLS SONDE_APART("polling")
#define OUTSIDE SONDE_APART("Init and Finalize")

/* ---- amounts ---- */

static uint64_t bytes(MPI_Count n, MPI_Datatype t)
{
	MPI_Count size = 0;

	/* Where there is nothing to transfer the datatype may be none. */
	if (n <= 0 || !ASK(MPI_Type_size_x, t, &size) || size < 0)
		return 0;
	return (uint64_t)n * (uint64_t)size;
}

#define BYTES_TO(peer, n, t) ((peer) == MPI_PROC_NULL ? 0 : bytes(n, t))

/* Vectors of counts come with two widths, so this is no function. */
#define SUM(counts, n)                                                                         \
	(__extension__({                                                                       \
		MPI_Count sum_ = 0;                                                            \
		for (int i_ = 0, n_ = (n); i_ < n_; i_++)                                      \
			sum_ += (counts)[i_];                                                  \
		sum_;                                                                          \
	}))
#define SUM_BYTES(counts, types, n)                                                            \
	(__extension__({                                                                       \
		uint64_t sum_ = 0;                                                             \
		for (int i_ = 0, n_ = (n); i_ < n_; i_++)                                      \
			sum_ += bytes((counts)[i_], (types)[i_]);                              \
		sum_;                                                                          \
	}))

static bool in_place(const void *buf)
{
	return buf == MPI_IN_PLACE;
}

/* What a status says was received, where the libraries keep it. */
static uint64_t received(int result, const MPI_Status *status)
{
	if (result != MPI_SUCCESS)
		return 0;
#ifdef OPEN_MPI
	return status->_ucount;
#else
	return (uint64_t)((unsigned int)status->count_hi_and_cancelled >> 1) << 32 |
	       (unsigned int)status->count_lo;
#endif
}

#define FROM_STATUS(status)                                                                    \
	PEER((status)->MPI_SOURCE), TAG((status)->MPI_TAG)
/* The caller may not want the status; we do. */
#define WANT_STATUS                                                                            \
	MPI_Status own = { .MPI_SOURCE = MPI_PROC_NULL, .MPI_TAG = MPI_ANY_TAG };              \
	if (status == MPI_STATUS_IGNORE)                                                       \
		status = &own

/* ---- communicators ---- */

CALL(MPI_Comm_rank, (MPI_Comm comm, int *rank), (comm, rank), (COMM),
     (SONDE_I32("rank", result == MPI_SUCCESS ? *rank : -1)))
CALL(MPI_Comm_size, (MPI_Comm comm, int *size), (comm, size), (COMM),
     (SONDE_I32("size", result == MPI_SUCCESS ? *size : -1)))

static int rank_in(MPI_Comm comm)
{
	int rank = 0;

	return ASK(MPI_Comm_rank, comm, &rank) ? rank : 0;
}

static int size_of(MPI_Comm comm)
{
	int size = 0;

	return ASK(MPI_Comm_size, comm, &size) ? size : 0;
}

static bool between_groups(MPI_Comm comm)
{
	int inter = 0;

	return ASK(MPI_Comm_test_inter, comm, &inter) && inter;
}

/* How many processes this one exchanges data with in a collective operation, itself included. */
static int peers(MPI_Comm comm)
{
	int size = 0;

	if (!between_groups(comm))
		return size_of(comm);
	return ASK(MPI_Comm_remote_size, comm, &size) ? size : 0;
}

/* Is this the process that collects or distributes? */
static bool is_root(int root, MPI_Comm comm)
{
	return between_groups(comm) ? root == MPI_ROOT : root == rank_in(comm);
}

/* Does this process give to the root, or get from it?  Between groups the root's does not. */
static bool is_leaf(int root, MPI_Comm comm)
{
	return !between_groups(comm) || (root != MPI_ROOT && root != MPI_PROC_NULL);
}

struct degree {
	int in, out;
};

/* The neighbours in the process topology of a communicator. */
static struct degree neighbors(MPI_Comm comm)
{
	struct degree d;
	int kind = MPI_UNDEFINED;
	int weighted;

	d.in = d.out = 0;
	if (!ASK(MPI_Topo_test, comm, &kind))
		return d;
	if (kind == MPI_CART && ASK(MPI_Cartdim_get, comm, &d.in))
		d.in = d.out = 2 * d.in;
	else if (kind == MPI_GRAPH && ASK(MPI_Graph_neighbors_count, comm, rank_in(comm), &d.in))
		d.out = d.in;
	else if (kind == MPI_DIST_GRAPH)
		(void)ASK(MPI_Dist_graph_neighbors_count, comm, &d.in, &d.out, &weighted);
	return d;
}

static MPI_Comm world(void)
{
	return MPI_COMM_WORLD;
}

#ifdef OPEN_MPI
#define IN_WORLD(ask) (world() ? ask(world()) : -1)
#else
#define IN_WORLD(ask) ask(world())
#endif
#define PLACE                                                                                  \
	SONDE_I32("rank", result == MPI_SUCCESS ? IN_WORLD(rank_in) : -1),                     \
	SONDE_I32("size", result == MPI_SUCCESS ? IN_WORLD(size_of) : -1)

CALL(MPI_Init, (int *argc, char ***argv), (argc, argv), (OUTSIDE), (PLACE))
CALL(MPI_Init_thread, (int *argc, char ***argv, int required, int *provided),
     (argc, argv, required, provided), (SONDE_I32("required", required), OUTSIDE),
     (PLACE, SONDE_I32("provided", result == MPI_SUCCESS ? *provided : -1)))
CALL(MPI_Finalize, (void), (), (OUTSIDE), DONE)
#if MPI_VERSION >= 4
CALL(MPI_Session_init, (MPI_Info info, MPI_Errhandler handler, MPI_Session *session),
     (info, handler, session), (OUTSIDE), (NEW("session", session), RESULT))
CALL(MPI_Session_finalize, (MPI_Session *session), (session), (NEW("session", session), OUTSIDE),
     DONE)
#endif

/* It ends the program: a point. */
SONDE_WRAP_IF_PRESENT(int, MPI_Abort, (MPI_Comm comm, int code))
{
	sonde_point("MPI_Abort", COMM, SONDE_I32("code", code));
	return SONDE_REAL_POINTER(MPI_Abort)(comm, code);
}

#define COMM_NEW(name, params, args, ...)                                                      \
	CALL(name, params, args, (COMM, ##__VA_ARGS__, WAITS(COLLECTIVES)),                    \
	     (NEW("newcomm", newcomm), RESULT))
#define CONNECT(name, params, args, ...)                                                       \
	CALL(name, params, args, (__VA_ARGS__, WAITS(PROCESSES)),                              \
	     (NEW("newcomm", newcomm), RESULT))
COMM_NEW(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm *newcomm), (comm, newcomm))
COMM_NEW(MPI_Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm),
	 (comm, info, newcomm))
CALL(MPI_Comm_idup, (MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request),
     (comm, newcomm, request), (COMM), (NEW("newcomm", newcomm), RESULT))
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
#if MPI_VERSION >= 4
CALL(MPI_Comm_create_from_group,
     (MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm *newcomm),
     (group, tag, info, handler, newcomm), (SONDE_STR("tag", tag), WAITS(COLLECTIVES)),
     (NEW("newcomm", newcomm), RESULT))
CALL(MPI_Intercomm_create_from_groups,
     (MPI_Group group, int leader, MPI_Group remote, int remote_leader, const char *tag,
      MPI_Info info, MPI_Errhandler handler, MPI_Comm *newcomm),
     (group, leader, remote, remote_leader, tag, info, handler, newcomm),
     (SONDE_STR("tag", tag), WAITS(COLLECTIVES)), (NEW("newcomm", newcomm), RESULT))
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

/* ---- one process to another ---- */

#define SEND(name, n_t, when)                                                                  \
	CALL(name,                                                                             \
	     (const void *buf, n_t n, MPI_Datatype t, int dest, int tag,                       \
	      MPI_Comm comm PARAMS_##when),                                                    \
	     (buf, n, t, dest, tag, comm ARGS_##when),                                         \
	     (AMOUNT_##when("bytes", BYTES_TO(dest, n, t)), PEER(dest), TAG(tag),              \
	      COMM WAITS_##when(POINT_TO_POINT)),                                              \
	     AFTER_##when)

/* What is posted is an upper bound of what will come. */
#define IRECV(name, n_t, when)                                                                 \
	CALL(name,                                                                             \
	     (void *buf, n_t n, MPI_Datatype t, int source, int tag,                           \
	      MPI_Comm comm PARAMS_##when),                                                    \
	     (buf, n, t, source, tag, comm ARGS_##when),                                       \
	     (AMOUNT_##when("bytes", BYTES_TO(source, n, t)), PEER(source), TAG(tag), COMM),   \
	     AFTER_##when)

#define RECV(name, n_t)                                                                        \
	CALL_WITH(name,                                                                        \
		  (void *buf, n_t n, MPI_Datatype t, int source, int tag, MPI_Comm comm,       \
		   MPI_Status *status),                                                        \
		  (buf, n, t, source, tag, comm, status), WANT_STATUS,                         \
		  (SONDE_U64("posted", BYTES_TO(source, n, t)), PEER(source), TAG(tag), COMM,  \
		   WAITS(POINT_TO_POINT)),                                                     \
		  (SONDE_BYTES("bytes", received(result, status)), FROM_STATUS(status), RESULT))

#define SENDRECV(name, n_t)                                                                    \
	CALL_WITH(name,                                                                        \
		  (const void *sbuf, n_t sn, MPI_Datatype st, int dest, int stag, void *rbuf,  \
		   n_t rn, MPI_Datatype rt, int source, int rtag, MPI_Comm comm,               \
		   MPI_Status *status),                                                        \
		  (sbuf, sn, st, dest, stag, rbuf, rn, rt, source, rtag, comm, status),        \
		  WANT_STATUS,                                                                 \
		  (SONDE_BYTES("sent", BYTES_TO(dest, sn, st)), SONDE_I32("dest", dest),       \
		   SONDE_I32("sendtag", stag), PEER(source), TAG(rtag), COMM,                  \
		   WAITS(POINT_TO_POINT)),                                                     \
		  (SONDE_BYTES("received", received(result, status)), FROM_STATUS(status),     \
		   RESULT))

#define SENDRECV_REPLACE(name, n_t)                                                            \
	CALL_WITH(name,                                                                        \
		  (void *buf, n_t n, MPI_Datatype t, int dest, int stag, int source, int rtag, \
		   MPI_Comm comm, MPI_Status *status),                                         \
		  (buf, n, t, dest, stag, source, rtag, comm, status), WANT_STATUS,            \
		  (SONDE_BYTES("sent", BYTES_TO(dest, n, t)), SONDE_I32("dest", dest),         \
		   SONDE_I32("sendtag", stag), PEER(source), TAG(rtag), COMM,                  \
		   WAITS(POINT_TO_POINT)),                                                     \
		  (SONDE_BYTES("received", received(result, status)), FROM_STATUS(status),     \
		   RESULT))

#define MRECV(name, n_t)                                                                       \
	CALL_WITH(name,                                                                        \
		  (void *buf, n_t n, MPI_Datatype t, MPI_Message *message, MPI_Status *status), \
		  (buf, n, t, message, status), WANT_STATUS,                                   \
		  (SONDE_U64("posted", bytes(n, t)), NEW("message", message),                  \
		   WAITS(POINT_TO_POINT)),                                                     \
		  (SONDE_BYTES("bytes", received(result, status)), FROM_STATUS(status), RESULT))

#define IMRECV(name, n_t)                                                                      \
	CALL(name,                                                                             \
	     (void *buf, n_t n, MPI_Datatype t, MPI_Message *message, MPI_Request *request),   \
	     (buf, n, t, message, request),                                                    \
	     (SONDE_BYTES("bytes", bytes(n, t)), NEW("message", message)), (REQUEST, RESULT))

/* Each function of MPI-3, and in MPI-4 the same with large counts. */
#if MPI_VERSION >= 4
#define SENDS(name, when) SEND(name, int, when) SEND(name##_c, MPI_Count, when)
#define IRECVS(name, when) IRECV(name, int, when) IRECV(name##_c, MPI_Count, when)
#define LARGE_TOO(KIND, name) KIND(name, int) KIND(name##_c, MPI_Count)
#else
#define SENDS(name, when) SEND(name, int, when)
#define IRECVS(name, when) IRECV(name, int, when)
#define LARGE_TOO(KIND, name) KIND(name, int)
#endif

SENDS(MPI_Send, NOW)
SENDS(MPI_Bsend, NOW)
SENDS(MPI_Ssend, NOW)
SENDS(MPI_Rsend, NOW)
SENDS(MPI_Isend, LATER)
SENDS(MPI_Ibsend, LATER)
SENDS(MPI_Issend, LATER)
SENDS(MPI_Irsend, LATER)
SENDS(MPI_Send_init, PLAN)
SENDS(MPI_Bsend_init, PLAN)
SENDS(MPI_Ssend_init, PLAN)
SENDS(MPI_Rsend_init, PLAN)
IRECVS(MPI_Irecv, LATER)
IRECVS(MPI_Recv_init, PLAN)
LARGE_TOO(RECV, MPI_Recv)
LARGE_TOO(SENDRECV, MPI_Sendrecv)
LARGE_TOO(SENDRECV_REPLACE, MPI_Sendrecv_replace)
LARGE_TOO(MRECV, MPI_Mrecv)
LARGE_TOO(IMRECV, MPI_Imrecv)

/* Looking for messages.  Without one the status means nothing. */
#define IF_FOUND(found, value, none) (result == MPI_SUCCESS && (found) ? (value) : (none))
#define FOUND(found)                                                                           \
	SONDE_U64("length", IF_FOUND(found, received(result, status), 0)),                     \
	PEER(IF_FOUND(found, status->MPI_SOURCE, MPI_PROC_NULL)),                              \
	TAG(IF_FOUND(found, status->MPI_TAG, MPI_ANY_TAG))

CALL_WITH(MPI_Probe, (int source, int tag, MPI_Comm comm, MPI_Status *status),
	  (source, tag, comm, status), WANT_STATUS, (PEER(source), TAG(tag), COMM, WAITS(PROBES)),
	  (FOUND(true), RESULT))
CALL_WITH(MPI_Iprobe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status),
	  (source, tag, comm, flag, status), WANT_STATUS, (PEER(source), TAG(tag), COMM, POLLS),
	  (SONDE_I32("flag", IF_FOUND(true, *flag, 0)), FOUND(*flag), RESULT))
CALL_WITH(MPI_Mprobe,
	  (int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
	  (source, tag, comm, message, status), WANT_STATUS,
	  (PEER(source), TAG(tag), COMM, WAITS(PROBES)),
	  (NEW("message", message), FOUND(true), RESULT))
CALL_WITH(MPI_Improbe,
	  (int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
	   MPI_Status *status),
	  (source, tag, comm, flag, message, status), WANT_STATUS,
	  (PEER(source), TAG(tag), COMM, POLLS),
	  (SONDE_I32("flag", IF_FOUND(true, *flag, 0)), FOUND(*flag), RESULT))

/* ---- requests ---- */

CALL_WITH(MPI_Wait, (MPI_Request *request, MPI_Status *status), (request, status), WANT_STATUS,
	  (REQUEST, WAITS(COMPLETION)), (FOUND(true), RESULT))
CALL_WITH(MPI_Test, (MPI_Request *request, int *flag, MPI_Status *status),
	  (request, flag, status), WANT_STATUS, (REQUEST, POLLS),
	  (SONDE_I32("flag", IF_FOUND(true, *flag, 0)), FOUND(*flag), RESULT))
CALL_WITH(MPI_Waitany, (int n, MPI_Request *v, int *index, MPI_Status *status),
	  (n, v, index, status), WANT_STATUS, (SONDE_I32("requests", n), WAITS(COMPLETION)),
	  (SONDE_I32("index", IF_FOUND(true, *index, MPI_UNDEFINED)),
	   FOUND(*index != MPI_UNDEFINED), RESULT))
CALL_WITH(MPI_Testany, (int n, MPI_Request *v, int *index, int *flag, MPI_Status *status),
	  (n, v, index, flag, status), WANT_STATUS, (SONDE_I32("requests", n), POLLS),
	  (SONDE_I32("flag", IF_FOUND(true, *flag, 0)),
	   SONDE_I32("index", IF_FOUND(*flag, *index, MPI_UNDEFINED)),
	   FOUND(*flag && *index != MPI_UNDEFINED), RESULT))
CALL(MPI_Waitall, (int n, MPI_Request *v, MPI_Status *status), (n, v, status),
     (SONDE_I32("requests", n), WAITS(COMPLETION)), DONE)
CALL(MPI_Testall, (int n, MPI_Request *v, int *flag, MPI_Status *status), (n, v, flag, status),
     (SONDE_I32("requests", n), POLLS), (SONDE_I32("flag", IF_FOUND(true, *flag, 0)), RESULT))
CALL(MPI_Waitsome, (int n, MPI_Request *v, int *done, int *indices, MPI_Status *status),
     (n, v, done, indices, status), (SONDE_I32("requests", n), WAITS(COMPLETION)),
     (SONDE_I32("done", IF_FOUND(true, *done, 0)), RESULT))
CALL(MPI_Testsome, (int n, MPI_Request *v, int *done, int *indices, MPI_Status *status),
     (n, v, done, indices, status), (SONDE_I32("requests", n), POLLS),
     (SONDE_I32("done", IF_FOUND(true, *done, 0)), RESULT))
CALL(MPI_Start, (MPI_Request *request), (request), (REQUEST), DONE)
CALL(MPI_Startall, (int n, MPI_Request *v), (n, v), (SONDE_I32("requests", n)), DONE)
CALL(MPI_Request_get_status, (MPI_Request request, int *flag, MPI_Status *status),
     (request, flag, status), (HANDLE("request", request), POLLS),
     (SONDE_I32("flag", IF_FOUND(true, *flag, 0)), RESULT))
CALL(MPI_Cancel, (MPI_Request *request), (request), (REQUEST), DONE)
CALL(MPI_Request_free, (MPI_Request *request), (request), (REQUEST), DONE)
/* Returns when the messages in the buffer have been sent. */
#define DETACH(name, n_t)                                                                      \
	CALL(name, (void *buf, n_t *n), (buf, n), (WAITS(COMPLETION)), DONE)
LARGE_TOO(DETACH, MPI_Buffer_detach)
#if MPI_VERSION >= 4
CALL(MPI_Parrived, (MPI_Request request, int partition, int *flag), (request, partition, flag),
     (HANDLE("request", request), SONDE_I32("partition", partition), POLLS),
     (SONDE_I32("flag", IF_FOUND(true, *flag, 0)), RESULT))
#endif

/* ---- collective operations ---- */

#define COLLECTIVE(when) COMM WAITS_##when(COLLECTIVES)
#define SENT(when, n) AMOUNT_##when("sent", n)
#define RECEIVED(when, n) AMOUNT_##when("received", n)
/* Other processes' arguments mean nothing, and are not looked at. */
#define OF_ROOT(amount) (is_root(root, comm) ? (amount) : 0)
#define OF_LEAF(amount) (is_leaf(root, comm) ? (amount) : 0)

#define BARRIER(name, n_t, d_t, when)                                                          \
	CALL(name, (MPI_Comm comm PARAMS_##when), (comm ARGS_##when), (COLLECTIVE(when)),      \
	     AFTER_##when)

#define BCAST(name, n_t, d_t, when)                                                            \
	CALL(name, (void *buf, n_t n, MPI_Datatype t, int root, MPI_Comm comm PARAMS_##when),  \
	     (buf, n, t, root, comm ARGS_##when),                                              \
	     (SENT(when, OF_ROOT(bytes(n, t))),                                                \
	      RECEIVED(when, is_root(root, comm) ? 0 : OF_LEAF(bytes(n, t))),                  \
	      ROOT, COLLECTIVE(when)),                                                         \
	     AFTER_##when)

#define GATHER(name, n_t, d_t, when)                                                           \
	CALL(name,                                                                             \
	     (const void *sbuf, n_t sn, MPI_Datatype st, void *rbuf, n_t rn, MPI_Datatype rt,  \
	      int root, MPI_Comm comm PARAMS_##when),                                          \
	     (sbuf, sn, st, rbuf, rn, rt, root, comm ARGS_##when),                             \
	     (SENT(when, OF_LEAF(in_place(sbuf) ? bytes(rn, rt) : bytes(sn, st))),             \
	      RECEIVED(when, OF_ROOT(peers(comm) * bytes(rn, rt))), ROOT,                      \
	      COLLECTIVE(when)),                                                               \
	     AFTER_##when)

#define GATHERV(name, n_t, d_t, when)                                                          \
	CALL(name,                                                                             \
	     (const void *sbuf, n_t sn, MPI_Datatype st, void *rbuf, const n_t *rn,            \
	      const d_t *rdispl, MPI_Datatype rt, int root, MPI_Comm comm PARAMS_##when),      \
	     (sbuf, sn, st, rbuf, rn, rdispl, rt, root, comm ARGS_##when),                     \
	     (SENT(when, OF_LEAF(in_place(sbuf) ? bytes(rn[rank_in(comm)], rt) :               \
						  bytes(sn, st))),                             \
	      RECEIVED(when, OF_ROOT(bytes(SUM(rn, peers(comm)), rt))), ROOT,                  \
	      COLLECTIVE(when)),                                                               \
	     AFTER_##when)

#define SCATTER(name, n_t, d_t, when)                                                          \
	CALL(name,                                                                             \
	     (const void *sbuf, n_t sn, MPI_Datatype st, void *rbuf, n_t rn, MPI_Datatype rt,  \
	      int root, MPI_Comm comm PARAMS_##when),                                          \
	     (sbuf, sn, st, rbuf, rn, rt, root, comm ARGS_##when),                             \
	     (SENT(when, OF_ROOT(peers(comm) * bytes(sn, st))),                                \
	      RECEIVED(when, OF_LEAF(in_place(rbuf) ? bytes(sn, st) : bytes(rn, rt))),         \
	      ROOT, COLLECTIVE(when)),                                                         \
	     AFTER_##when)

#define SCATTERV(name, n_t, d_t, when)                                                         \
	CALL(name,                                                                             \
	     (const void *sbuf, const n_t *sn, const d_t *sdispl, MPI_Datatype st, void *rbuf, \
	      n_t rn, MPI_Datatype rt, int root, MPI_Comm comm PARAMS_##when),                 \
	     (sbuf, sn, sdispl, st, rbuf, rn, rt, root, comm ARGS_##when),                     \
	     (SENT(when, OF_ROOT(bytes(SUM(sn, peers(comm)), st))),                            \
	      RECEIVED(when, OF_LEAF(in_place(rbuf) ? bytes(sn[rank_in(comm)], st) :           \
						      bytes(rn, rt))),                         \
	      ROOT, COLLECTIVE(when)),                                                         \
	     AFTER_##when)

#define ALLGATHER(name, n_t, d_t, when)                                                        \
	CALL(name,                                                                             \
	     (const void *sbuf, n_t sn, MPI_Datatype st, void *rbuf, n_t rn, MPI_Datatype rt,  \
	      MPI_Comm comm PARAMS_##when),                                                    \
	     (sbuf, sn, st, rbuf, rn, rt, comm ARGS_##when),                                   \
	     (SENT(when, in_place(sbuf) ? bytes(rn, rt) : bytes(sn, st)),                      \
	      RECEIVED(when, peers(comm) * bytes(rn, rt)), COLLECTIVE(when)),                  \
	     AFTER_##when)

#define ALLGATHERV(name, n_t, d_t, when)                                                       \
	CALL(name,                                                                             \
	     (const void *sbuf, n_t sn, MPI_Datatype st, void *rbuf, const n_t *rn,            \
	      const d_t *rdispl, MPI_Datatype rt, MPI_Comm comm PARAMS_##when),                \
	     (sbuf, sn, st, rbuf, rn, rdispl, rt, comm ARGS_##when),                           \
	     (SENT(when, in_place(sbuf) ? bytes(rn[rank_in(comm)], rt) : bytes(sn, st)),       \
	      RECEIVED(when, bytes(SUM(rn, peers(comm)), rt)), COLLECTIVE(when)),              \
	     AFTER_##when)

#define ALLTOALL(name, n_t, d_t, when)                                                         \
	CALL(name,                                                                             \
	     (const void *sbuf, n_t sn, MPI_Datatype st, void *rbuf, n_t rn, MPI_Datatype rt,  \
	      MPI_Comm comm PARAMS_##when),                                                    \
	     (sbuf, sn, st, rbuf, rn, rt, comm ARGS_##when),                                   \
	     (SENT(when, peers(comm) * (in_place(sbuf) ? bytes(rn, rt) : bytes(sn, st))),      \
	      RECEIVED(when, peers(comm) * bytes(rn, rt)), COLLECTIVE(when)),                  \
	     AFTER_##when)

#define ALLTOALLV(name, n_t, d_t, when)                                                        \
	CALL(name,                                                                             \
	     (const void *sbuf, const n_t *sn, const d_t *sdispl, MPI_Datatype st, void *rbuf, \
	      const n_t *rn, const d_t *rdispl, MPI_Datatype rt, MPI_Comm comm PARAMS_##when), \
	     (sbuf, sn, sdispl, st, rbuf, rn, rdispl, rt, comm ARGS_##when),                   \
	     (SENT(when, in_place(sbuf) ? bytes(SUM(rn, peers(comm)), rt) :                    \
					  bytes(SUM(sn, peers(comm)), st)),                    \
	      RECEIVED(when, bytes(SUM(rn, peers(comm)), rt)), COLLECTIVE(when)),              \
	     AFTER_##when)

#define ALLTOALLW(name, n_t, d_t, when)                                                        \
	CALL(name,                                                                             \
	     (const void *sbuf, const n_t *sn, const d_t *sdispl, const MPI_Datatype *st,      \
	      void *rbuf, const n_t *rn, const d_t *rdispl, const MPI_Datatype *rt,            \
	      MPI_Comm comm PARAMS_##when),                                                    \
	     (sbuf, sn, sdispl, st, rbuf, rn, rdispl, rt, comm ARGS_##when),                   \
	     (SENT(when, in_place(sbuf) ? SUM_BYTES(rn, rt, peers(comm)) :                     \
					  SUM_BYTES(sn, st, peers(comm))),                     \
	      RECEIVED(when, SUM_BYTES(rn, rt, peers(comm))), COLLECTIVE(when)),               \
	     AFTER_##when)

#define REDUCE(name, n_t, d_t, when)                                                           \
	CALL(name,                                                                             \
	     (const void *sbuf, void *rbuf, n_t n, MPI_Datatype t, MPI_Op op, int root,        \
	      MPI_Comm comm PARAMS_##when),                                                    \
	     (sbuf, rbuf, n, t, op, root, comm ARGS_##when),                                   \
	     (SENT(when, OF_LEAF(bytes(n, t))),                                                \
	      RECEIVED(when, OF_ROOT(bytes(n, t))), ROOT, COLLECTIVE(when)),                   \
	     AFTER_##when)

#define ALLREDUCE(name, n_t, d_t, when)                                                        \
	CALL(name,                                                                             \
	     (const void *sbuf, void *rbuf, n_t n, MPI_Datatype t, MPI_Op op,                  \
	      MPI_Comm comm PARAMS_##when),                                                    \
	     (sbuf, rbuf, n, t, op, comm ARGS_##when),                                         \
	     (SENT(when, bytes(n, t)), RECEIVED(when, bytes(n, t)), COLLECTIVE(when)),                                                                             \
	     AFTER_##when)

#define REDUCE_SCATTER(name, n_t, d_t, when)                                                   \
	CALL(name,                                                                             \
	     (const void *sbuf, void *rbuf, const n_t *n, MPI_Datatype t, MPI_Op op,           \
	      MPI_Comm comm PARAMS_##when),                                                    \
	     (sbuf, rbuf, n, t, op, comm ARGS_##when),                                         \
	     (SENT(when, bytes(SUM(n, size_of(comm)), t)),                                     \
	      RECEIVED(when, bytes(n[rank_in(comm)], t)), COLLECTIVE(when)),                   \
	     AFTER_##when)

#define REDUCE_SCATTER_BLOCK(name, n_t, d_t, when)                                             \
	CALL(name,                                                                             \
	     (const void *sbuf, void *rbuf, n_t n, MPI_Datatype t, MPI_Op op,                  \
	      MPI_Comm comm PARAMS_##when),                                                    \
	     (sbuf, rbuf, n, t, op, comm ARGS_##when),                                         \
	     (SENT(when, size_of(comm) * bytes(n, t)), RECEIVED(when, bytes(n, t)), COLLECTIVE(when)), \
	     AFTER_##when)

#define NEIGHBOR_ALLGATHER(name, n_t, d_t, when)                                               \
	CALL(name,                                                                             \
	     (const void *sbuf, n_t sn, MPI_Datatype st, void *rbuf, n_t rn, MPI_Datatype rt,  \
	      MPI_Comm comm PARAMS_##when),                                                    \
	     (sbuf, sn, st, rbuf, rn, rt, comm ARGS_##when),                                   \
	     (SENT(when, neighbors(comm).out * bytes(sn, st)),                                 \
	      RECEIVED(when, neighbors(comm).in * bytes(rn, rt)), COLLECTIVE(when)),           \
	     AFTER_##when)

#define NEIGHBOR_ALLGATHERV(name, n_t, d_t, when)                                              \
	CALL(name,                                                                             \
	     (const void *sbuf, n_t sn, MPI_Datatype st, void *rbuf, const n_t *rn,            \
	      const d_t *rdispl, MPI_Datatype rt, MPI_Comm comm PARAMS_##when),                \
	     (sbuf, sn, st, rbuf, rn, rdispl, rt, comm ARGS_##when),                           \
	     (SENT(when, neighbors(comm).out * bytes(sn, st)),                                 \
	      RECEIVED(when, bytes(SUM(rn, neighbors(comm).in), rt)), COLLECTIVE(when)),       \
	     AFTER_##when)

#define NEIGHBOR_ALLTOALLV(name, n_t, d_t, when)                                               \
	CALL(name,                                                                             \
	     (const void *sbuf, const n_t *sn, const d_t *sdispl, MPI_Datatype st, void *rbuf, \
	      const n_t *rn, const d_t *rdispl, MPI_Datatype rt, MPI_Comm comm PARAMS_##when), \
	     (sbuf, sn, sdispl, st, rbuf, rn, rdispl, rt, comm ARGS_##when),                   \
	     (SENT(when, bytes(SUM(sn, neighbors(comm).out), st)),                             \
	      RECEIVED(when, bytes(SUM(rn, neighbors(comm).in), rt)), COLLECTIVE(when)),       \
	     AFTER_##when)

#define NEIGHBOR_ALLTOALLW(name, n_t, d_t, when)                                               \
	CALL(name,                                                                             \
	     (const void *sbuf, const n_t *sn, const MPI_Aint *sdispl, const MPI_Datatype *st, \
	      void *rbuf, const n_t *rn, const MPI_Aint *rdispl, const MPI_Datatype *rt,       \
	      MPI_Comm comm PARAMS_##when),                                                    \
	     (sbuf, sn, sdispl, st, rbuf, rn, rdispl, rt, comm ARGS_##when),                   \
	     (SENT(when, SUM_BYTES(sn, st, neighbors(comm).out)),                              \
	      RECEIVED(when, SUM_BYTES(rn, rt, neighbors(comm).in)), COLLECTIVE(when)),        \
	     AFTER_##when)

#if MPI_VERSION >= 4
#define EACH(KIND, name, iname)                                                                \
	KIND(MPI_##name, int, int, NOW)                                                        \
	KIND(MPI_##iname, int, int, LATER)                                                     \
	KIND(MPI_##name##_init, int, int, INIT)                                                \
	KIND(MPI_##name##_c, MPI_Count, MPI_Aint, NOW)                                         \
	KIND(MPI_##iname##_c, MPI_Count, MPI_Aint, LATER)                                      \
	KIND(MPI_##name##_init_c, MPI_Count, MPI_Aint, INIT)
BARRIER(MPI_Barrier_init, int, int, INIT)
#else
#define EACH(KIND, name, iname)                                                                \
	KIND(MPI_##name, int, int, NOW)                                                        \
	KIND(MPI_##iname, int, int, LATER)
#endif

BARRIER(MPI_Barrier, int, int, NOW)
BARRIER(MPI_Ibarrier, int, int, LATER)
EACH(BCAST, Bcast, Ibcast)
EACH(GATHER, Gather, Igather)
EACH(GATHERV, Gatherv, Igatherv)
EACH(SCATTER, Scatter, Iscatter)
EACH(SCATTERV, Scatterv, Iscatterv)
EACH(ALLGATHER, Allgather, Iallgather)
EACH(ALLGATHERV, Allgatherv, Iallgatherv)
EACH(ALLTOALL, Alltoall, Ialltoall)
EACH(ALLTOALLV, Alltoallv, Ialltoallv)
EACH(ALLTOALLW, Alltoallw, Ialltoallw)
EACH(REDUCE, Reduce, Ireduce)
EACH(ALLREDUCE, Allreduce, Iallreduce)
EACH(ALLREDUCE, Scan, Iscan)
EACH(ALLREDUCE, Exscan, Iexscan)
EACH(REDUCE_SCATTER, Reduce_scatter, Ireduce_scatter)
EACH(REDUCE_SCATTER_BLOCK, Reduce_scatter_block, Ireduce_scatter_block)
EACH(NEIGHBOR_ALLGATHER, Neighbor_allgather, Ineighbor_allgather)
EACH(NEIGHBOR_ALLGATHERV, Neighbor_allgatherv, Ineighbor_allgatherv)
EACH(NEIGHBOR_ALLGATHER, Neighbor_alltoall, Ineighbor_alltoall)
EACH(NEIGHBOR_ALLTOALLV, Neighbor_alltoallv, Ineighbor_alltoallv)
EACH(NEIGHBOR_ALLTOALLW, Neighbor_alltoallw, Ineighbor_alltoallw)

/* ---- one-sided communication ---- */

/* The amount is that of the origin, except for Get_accumulate, which brings back the target's. */
#define AT_TARGET(amount)                                                                      \
	(SONDE_BYTES("bytes", target == MPI_PROC_NULL ? 0 : amount), PEER(target),             \
	 SONDE_I64("displacement", at), WIN)

#define PUT(name, n_t, when)                                                                   \
	CALL(name,                                                                             \
	     (const void *buf, n_t n, MPI_Datatype t, int target, MPI_Aint at, n_t tn,         \
	      MPI_Datatype tt, MPI_Win win PARAMS_##when),                                     \
	     (buf, n, t, target, at, tn, tt, win ARGS_##when), AT_TARGET(bytes(n, t)),         \
	     AFTER_##when)
#define GET(name, n_t, when)                                                                   \
	CALL(name,                                                                             \
	     (void *buf, n_t n, MPI_Datatype t, int target, MPI_Aint at, n_t tn,               \
	      MPI_Datatype tt, MPI_Win win PARAMS_##when),                                     \
	     (buf, n, t, target, at, tn, tt, win ARGS_##when), AT_TARGET(bytes(n, t)),         \
	     AFTER_##when)
#define ACCUMULATE(name, n_t, when)                                                            \
	CALL(name,                                                                             \
	     (const void *buf, n_t n, MPI_Datatype t, int target, MPI_Aint at, n_t tn,         \
	      MPI_Datatype tt, MPI_Op op, MPI_Win win PARAMS_##when),                          \
	     (buf, n, t, target, at, tn, tt, op, win ARGS_##when), AT_TARGET(bytes(n, t)),     \
	     AFTER_##when)
#define GET_ACCUMULATE(name, n_t, when)                                                        \
	CALL(name,                                                                             \
	     (const void *buf, n_t n, MPI_Datatype t, void *rbuf, n_t rn, MPI_Datatype rt,     \
	      int target, MPI_Aint at, n_t tn, MPI_Datatype tt, MPI_Op op,                     \
	      MPI_Win win PARAMS_##when),                                                      \
	     (buf, n, t, rbuf, rn, rt, target, at, tn, tt, op, win ARGS_##when),               \
	     AT_TARGET(bytes(rn, rt)), AFTER_##when)

#if MPI_VERSION >= 4
#define EACH_ACCESS(KIND, name, rname)                                                         \
	KIND(MPI_##name, int, NOW)                                                             \
	KIND(MPI_##rname, int, LATER)                                                          \
	KIND(MPI_##name##_c, MPI_Count, NOW)                                                   \
	KIND(MPI_##rname##_c, MPI_Count, LATER)
#else
#define EACH_ACCESS(KIND, name, rname)                                                         \
	KIND(MPI_##name, int, NOW)                                                             \
	KIND(MPI_##rname, int, LATER)
#endif
EACH_ACCESS(PUT, Put, Rput)
EACH_ACCESS(GET, Get, Rget)
EACH_ACCESS(ACCUMULATE, Accumulate, Raccumulate)
EACH_ACCESS(GET_ACCUMULATE, Get_accumulate, Rget_accumulate)

CALL(MPI_Fetch_and_op,
     (const void *buf, void *rbuf, MPI_Datatype t, int target, MPI_Aint at, MPI_Op op,
      MPI_Win win),
     (buf, rbuf, t, target, at, op, win), AT_TARGET(bytes(1, t)), DONE)
CALL(MPI_Compare_and_swap,
     (const void *buf, const void *expected, void *rbuf, MPI_Datatype t, int target,
      MPI_Aint at, MPI_Win win),
     (buf, expected, rbuf, t, target, at, win), AT_TARGET(bytes(1, t)), DONE)

#define EXTENT(n) SONDE_I64("size", n)
#define WIN_CREATE(name, unit_t)                                                               \
	CALL(name,                                                                             \
	     (void *base, MPI_Aint n, unit_t unit, MPI_Info info, MPI_Comm comm, MPI_Win *win), \
	     (base, n, unit, info, comm, win), (EXTENT(n), COMM, WAITS(ONE_SIDED)),            \
	     (NEW("win", win), RESULT))
#define WIN_ALLOCATE(name, unit_t)                                                             \
	CALL(name,                                                                             \
	     (MPI_Aint n, unit_t unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win), \
	     (n, unit, info, comm, base, win), (EXTENT(n), COMM, WAITS(ONE_SIDED)),            \
	     (NEW("win", win), RESULT))
WIN_CREATE(MPI_Win_create, int)
WIN_ALLOCATE(MPI_Win_allocate, int)
WIN_ALLOCATE(MPI_Win_allocate_shared, int)
#if MPI_VERSION >= 4
WIN_CREATE(MPI_Win_create_c, MPI_Aint)
WIN_ALLOCATE(MPI_Win_allocate_c, MPI_Aint)
WIN_ALLOCATE(MPI_Win_allocate_shared_c, MPI_Aint)
#endif
CALL(MPI_Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *win), (info, comm, win),
     (COMM, WAITS(ONE_SIDED)), (NEW("win", win), RESULT))
CALL(MPI_Win_attach, (MPI_Win win, void *base, MPI_Aint n), (win, base, n), (EXTENT(n), WIN),
     DONE)
CALL(MPI_Win_detach, (MPI_Win win, const void *base), (win, base), (WIN), DONE)
CALL(MPI_Win_free, (MPI_Win *win), (win), (NEW("win", win), WAITS(ONE_SIDED)), DONE)
CALL(MPI_Win_fence, (int assert, MPI_Win win), (assert, win), (WIN, WAITS(ONE_SIDED)), DONE)
CALL(MPI_Win_start, (MPI_Group group, int assert, MPI_Win win), (group, assert, win),
     (WIN, WAITS(ONE_SIDED)), DONE)
CALL(MPI_Win_complete, (MPI_Win win), (win), (WIN, WAITS(ONE_SIDED)), DONE)
CALL(MPI_Win_post, (MPI_Group group, int assert, MPI_Win win), (group, assert, win), (WIN), DONE)
CALL(MPI_Win_wait, (MPI_Win win), (win), (WIN, WAITS(ONE_SIDED)), DONE)
CALL(MPI_Win_test, (MPI_Win win, int *flag), (win, flag), (WIN, POLLS),
     (SONDE_I32("flag", IF_FOUND(true, *flag, 0)), RESULT))
CALL(MPI_Win_lock, (int type, int target, int assert, MPI_Win win), (type, target, assert, win),
     (PEER(target), WIN, WAITS(ONE_SIDED)), DONE)
CALL(MPI_Win_unlock, (int target, MPI_Win win), (target, win), (PEER(target), WIN, WAITS(ONE_SIDED)),
     DONE)
CALL(MPI_Win_lock_all, (int assert, MPI_Win win), (assert, win), (WIN, WAITS(ONE_SIDED)), DONE)
CALL(MPI_Win_unlock_all, (MPI_Win win), (win), (WIN, WAITS(ONE_SIDED)), DONE)
CALL(MPI_Win_flush, (int target, MPI_Win win), (target, win), (PEER(target), WIN, WAITS(ONE_SIDED)),
     DONE)
CALL(MPI_Win_flush_local, (int target, MPI_Win win), (target, win),
     (PEER(target), WIN, WAITS(ONE_SIDED)), DONE)
CALL(MPI_Win_flush_all, (MPI_Win win), (win), (WIN, WAITS(ONE_SIDED)), DONE)
CALL(MPI_Win_flush_local_all, (MPI_Win win), (win), (WIN, WAITS(ONE_SIDED)), DONE)
CALL(MPI_Win_sync, (MPI_Win win), (win), (WIN), DONE)

/* ---- files ---- */

CALL(MPI_File_open, (MPI_Comm comm, const char *path, int mode, MPI_Info info, MPI_File *file),
     (comm, path, mode, info, file),
     (SONDE_STR("path", path), SONDE_I32("mode", mode), COMM, WAITS(FILES)),
     (NEW("file", file), RESULT))
CALL(MPI_File_close, (MPI_File *file), (file), (NEW("file", file), WAITS(FILES)), DONE)
CALL(MPI_File_delete, (const char *path, MPI_Info info), (path, info),
     (SONDE_STR("path", path), WAITS(FILES)), DONE)
CALL(MPI_File_sync, (MPI_File file), (file), (FILE_, WAITS(FILES)), DONE)
CALL(MPI_File_preallocate, (MPI_File file, MPI_Offset size), (file, size),
     (FILE_, EXTENT(size), WAITS(FILES)), DONE)
CALL(MPI_File_set_atomicity, (MPI_File file, int on), (file, on),
     (FILE_, SONDE_I32("on", on), WAITS(FILES)), DONE)
CALL(MPI_File_set_size, (MPI_File file, MPI_Offset size), (file, size),
     (FILE_, EXTENT(size), WAITS(FILES)), DONE)
CALL(MPI_File_seek, (MPI_File file, MPI_Offset at, int whence), (file, at, whence),
     (FILE_, SONDE_I64("offset", at), SONDE_I32("whence", whence)), DONE)
CALL(MPI_File_seek_shared, (MPI_File file, MPI_Offset at, int whence), (file, at, whence),
     (FILE_, SONDE_I64("offset", at), SONDE_I32("whence", whence), WAITS(FILES)), DONE)
CALL(MPI_File_set_view,
     (MPI_File file, MPI_Offset at, MPI_Datatype unit, MPI_Datatype type, const char *rep,
      MPI_Info info),
     (file, at, unit, type, rep, info), (FILE_, SONDE_I64("offset", at), WAITS(FILES)), DONE)

/* Reading and writing differ in the const of the buffer, and each comes with and without offset. */
#define FILE_STATUS                                                                            \
	MPI_Status own = { .MPI_SOURCE = MPI_PROC_NULL };                                      \
	if (status == MPI_STATUS_IGNORE)                                                       \
		status = &own
#define FILE_CALL(name, buf_t, n_t)                                                            \
	CALL_WITH(name, (MPI_File file, buf_t *buf, n_t n, MPI_Datatype t, MPI_Status *status), \
		  (file, buf, n, t, status), FILE_STATUS,                                      \
		  (FILE_, SONDE_U64("requested", bytes(n, t)), WAITS(FILES)),                  \
		  (SONDE_BYTES("bytes", received(result, status)), RESULT))
#define FILE_AT(name, buf_t, n_t)                                                              \
	CALL_WITH(name,                                                                        \
		  (MPI_File file, MPI_Offset at, buf_t *buf, n_t n, MPI_Datatype t,            \
		   MPI_Status *status),                                                        \
		  (file, at, buf, n, t, status), FILE_STATUS,                                  \
		  (FILE_, SONDE_I64("offset", at), SONDE_U64("requested", bytes(n, t)),        \
		   WAITS(FILES)),                                                              \
		  (SONDE_BYTES("bytes", received(result, status)), RESULT))
#define FILE_LATER(name, buf_t, n_t)                                                           \
	CALL(name, (MPI_File file, buf_t *buf, n_t n, MPI_Datatype t, MPI_Request *request),   \
	     (file, buf, n, t, request), (FILE_, SONDE_BYTES("bytes", bytes(n, t))),           \
	     (REQUEST, RESULT))
#define FILE_AT_LATER(name, buf_t, n_t)                                                        \
	CALL(name,                                                                             \
	     (MPI_File file, MPI_Offset at, buf_t *buf, n_t n, MPI_Datatype t,                 \
	      MPI_Request *request),                                                           \
	     (file, at, buf, n, t, request),                                                   \
	     (FILE_, SONDE_I64("offset", at), SONDE_BYTES("bytes", bytes(n, t))),              \
	     (REQUEST, RESULT))
#define FILE_BEGIN(name, buf_t, n_t)                                                           \
	CALL(name, (MPI_File file, buf_t *buf, n_t n, MPI_Datatype t), (file, buf, n, t),      \
	     (FILE_, SONDE_BYTES("bytes", bytes(n, t)), WAITS(FILES)), DONE)
#define FILE_AT_BEGIN(name, buf_t, n_t)                                                        \
	CALL(name, (MPI_File file, MPI_Offset at, buf_t *buf, n_t n, MPI_Datatype t),          \
	     (file, at, buf, n, t),                                                            \
	     (FILE_, SONDE_I64("offset", at), SONDE_BYTES("bytes", bytes(n, t)),               \
	      WAITS(FILES)), DONE)
#define FILE_END(name, buf_t)                                                                  \
	CALL_WITH(name, (MPI_File file, buf_t *buf, MPI_Status *status), (file, buf, status),  \
		  FILE_STATUS, (FILE_, WAITS(FILES)),                                          \
		  (SONDE_U64("transferred", received(result, status)), RESULT))

#define FILE_CALLS(verb, iverb, buf_t, n_t, c)                                                 \
	FILE_CALL(MPI_File_##verb##c, buf_t, n_t)                                              \
	FILE_CALL(MPI_File_##verb##_all##c, buf_t, n_t)                                        \
	FILE_CALL(MPI_File_##verb##_shared##c, buf_t, n_t)                                     \
	FILE_CALL(MPI_File_##verb##_ordered##c, buf_t, n_t)                                    \
	FILE_AT(MPI_File_##verb##_at##c, buf_t, n_t)                                           \
	FILE_AT(MPI_File_##verb##_at_all##c, buf_t, n_t)                                       \
	FILE_LATER(MPI_File_##iverb##c, buf_t, n_t)                                            \
	FILE_LATER(MPI_File_##iverb##_all##c, buf_t, n_t)                                      \
	FILE_LATER(MPI_File_##iverb##_shared##c, buf_t, n_t)                                   \
	FILE_AT_LATER(MPI_File_##iverb##_at##c, buf_t, n_t)                                    \
	FILE_AT_LATER(MPI_File_##iverb##_at_all##c, buf_t, n_t)                                \
	FILE_BEGIN(MPI_File_##verb##_all_begin##c, buf_t, n_t)                                 \
	FILE_BEGIN(MPI_File_##verb##_ordered_begin##c, buf_t, n_t)                             \
	FILE_AT_BEGIN(MPI_File_##verb##_at_all_begin##c, buf_t, n_t)
#define FILE_ENDS(verb, buf_t)                                                                 \
	FILE_END(MPI_File_##verb##_all_end, buf_t)                                             \
	FILE_END(MPI_File_##verb##_ordered_end, buf_t)                                         \
	FILE_END(MPI_File_##verb##_at_all_end, buf_t)

FILE_CALLS(read, iread, void, int, )
FILE_CALLS(write, iwrite, const void, int, )
FILE_ENDS(read, void)
FILE_ENDS(write, const void)
#if MPI_VERSION >= 4
FILE_CALLS(read, iread, void, MPI_Count, _c)
FILE_CALLS(write, iwrite, const void, MPI_Count, _c)
#endif
