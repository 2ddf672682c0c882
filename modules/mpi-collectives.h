/* SPDX-License-Identifier: MIT */
/* The part of the module mpi for collective operations: blocking, nonblocking, persistent; of neighbours. */

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
