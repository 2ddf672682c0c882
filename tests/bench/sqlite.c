// SPDX-License-Identifier: GPL-3.0-or-later
/* What SQLite and its shell call most of libsqlite3, without arguments. */
#include <sonde/module.h>

SONDE_MODULE("bench-sqlite", "records entry and exit of 60 functions of libsqlite3");

#define SIX(t) t a, t b, t c, t d, t e, t f
#define W(function)                                                                    \
	SONDE_WRAP(long, sqlite3_##function, (SIX(long)))                              \
	{                                                                              \
		long result;                                                           \
                                                                                       \
		sonde_enter();                                                         \
		result = SONDE_REAL(sqlite3_##function)(a, b, c, d, e, f);             \
		sonde_leave();                                                         \
		return result;                                                         \
	}

W(bind_blob) W(bind_int) W(bind_int64) W(bind_null) W(bind_text) W(bind_value) W(changes64)
W(column_blob) W(column_bytes) W(column_count) W(column_int) W(column_int64) W(column_name)
W(column_text) W(column_type) W(column_value) W(context_db_handle) W(data_count) W(errcode) W(errmsg)
W(exec) W(finalize) W(free) W(initialize) W(last_insert_rowid) W(malloc) W(malloc64) W(msize)
W(mutex_enter) W(mutex_leave) W(prepare_v2) W(randomness) W(realloc) W(realloc64) W(reset)
W(result_blob) W(result_error) W(result_int) W(result_int64) W(result_null) W(result_text)
W(result_value) W(sql) W(step) W(stricmp) W(strnicmp) W(str_append) W(str_appendall)
W(str_appendchar) W(str_finish) W(user_data) W(value_blob) W(value_bytes) W(value_int)
W(value_int64) W(value_text) W(value_type) W(vfs_find) W(wal_hook) W(aggregate_context)
