/* SPDX-License-Identifier: MIT */
/* The part of the module mpi for requests: waited for, tested, started again, completed together; partitioned messages. */

#define FEW 64

/* The library sets handles to null, and the program may not want the statuses. */
struct kept {
	int n;
	MPI_Request *old;
	MPI_Status *own;
	size_t mapped; /* bytes; 0: they are here */
	MPI_Request few[FEW];
	MPI_Status few_own[FEW];
};

/* mmap() and munmap(): the C library's may be recorded, and the program's memory is its own. */
static void *map(size_t bytes)
{
	register int64_t flags __asm__("r10") = 0x22; /* private, anonymous */
	register int64_t fd __asm__("r8") = -1;
	register int64_t offset __asm__("r9") = 0;
	int64_t result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(INT64_C(9)), "D"(INT64_C(0)), "S"(bytes), "d"(INT64_C(3)), "r"(flags), "r"(fd), "r"(offset)
			 : "rcx", "r11", "memory");
	return result < 0 && result > -4096 ? (void *)0 : (void *)result;
}

static void forget(struct kept *k)
{
	int64_t result;

	if (k->mapped)
		__asm__ volatile("syscall"
				 : "=a"(result)
				 : "0"(INT64_C(11)), "D"(k->own), "S"(k->mapped)
				 : "rcx", "r11", "memory");
}

static void keep(struct kept *k, int n, const MPI_Request *v)
{
	k->n = n > 0 ? n : 0;
	k->old = k->few;
	k->own = k->few_own;
	k->mapped = 0;
	if (n > FEW) {
		size_t bytes = (size_t)n * (sizeof(*k->own) + sizeof(*k->old));

		k->own = map(bytes);
		k->old = (MPI_Request *)(k->own + n);
		k->mapped = bytes;
	}
	if (!k->own) {
		sonde_count("not recorded");
		k->n = 0;
		k->mapped = 0;
	}
	for (int i = 0; i < k->n; i++)
		((MPI_Request volatile *)k->old)[i] = v[i];
}

/* Points requests:started and requests:completed. */
static void requests(MPI_Request request, const MPI_Status *status)
{
	if (request == MPI_REQUEST_NULL)
		return;
	if (!status)
		sonde_point("started", HANDLE("request", request));
	else
		sonde_point("completed", HANDLE("request", request), SONDE_U64("length", received(MPI_SUCCESS, status)),
			    PEER(status->MPI_SOURCE), TAG(status->MPI_TAG),
			    SONDE_I32("cancelled", cancelled(MPI_SUCCESS, status)));
}

/* @n statuses; of the requests @indices, or of all in order. */
static void completed(const struct kept *k, int result, int n, const int *indices, const MPI_Status *status)
{
	if (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS)
		return;
	for (int i = 0; i < n && status; i++) {
		int at = indices ? indices[i] : i;

		if (at >= 0 && at < k->n && (result == MPI_SUCCESS || status[i].MPI_ERROR == MPI_SUCCESS))
			requests(k->old[at], &status[i]);
	}
}

#define KEEP                                                                                   \
	struct kept kept __attribute__((cleanup(forget)));                                     \
	keep(&kept, n, v)
/* Where nothing could be kept the program's own wish stays. */
#define KEEP_STATUSES                                                                          \
	KEEP;                                                                                  \
	if (status == MPI_STATUSES_IGNORE && kept.n)                                           \
	status = kept.own
#define ONE_OF(found)                                                                          \
	if (result == MPI_SUCCESS && (found))                                                  \
	completed(&kept, result, 1, index, status)
#define CANCELLED(found) SONDE_I32("cancelled", IF_FOUND(found, cancelled(result, status), 0))

CALL_WITH(MPI_Wait, (MPI_Request *request, MPI_Status *status), (request, status), WANT_STATUS,
	  (REQUEST, WAITS(COMPLETION)), (FOUND(true), CANCELLED(true), RESULT))
CALL_WITH(MPI_Test, (MPI_Request *request, int *flag, MPI_Status *status),
	  (request, flag, status), WANT_STATUS, (REQUEST, POLLS),
	  (SONDE_I32("flag", IF_FOUND(true, *flag, 0)), FOUND(*flag), CANCELLED(*flag), RESULT))
CALL_FULL(MPI_Waitany, (int n, MPI_Request *v, int *index, MPI_Status *status),
	  (n, v, index, status), WANT_STATUS; KEEP, (SONDE_I32("requests", n), WAITS(COMPLETION)),
	  ONE_OF(*index != MPI_UNDEFINED),
	  (SONDE_I32("index", IF_FOUND(true, *index, MPI_UNDEFINED)),
	   FOUND(*index != MPI_UNDEFINED), RESULT))
CALL_FULL(MPI_Testany, (int n, MPI_Request *v, int *index, int *flag, MPI_Status *status),
	  (n, v, index, flag, status), WANT_STATUS; KEEP, (SONDE_I32("requests", n), POLLS),
	  ONE_OF(*flag && *index != MPI_UNDEFINED),
	  (SONDE_I32("flag", IF_FOUND(true, *flag, 0)),
	   SONDE_I32("index", IF_FOUND(*flag, *index, MPI_UNDEFINED)),
	   FOUND(*flag && *index != MPI_UNDEFINED), RESULT))
CALL_FULL(MPI_Waitall, (int n, MPI_Request *v, MPI_Status *status), (n, v, status), KEEP_STATUSES,
	  (SONDE_I32("requests", n), WAITS(COMPLETION)), completed(&kept, result, n, NULL, status), DONE)
CALL_FULL(MPI_Testall, (int n, MPI_Request *v, int *flag, MPI_Status *status), (n, v, flag, status), KEEP_STATUSES,
	  (SONDE_I32("requests", n), POLLS),
	  if (result != MPI_SUCCESS || *flag) completed(&kept, result, n, NULL, status),
	  (SONDE_I32("flag", IF_FOUND(true, *flag, 0)), RESULT))
CALL_FULL(MPI_Waitsome, (int n, MPI_Request *v, int *done, int *indices, MPI_Status *status),
	  (n, v, done, indices, status), KEEP_STATUSES, (SONDE_I32("requests", n), WAITS(COMPLETION)),
	  completed(&kept, result, *done, indices, status),
	  (SONDE_I32("done", IF_FOUND(true, *done, 0)), RESULT))
CALL_FULL(MPI_Testsome, (int n, MPI_Request *v, int *done, int *indices, MPI_Status *status),
	  (n, v, done, indices, status), KEEP_STATUSES, (SONDE_I32("requests", n), POLLS),
	  completed(&kept, result, *done, indices, status),
	  (SONDE_I32("done", IF_FOUND(true, *done, 0)), RESULT))
CALL(MPI_Start, (MPI_Request *request), (request), (REQUEST), DONE)
CALL_THEN(MPI_Startall, (int n, MPI_Request *v), (n, v), (SONDE_I32("requests", n)),
	  for (int i = 0; result == MPI_SUCCESS && i < n; i++) requests(v[i], NULL), DONE)
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
#define PARTITIONED(name, buf_t)                                                               \
	CALL(name,                                                                             \
	     (buf_t *buf, int partitions, MPI_Count n, MPI_Datatype t, int peer, int tag, MPI_Comm comm, \
	      MPI_Info info, MPI_Request *request),                                            \
	     (buf, partitions, n, t, peer, tag, comm, info, request),                          \
	     (SONDE_U64("bytes", peer == MPI_PROC_NULL ? 0 : (uint64_t)partitions * bytes(n, t)), PEER(peer), TAG(tag), \
	      COMM, SONDE_I32("partitions", partitions)),                                      \
	     (REQUEST, RESULT))
PARTITIONED(MPI_Psend_init, const void)
PARTITIONED(MPI_Precv_init, void)
CALL(MPI_Pready, (int partition, MPI_Request request), (partition, request),
     (HANDLE("request", request), SONDE_I32("partition", partition)), DONE)
CALL(MPI_Pready_range, (int low, int high, MPI_Request request), (low, high, request),
     (HANDLE("request", request), SONDE_I32("low", low), SONDE_I32("high", high)), DONE)
/* With const or without, as MPICH's version is. */
SONDE_WRAP_IF_PRESENT(int, MPI_Pready_list, (int n, const int *v, MPI_Request request))
{
	sonde_enter(HANDLE("request", request), SONDE_I32("partitions", n));
	int result = SONDE_REAL(MPI_Pready_list)(n, v, request);
	sonde_leave(RESULT);
	return result;
}
CALL(MPI_Parrived, (MPI_Request request, int partition, int *flag), (request, partition, flag),
     (HANDLE("request", request), SONDE_I32("partition", partition), POLLS),
     (SONDE_I32("flag", IF_FOUND(true, *flag, 0)), RESULT))
#endif
