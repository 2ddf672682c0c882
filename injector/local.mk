# SPDX-License-Identifier: GPL-3.0-or-later
noinst_LTLIBRARIES += libinjector.la
libinjector_la_SOURCES = \
	injector/analysis.c \
	injector/analysis.h \
	injector/arena.c \
	injector/arena.h \
	injector/cache.c \
	injector/codefacts.h \
	injector/elfimage.c \
	injector/elfimage.h \
	injector/frames.c \
	injector/hooks.c \
	injector/load.c \
	injector/maps.c \
	injector/maps.h \
	injector/modules.c \
	injector/objects.c \
	injector/patch.c \
	injector/patch.h \
	injector/plan.c \
	injector/resolve.c \
	injector/session.c \
	injector/session.h \
	injector/status.h \
	injector/steplen.c \
	injector/symbols.c \
	injector/symbols.h \
	injector/target.c \
	injector/target.h \
	injector/text.c \
	injector/text.h \
	injector/tracee.c \
	injector/tracee.h \
	injector/unwind.c
libinjector_la_LIBADD = libtrampolines.la libtracefmt.la $(BFD_LIBS) $(XXHASH_LIBS)
