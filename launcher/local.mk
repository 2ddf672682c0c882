# SPDX-License-Identifier: GPL-3.0-or-later
# libcommand.la: what the verbs have in common, and is tested by itself.
noinst_LTLIBRARIES += libcommand.la
libcommand_la_SOURCES = \
	launcher/common/files.c \
	launcher/common/files.h \
	launcher/common/installed.c \
	launcher/common/installed.h \
	launcher/common/job.c \
	launcher/common/job.h \
	launcher/common/lines.c \
	launcher/common/lines.h \
	launcher/common/message.c \
	launcher/common/message.h \
	launcher/common/options.c \
	launcher/common/options.h \
	launcher/common/tracedir.c \
	launcher/common/tracedir.h \
	launcher/common/traceparts.c \
	launcher/module/clangproto.c \
	launcher/module/dwproto.c \
	launcher/module/modbuild.c \
	launcher/module/modcache.c \
	launcher/module/modfile.c \
	launcher/module/modfile.h \
	launcher/module/modfind.c \
	launcher/module/modmpi.c \
	launcher/module/modmpi.h \
	launcher/module/modnew.c \
	launcher/module/modnew.h \
	launcher/module/modtext.c \
	launcher/module/proto.c \
	launcher/module/proto.h \
	launcher/record/perfmap.c \
	launcher/record/perfmap.h \
	launcher/record/program-elf.c \
	launcher/record/program-elf.h \
	launcher/record/program-libraries.c \
	launcher/record/program.c \
	launcher/record/program.h \
	launcher/record/record-options.c \
	launcher/record/sample-options.c \
	launcher/record/select-miss.c \
	launcher/record/select-pattern.c \
	launcher/record/select-pattern.h \
	launcher/record/select-state.h \
	launcher/record/select.c \
	launcher/record/select.h
libcommand_la_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS) $(LIBDW_CFLAGS) $(LIBELF_CFLAGS) $(LIBCLANG_CFLAGS)
libcommand_la_LIBADD = libinjector.la $(XXHASH_LIBS) $(LIBDW_LIBS) $(LIBELF_LIBS)

noinst_LTLIBRARIES += libreport.la
libreport_la_SOURCES = \
	launcher/common/pick.c \
	launcher/common/pick.h \
	launcher/common/units.c \
	launcher/common/units.h \
	launcher/dump/dump-json.c \
	launcher/dump/dump-memory-drmemtrace.c \
	launcher/dump/dump-memory-format.c \
	launcher/dump/dump-memory.c \
	launcher/dump/dump-memory.h \
	launcher/dump/dump-text.c \
	launcher/dump/dump.c \
	launcher/dump/dump.h \
	launcher/memory/memlines.c \
	launcher/memory/memlines.h \
	launcher/memory/memory-data.c \
	launcher/memory/memory-rows.c \
	launcher/memory/memory-table.c \
	launcher/memory/memory.c \
	launcher/memory/memory.h \
	launcher/memory/memprofile.c \
	launcher/memory/memprofile.h \
	launcher/memory/memtrace.c \
	launcher/memory/memtrace.h \
	launcher/memory/memwhere.c \
	launcher/memory/memwhere.h \
	launcher/report/graph-focus.c \
	launcher/report/graph-print.c \
	launcher/report/graph-tree.c \
	launcher/report/graph-walk.c \
	launcher/report/graph.c \
	launcher/report/graph.h \
	launcher/report/replay-line.c \
	launcher/report/replay-thread.c \
	launcher/report/replay.c \
	launcher/report/replay.h \
	launcher/report/report-collect.c \
	launcher/report/report-csv.c \
	launcher/report/report-head.c \
	launcher/report/report-json.c \
	launcher/report/report-lines.c \
	launcher/report/report-problems.c \
	launcher/report/report-rows.c \
	launcher/report/report-rows.h \
	launcher/report/report-sums.c \
	launcher/report/report-sums.h \
	launcher/report/report-table.c \
	launcher/report/report-thread.c \
	launcher/report/report-thread.h \
	launcher/report/report.c \
	launcher/report/report.h \
	memtrace/read/read.c \
	memtrace/read/read.h

bin_PROGRAMS += sonde
sonde_SOURCES = \
	launcher/collect/analysis-compiled.c \
	launcher/collect/analysis-fault.c \
	launcher/collect/analysis-inproc.c \
	launcher/collect/analysis-module.c \
	launcher/collect/analysis-private.h \
	launcher/collect/analysis-profile.c \
	launcher/collect/analysis.c \
	launcher/collect/analysis.h \
	launcher/collect/collector-fault.c \
	launcher/collect/collector-libraries.c \
	launcher/collect/collector-memory.c \
	launcher/collect/collector-private.h \
	launcher/collect/collector-processes.c \
	launcher/collect/collector-rings.c \
	launcher/collect/collector-shared.c \
	launcher/collect/collector.c \
	launcher/collect/collector.h \
	launcher/collect/sampler.c \
	launcher/collect/sampler.h \
	launcher/inspect/anatomy.c \
	launcher/inspect/anatomy.h \
	launcher/inspect/disasm-text.c \
	launcher/inspect/disasm.c \
	launcher/inspect/disasm.h \
	launcher/inspect/doctor.c \
	launcher/inspect/functions.c \
	launcher/inspect/functions.h \
	launcher/inspect/info-memory.c \
	launcher/inspect/info.c \
	launcher/inspect/info.h \
	launcher/inspect/insntext.c \
	launcher/inspect/insntext.h \
	launcher/inspect/list-mirrored.c \
	launcher/inspect/list.c \
	launcher/inspect/list.h \
	launcher/inspect/plt.c \
	launcher/inspect/plt.h \
	launcher/main.c \
	launcher/module/module.c \
	launcher/record/metadata.c \
	launcher/record/metadata.h \
	launcher/record/record.c \
	launcher/record/recorded.c \
	launcher/record/recorded.h \
	launcher/record/supervise.c \
	launcher/record/supervise.h \
	launcher/verbs.h
sonde_LDADD = libreport.la libcommand.la libinjector.la libruntime-image.la libtracefmt.la libmemtrace.la libtrampolines.la -lm
