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
 * So that a reader can find the other end of each message, two things are recorded as points: the processes of each communicator
 * by their ranks in MPI_COMM_WORLD, and requests that one call starts or completes together.
 *
 * In these files:
 *
 *	mpi.c			what all need; MPI_Init, MPI_Finalize
 *	mpi-communicators.h	communicators, and the processes of each
 *	mpi-messages.h		from one process to another
 *	mpi-requests.h		what was started, and is waited for
 *	mpi-collectives.h	collective operations
 *	mpi-onesided.h		windows
 *	mpi-files.h		files
 *	mpi-clocks.h		how the clocks of nodes differ
 *
 * Whatever may block until another process, or a disk, has done something counts as waiting: what MPI calls nonlocal.
 * Starting an operation does not; nor does asking whether it is done, which is apart, lest the time be missed.
 */
#include <mpi.h>
#include <stdbool.h>
#include <sonde/module.h>

#ifdef OPEN_MPI
SONDE_MODULE_FOR("mpi", "messages, collectives, one-sided communication and files (Open MPI)",
		 "libmpi.so.40 libmpi.so.20 ompi_mpi_init()");
/* The library is not linked with; where it is not there yet, the address of this is 0. */
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_comm_self
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_request_null
#pragma weak ompi_mpi_info_null
#pragma weak ompi_mpi_byte
#pragma weak ompi_mpi_errors_return
#else
SONDE_MODULE_FOR("mpi", "messages, collectives, one-sided communication and files (MPICH)",
		 "libmpich.so.12 libmpi.so.12 MPIR_Err_return_comm()");
#endif

/* ---- one function ---- */

/* Name, parameters, arguments, what is recorded at entry and at return. */
#define CALL(name, params, args, before, after) CALL_FULL(name, params, args, , before, , after)
/* The same with code that comes first, or after the call. */
#define CALL_WITH(name, params, args, code, before, after) CALL_FULL(name, params, args, code, before, , after)
#define CALL_THEN(name, params, args, before, then, after) CALL_FULL(name, params, args, , before, then, after)
#define CALL_FULL(name, params, args, code, before, then, after)                               \
	_Static_assert(__builtin_types_compatible_p(__typeof__(name), int params),             \
		       "not the prototype of mpi.h");                                          \
	SONDE_WRAP_IF_PRESENT(int, name, params)                                               \
	{                                                                                      \
		code;                                                                          \
		sonde_enter before;                                                            \
		int result = SONDE_REAL(name) args;                                            \
		then;                                                                          \
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
HELPER(MPI_Initialized, (int *flag), (flag))
HELPER(MPI_Comm_group, (MPI_Comm comm, MPI_Group *group), (comm, group))
HELPER(MPI_Comm_remote_group, (MPI_Comm comm, MPI_Group *group), (comm, group))
HELPER(MPI_Group_size, (MPI_Group group, int *n), (group, n))
HELPER(MPI_Group_translate_ranks,
       (MPI_Group group, int n, const int *ranks, MPI_Group other, int *others),
       (group, n, ranks, other, others))
HELPER(MPI_Group_free, (MPI_Group *group), (group))
HELPER(MPI_Topo_test, (MPI_Comm comm, int *kind), (comm, kind))
HELPER(MPI_Cartdim_get, (MPI_Comm comm, int *dims), (comm, dims))
HELPER(MPI_Graph_neighbors_count, (MPI_Comm comm, int rank, int *n), (comm, rank, n))
HELPER(MPI_Dist_graph_neighbors_count, (MPI_Comm comm, int *in, int *out, int *weighted),
       (comm, in, out, weighted))

/* Each function of MPI-3, and in MPI-4 the same with large counts. */
#if MPI_VERSION >= 4
#define LARGE_TOO(KIND, name) KIND(name, int) KIND(name##_c, MPI_Count)
#else
#define LARGE_TOO(KIND, name) KIND(name, int)
#endif

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
#define EXTENT(n) SONDE_I64("size", n)
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

static int cancelled(int result, const MPI_Status *status)
{
	if (result != MPI_SUCCESS)
		return 0;
#ifdef OPEN_MPI
	return status->_cancelled != 0;
#else
	return status->count_hi_and_cancelled & 1;
#endif
}

#define FROM_STATUS(status)                                                                    \
	PEER((status)->MPI_SOURCE), TAG((status)->MPI_TAG)
/* The caller may not want the status; we do. */
#define WANT_STATUS                                                                            \
	MPI_Status own = { .MPI_SOURCE = MPI_PROC_NULL };                                      \
	own.MPI_TAG = MPI_ANY_TAG;                                                             \
	if (status == MPI_STATUS_IGNORE)                                                       \
		status = &own

/* Where nothing was found the status means nothing. */
#define IF_FOUND(found, value, none) (result == MPI_SUCCESS && (found) ? (value) : (none))
#define FOUND(found)                                                                           \
	SONDE_U64("length", IF_FOUND(found, received(result, status), 0)),                     \
	PEER(IF_FOUND(found, status->MPI_SOURCE, MPI_PROC_NULL)),                              \
	TAG(IF_FOUND(found, status->MPI_TAG, MPI_ANY_TAG))

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

#include "mpi-communicators.h"

/* ---- beginning and end ---- */

#define PLACE                                                                                  \
	SONDE_I32("rank", result == MPI_SUCCESS ? IN_WORLD(rank_in) : -1),                     \
	SONDE_I32("size", result == MPI_SUCCESS ? IN_WORLD(size_of) : -1)
#define DESCRIBE_FIRST (describe(result, world()), describe(result, MPI_COMM_SELF), clocks_first(result))

static void clocks_first(int result);
static void clocks_last(void);

CALL_THEN(MPI_Init, (int *argc, char ***argv), (argc, argv), (OUTSIDE), DESCRIBE_FIRST, (PLACE))
CALL_THEN(MPI_Init_thread, (int *argc, char ***argv, int required, int *provided),
     (argc, argv, required, provided), (SONDE_I32("required", required), OUTSIDE), DESCRIBE_FIRST,
     (PLACE, SONDE_I32("provided", result == MPI_SUCCESS ? *provided : -1)))
SONDE_WRAP_IF_PRESENT(int, MPI_Finalize, (void))
{
	sonde_enter(OUTSIDE);
	clocks_last();
	int result = SONDE_REAL(MPI_Finalize)();
	sonde_leave(RESULT);
	return result;
}
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

#include "mpi-messages.h"
#include "mpi-requests.h"
#include "mpi-collectives.h"
#include "mpi-onesided.h"
#include "mpi-files.h"
#include "mpi-clocks.h"
