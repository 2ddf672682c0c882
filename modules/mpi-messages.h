/* SPDX-License-Identifier: MIT */
/* The part of the module mpi for what one process sends to another, and for looking whether something came. */

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

#define ISENDRECV(name, n_t)                                                                   \
	CALL(name,                                                                             \
	     (const void *sbuf, n_t sn, MPI_Datatype st, int dest, int stag, void *rbuf,       \
	      n_t rn, MPI_Datatype rt, int source, int rtag, MPI_Comm comm, MPI_Request *request), \
	     (sbuf, sn, st, dest, stag, rbuf, rn, rt, source, rtag, comm, request),            \
	     (SONDE_BYTES("sent", BYTES_TO(dest, sn, st)), SONDE_I32("dest", dest),            \
	      SONDE_I32("sendtag", stag), SONDE_U64("posted", BYTES_TO(source, rn, rt)),       \
	      PEER(source), TAG(rtag), COMM),                                                  \
	     (REQUEST, RESULT))

#define ISENDRECV_REPLACE(name, n_t)                                                           \
	CALL(name,                                                                             \
	     (void *buf, n_t n, MPI_Datatype t, int dest, int stag, int source, int rtag,      \
	      MPI_Comm comm, MPI_Request *request),                                            \
	     (buf, n, t, dest, stag, source, rtag, comm, request),                             \
	     (SONDE_BYTES("sent", BYTES_TO(dest, n, t)), SONDE_I32("dest", dest),              \
	      SONDE_I32("sendtag", stag), SONDE_U64("posted", BYTES_TO(source, n, t)),         \
	      PEER(source), TAG(rtag), COMM),                                                  \
	     (REQUEST, RESULT))

#if MPI_VERSION >= 4
#define SENDS(name, when) SEND(name, int, when) SEND(name##_c, MPI_Count, when)
#define IRECVS(name, when) IRECV(name, int, when) IRECV(name##_c, MPI_Count, when)
#else
#define SENDS(name, when) SEND(name, int, when)
#define IRECVS(name, when) IRECV(name, int, when)
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
#if MPI_VERSION >= 4
LARGE_TOO(ISENDRECV, MPI_Isendrecv)
LARGE_TOO(ISENDRECV_REPLACE, MPI_Isendrecv_replace)
#endif

/* ---- looking for messages ---- */

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
