# SPDX-License-Identifier: GPL-3.0-or-later
# libtracefmt.la: everything about trace files, linked into our own programs.
# libsondetrace.la: the reader as an installed shared library, with sonde_trace_* alone exported.
noinst_LTLIBRARIES += libtracefmt.la
libtracefmt_la_SOURCES = \
	tracefmt/accessors.c \
	tracefmt/arena.c \
	tracefmt/buffer.c \
	tracefmt/buffer.h \
	tracefmt/chunkhead.c \
	tracefmt/clock.c \
	tracefmt/describe.c \
	tracefmt/drain.c \
	tracefmt/drain.h \
	tracefmt/encode.c \
	tracefmt/encode.h \
	tracefmt/format.h \
	tracefmt/infile.c \
	tracefmt/infile.h \
	tracefmt/intern.c \
	tracefmt/iter.c \
	tracefmt/json.c \
	tracefmt/json.h \
	tracefmt/memory.h \
	tracefmt/memoryin.c \
	tracefmt/memoryout.c \
	tracefmt/memorycopies.c \
	tracefmt/memorycopies.h \
	tracefmt/memoryfar.c \
	tracefmt/memoryfar.h \
	tracefmt/memoryindex.c \
	tracefmt/memoryindex.h \
	tracefmt/memorymatch.c \
	tracefmt/memorymatch.h \
	tracefmt/memorypack.c \
	tracefmt/memorypack.h \
	tracefmt/memorypieces.c \
	tracefmt/memorypieces.h \
	tracefmt/memoryplaces.h \
	tracefmt/memoryrecur.c \
	tracefmt/memoryrecur.h \
	tracefmt/memorywindow.c \
	tracefmt/memorywindow.h \
	tracefmt/memorywords.c \
	tracefmt/memorywords.h \
	tracefmt/metadata.c \
	tracefmt/names.c \
	tracefmt/outfile.c \
	tracefmt/outfile.h \
	tracefmt/pack.c \
	tracefmt/pack.h \
	tracefmt/probes.c \
	tracefmt/ring.h \
	tracefmt/sites.c \
	tracefmt/sites.h \
	tracefmt/stack.c \
	tracefmt/stack.h \
	tracefmt/stream.c \
	tracefmt/stream.h \
	tracefmt/thread.c \
	tracefmt/threadout.c \
	tracefmt/threadout.h \
	tracefmt/timeline.c \
	tracefmt/timeline.h \
	tracefmt/trace-internal.h \
	tracefmt/trace.c \
	tracefmt/unpack.c \
	tracefmt/unpack.h \
	tracefmt/writer-internal.h \
	tracefmt/writer.c \
	tracefmt/writer.h
libtracefmt_la_CPPFLAGS = $(AM_CPPFLAGS) $(ZSTD_CFLAGS) $(XXHASH_CFLAGS) $(JANSSON_CFLAGS)
libtracefmt_la_LIBADD = $(ZSTD_LIBS) $(XXHASH_LIBS) $(JANSSON_LIBS)

lib_LTLIBRARIES += libsondetrace.la
libsondetrace_la_SOURCES =
libsondetrace_la_LIBADD = libtracefmt.la
libsondetrace_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 \
	-Wl,--version-script=$(top_srcdir)/tracefmt/libsondetrace.map
libsondetrace_la_DEPENDENCIES = libtracefmt.la tracefmt/libsondetrace.map
EXTRA_DIST += tracefmt/libsondetrace.map

sondeinclude_HEADERS += tracefmt/include/sonde/trace.h
pkgconfig_DATA = tracefmt/sonde-trace.pc
