/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The words for enumerators. */
#include "tracefmt/include/sonde/trace.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

const char *sonde_trace_strstatus(enum sonde_trace_status status)
{
	static const char *const text[] = {
		[SONDE_TRACE_OK] = "success",
		[SONDE_TRACE_END] = "end",
		[SONDE_TRACE_E_SYSTEM] = "system error",
		[SONDE_TRACE_E_NOMEM] = "out of memory",
		[SONDE_TRACE_E_NOTRACE] = "not a trace",
		[SONDE_TRACE_E_VERSION] = "unknown format version",
		[SONDE_TRACE_E_TRUNCATED] = "truncated",
		[SONDE_TRACE_E_CORRUPT] = "damaged",
		[SONDE_TRACE_E_INVALID] = "invalid argument",
	};

	return status < COUNT(text) ? text[status] : "unknown error";
}

const char *sonde_trace_type_name(enum sonde_trace_type type)
{
	static const char *const name[] = {
		[SONDE_TRACE_I32] = "i32",     [SONDE_TRACE_I64] = "i64",
		[SONDE_TRACE_U32] = "u32",     [SONDE_TRACE_U64] = "u64",
		[SONDE_TRACE_F64] = "f64",     [SONDE_TRACE_PTR] = "ptr",
		[SONDE_TRACE_BYTES] = "bytes", [SONDE_TRACE_STR] = "str",
		[SONDE_TRACE_WAIT] = "wait",   [SONDE_TRACE_APART] = "apart",
	};

	return type >= 1 && type < COUNT(name) ? name[type] : "?";
}
