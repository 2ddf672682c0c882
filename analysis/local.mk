# SPDX-License-Identifier: GPL-3.0-or-later
noinst_LIBRARIES += libanalysis.a
libanalysis_a_SOURCES = \
	analysis/cache/bounds.c \
	analysis/cache/bounds.h \
	analysis/cache/chain.c \
	analysis/cache/chain.h \
	analysis/cache/chain-private.h \
	analysis/cache/cores.c \
	analysis/cache/cores.h \
	analysis/cache/level.c \
	analysis/cache/level.h \
	analysis/cache/lru.c \
	analysis/cache/order.c \
	analysis/cache/order.h \
	analysis/cache/results.c \
	analysis/cache/rounds.c \
	analysis/cache/shadow.c \
	analysis/cache/shadow.h \
	analysis/cache/simulate-private.h \
	analysis/cache/simulate.c \
	analysis/cache/simulate.h \
	analysis/cache/stream.c \
	analysis/cache/stream.h \
	analysis/cache/system.c \
	analysis/cache/system.h \
	analysis/names/blocks.c \
	analysis/names/blocks.h \
	analysis/names/callee.c \
	analysis/names/commons.c \
	analysis/names/declared.c \
	analysis/names/fields.c \
	analysis/names/file.c \
	analysis/names/file-data.c \
	analysis/names/file-private.h \
	analysis/names/frame.c \
	analysis/names/heap.c \
	analysis/names/insn.c \
	analysis/names/keys.c \
	analysis/names/layout.c \
	analysis/names/layout.h \
	analysis/names/live.c \
	analysis/names/live.h \
	analysis/names/names-private.h \
	analysis/names/names.c \
	analysis/names/names.h \
	analysis/names/past.c \
	analysis/names/pointer.c \
	analysis/names/scopes.c \
	analysis/names/stack.c \
	analysis/names/thread.c \
	analysis/names/thread.h \
	analysis/names/types.c \
	analysis/sharing/collect.c \
	analysis/sharing/lines.c \
	analysis/sharing/nests.c \
	analysis/sharing/nodes.c \
	analysis/sharing/nodes.h \
	analysis/sharing/pages.c \
	analysis/sharing/pages.h \
	analysis/sharing/private.h \
	analysis/sharing/shared.c \
	analysis/sharing/sharing.h \
	analysis/sharing/windows.c \
	analysis/yaml/yamldoc.c \
	analysis/yaml/yamldoc.h
libanalysis_a_CPPFLAGS = $(AM_CPPFLAGS) $(YAML_CFLAGS) $(LIBDW_CFLAGS) $(LIBELF_CFLAGS)
ANALYSIS_LIBS = libanalysis.a $(YAML_LIBS) $(ZYDIS_LIBS) $(LIBDW_LIBS) $(LIBELF_LIBS)
EXTRA_DIST += analysis/cache/systems.yaml
