# SPDX-License-Identifier: GPL-3.0-or-later
# libtracefmt.la: everything about trace files, linked into our own programs.
# libsondetrace.la: the same code as the installed shared library, with tf_* alone exported.
noinst_LTLIBRARIES += libtracefmt.la
libtracefmt_la_SOURCES = \
	tracefmt/ring.h
libtracefmt_la_CPPFLAGS = $(AM_CPPFLAGS) $(ZSTD_CFLAGS) $(XXHASH_CFLAGS)
libtracefmt_la_LIBADD = $(ZSTD_LIBS) $(XXHASH_LIBS)

lib_LTLIBRARIES += libsondetrace.la
libsondetrace_la_SOURCES =
libsondetrace_la_LIBADD = libtracefmt.la
libsondetrace_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 \
	-Wl,--version-script=$(top_srcdir)/tracefmt/libsondetrace.map
libsondetrace_la_DEPENDENCIES = libtracefmt.la tracefmt/libsondetrace.map
EXTRA_DIST += tracefmt/libsondetrace.map

sondeinclude_HEADERS +=
pkgconfig_DATA = tracefmt/sonde-trace.pc
