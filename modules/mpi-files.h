/* SPDX-License-Identifier: MIT */
/* The part of the module mpi for files. */

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
#define FILE_CALL(name, buf_t, n_t)                                                            \
	CALL_WITH(name, (MPI_File file, buf_t *buf, n_t n, MPI_Datatype t, MPI_Status *status), \
		  (file, buf, n, t, status), WANT_STATUS,                                      \
		  (FILE_, SONDE_U64("requested", bytes(n, t)), WAITS(FILES)),                  \
		  (SONDE_BYTES("bytes", received(result, status)), RESULT))
#define FILE_AT(name, buf_t, n_t)                                                              \
	CALL_WITH(name,                                                                        \
		  (MPI_File file, MPI_Offset at, buf_t *buf, n_t n, MPI_Datatype t,            \
		   MPI_Status *status),                                                        \
		  (file, at, buf, n, t, status), WANT_STATUS,                                  \
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
		  WANT_STATUS, (FILE_, WAITS(FILES)),                                          \
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
