/* SPDX-License-Identifier: MIT */
/* The part of the module mpi for one-sided communication. */

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
