# SPDX-License-Identifier: GPL-3.0-or-later
# libtracefmt.a: everything about trace files. What reads them is in a shared library, too, hence -fPIC.
noinst_LIBRARIES += libtracefmt.a
libtracefmt_a_SOURCES = \
	memtrace/pack/blocks-find.c \
	memtrace/pack/blocks-in.c \
	memtrace/pack/blocks-out.c \
	memtrace/pack/blocks.h \
	memtrace/pack/files.h \
	memtrace/pack/group.c \
	memtrace/pack/group.h \
	memtrace/pack/in.c \
	memtrace/pack/index.c \
	memtrace/pack/index.h \
	memtrace/pack/out.c \
	memtrace/pack/out.h \
	memtrace/pack/pack.c \
	memtrace/pack/pack.h \
	memtrace/pack/pieces.c \
	memtrace/pack/pieces.h \
	memtrace/pack/places-in.c \
	memtrace/pack/places-out.c \
	memtrace/pack/places.h \
	memtrace/pack/words.c \
	memtrace/pack/words.h \
	tracefmt/buffer.c \
	tracefmt/buffer.h \
	tracefmt/chunkhead.c \
	tracefmt/format.h \
	tracefmt/json.c \
	tracefmt/json.h \
	tracefmt/read/accessors.c \
	tracefmt/read/arena.c \
	tracefmt/read/chosen.c \
	tracefmt/read/chosen.h \
	tracefmt/read/infile.c \
	tracefmt/read/infile.h \
	tracefmt/read/intern.c \
	tracefmt/read/iter.c \
	tracefmt/read/labels.c \
	tracefmt/read/labels.h \
	tracefmt/read/metadata/code.c \
	tracefmt/read/metadata/line.h \
	tracefmt/read/metadata/members.c \
	tracefmt/read/metadata/metadata.c \
	tracefmt/read/metadata/processes.c \
	tracefmt/read/metadata/recording.c \
	tracefmt/read/names.c \
	tracefmt/read/parts.c \
	tracefmt/read/some.c \
	tracefmt/read/stream.c \
	tracefmt/read/stream.h \
	tracefmt/read/switches.c \
	tracefmt/read/switches.h \
	tracefmt/read/tails.c \
	tracefmt/read/tails.h \
	tracefmt/read/time/compared.c \
	tracefmt/read/time/compared.h \
	tracefmt/read/time/nodes.c \
	tracefmt/read/time/nodes.h \
	tracefmt/read/time/timeline.c \
	tracefmt/read/time/timeline.h \
	tracefmt/read/trace-internal.h \
	tracefmt/read/trace.c \
	tracefmt/read/unpack.c \
	tracefmt/read/unpack.h \
	tracefmt/ring.h \
	tracefmt/stack.c \
	tracefmt/stack.h \
	tracefmt/write/chosen.c \
	tracefmt/write/clock.c \
	tracefmt/write/codes.h \
	tracefmt/write/describe.c \
	tracefmt/write/drain.c \
	tracefmt/write/drain.h \
	tracefmt/write/encode.c \
	tracefmt/write/encode.h \
	tracefmt/write/exchange.c \
	tracefmt/write/extra.c \
	tracefmt/write/extra.h \
	tracefmt/write/flight.c \
	tracefmt/write/lines.c \
	tracefmt/write/outfile.c \
	tracefmt/write/outfile.h \
	tracefmt/write/pack.c \
	tracefmt/write/pack.h \
	tracefmt/write/probes.c \
	tracefmt/write/roll.c \
	tracefmt/write/sites.c \
	tracefmt/write/sites.h \
	tracefmt/write/thread.c \
	tracefmt/write/threadout.c \
	tracefmt/write/threadout.h \
	tracefmt/write/writer-internal.h \
	tracefmt/write/writer.c \
	tracefmt/write/writer.h
libtracefmt_a_CPPFLAGS = $(AM_CPPFLAGS) $(ZSTD_CFLAGS) $(XXHASH_CFLAGS) $(JANSSON_CFLAGS)
libtracefmt_a_CFLAGS = $(AM_CFLAGS) -fPIC
TRACEFMT_LIBS = libtracefmt.a $(ZSTD_LIBS) $(XXHASH_LIBS) $(JANSSON_LIBS)

# The reader as an installed shared library, with sonde_trace_* alone exported.
SONDETRACE = libsondetrace.so.0.2.0
SONDETRACE_LINKS = libsondetrace.so.0 libsondetrace.so
EXTRA_PROGRAMS += $(SONDETRACE)
libsondetrace_so_0_2_0_SOURCES = \
	memtrace/read/library.c \
	memtrace/read/read.c \
	memtrace/read/read.h
libsondetrace_so_0_2_0_CFLAGS = $(AM_CFLAGS) -fPIC
libsondetrace_so_0_2_0_LDADD = $(libtracefmt_a_OBJECTS) $(libmemtrace_a_OBJECTS) $(ZSTD_LIBS) $(XXHASH_LIBS) $(JANSSON_LIBS)
libsondetrace_so_0_2_0_LINK = $(CC) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -shared -Wl,-soname,libsondetrace.so.0 \
	-Wl,--version-script=$(top_srcdir)/tracefmt/libsondetrace.map -o $@
libsondetrace_so_0_2_0_DEPENDENCIES = $(libtracefmt_a_OBJECTS) $(libmemtrace_a_OBJECTS) tracefmt/libsondetrace.map
$(SONDETRACE_LINKS): $(SONDETRACE)
	$(AM_V_GEN)ln -sf $(SONDETRACE) $@
CLEANFILES += $(SONDETRACE) $(SONDETRACE_LINKS)
noinst_DATA += $(SONDETRACE_LINKS)
sondetracedir = $(libdir)
sondetrace_DATA = $(SONDETRACE)
install-data-hook:
	cd $(DESTDIR)$(libdir) && for link in $(SONDETRACE_LINKS); do ln -sf $(SONDETRACE) $$link; done
uninstall-hook:
	cd $(DESTDIR)$(libdir) && rm -f $(SONDETRACE_LINKS)
EXTRA_DIST += tracefmt/libsondetrace.map

sondeinclude_HEADERS += tracefmt/include/sonde/trace.h
pkgconfig_DATA = tracefmt/sonde-trace.pc
