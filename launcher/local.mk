# SPDX-License-Identifier: GPL-3.0-or-later
# libcommand.la: what the verbs have in common, and is tested by itself.
noinst_LTLIBRARIES += libcommand.la
libcommand_la_SOURCES = \
	launcher/cproto.c \
	launcher/ctoken.c \
	launcher/ctoken.h \
	launcher/dwproto.c \
	launcher/files.c \
	launcher/files.h \
	launcher/installed.c \
	launcher/installed.h \
	launcher/job.c \
	launcher/job.h \
	launcher/lines.c \
	launcher/lines.h \
	launcher/message.c \
	launcher/message.h \
	launcher/modbuild.c \
	launcher/modcache.c \
	launcher/modfile.c \
	launcher/modfile.h \
	launcher/modfind.c \
	launcher/modtext.c \
	launcher/modnew.c \
	launcher/modnew.h \
	launcher/options.c \
	launcher/options.h \
	launcher/perfmap.c \
	launcher/perfmap.h \
	launcher/program-elf.c \
	launcher/program-elf.h \
	launcher/program.c \
	launcher/program.h \
	launcher/proto.c \
	launcher/proto.h \
	launcher/record-options.c \
	launcher/sample-options.c \
	launcher/select-miss.c \
	launcher/select-pattern.c \
	launcher/select-pattern.h \
	launcher/select-state.h \
	launcher/select.c \
	launcher/select.h \
	launcher/tracedir.c \
	launcher/tracedir.h \
	launcher/traceparts.c
libcommand_la_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS) $(LIBDW_CFLAGS) $(LIBELF_CFLAGS)
libcommand_la_LIBADD = libinjector.la $(XXHASH_LIBS) $(LIBDW_LIBS) $(LIBELF_LIBS)

noinst_LTLIBRARIES += libreport.la
libreport_la_SOURCES = \
	launcher/dump-json.c \
	launcher/dump-memory-drmemtrace.c \
	launcher/dump-memory-format.c \
	launcher/dump-memory.c \
	launcher/dump-memory.h \
	launcher/dump-text.c \
	launcher/dump.c \
	launcher/dump.h \
	launcher/graph-focus.c \
	launcher/graph-print.c \
	launcher/graph-tree.c \
	launcher/graph-walk.c \
	launcher/graph.c \
	launcher/graph.h \
	launcher/memlines.c \
	launcher/memlines.h \
	launcher/memory-data.c \
	launcher/memory-rows.c \
	launcher/memory-table.c \
	launcher/memory.c \
	launcher/memory.h \
	launcher/memprofile.c \
	launcher/memprofile.h \
	launcher/memread.c \
	launcher/memread.h \
	launcher/memtrace.c \
	launcher/memtrace.h \
	launcher/memwhere.c \
	launcher/memwhere.h \
	launcher/pick.c \
	launcher/pick.h \
	launcher/replay-line.c \
	launcher/replay-thread.c \
	launcher/replay.c \
	launcher/replay.h \
	launcher/report-collect.c \
	launcher/report-csv.c \
	launcher/report-head.c \
	launcher/report-json.c \
	launcher/report-lines.c \
	launcher/report-problems.c \
	launcher/report-rows.c \
	launcher/report-rows.h \
	launcher/report-sums.c \
	launcher/report-sums.h \
	launcher/report-table.c \
	launcher/report-thread.c \
	launcher/report-thread.h \
	launcher/report-units.c \
	launcher/report-units.h \
	launcher/report.c \
	launcher/report.h

bin_PROGRAMS += sonde
sonde_SOURCES = \
	launcher/analysis-compiled.c \
	launcher/analysis-fault.c \
	launcher/analysis-inproc.c \
	launcher/analysis-module.c \
	launcher/analysis-private.h \
	launcher/analysis-profile.c \
	launcher/analysis.c \
	launcher/analysis.h \
	launcher/anatomy.c \
	launcher/anatomy.h \
	launcher/collector-libraries.c \
	launcher/collector-memory.c \
	launcher/collector-private.h \
	launcher/collector-processes.c \
	launcher/collector-rings.c \
	launcher/collector.c \
	launcher/collector.h \
	launcher/sampler.c \
	launcher/sampler.h \
	launcher/taken.c \
	launcher/taken.h \
	launcher/disasm-text.c \
	launcher/disasm.c \
	launcher/disasm.h \
	launcher/doctor.c \
	launcher/elfcode.c \
	launcher/elfcode.h \
	launcher/functions.c \
	launcher/functions.h \
	launcher/info-memory.c \
	launcher/info.c \
	launcher/info.h \
	launcher/insntext.c \
	launcher/insntext.h \
	launcher/list-mirrored.c \
	launcher/list.c \
	launcher/list.h \
	launcher/main.c \
	launcher/metadata.c \
	launcher/metadata.h \
	launcher/module.c \
	launcher/plt.c \
	launcher/plt.h \
	launcher/record.c \
	launcher/recorded.c \
	launcher/recorded.h \
	launcher/supervise.c \
	launcher/supervise.h \
	launcher/verbs.h
sonde_LDADD = libreport.la libcommand.la libinjector.la libruntime-image.la libtracefmt.la libtrampolines.la -lm
