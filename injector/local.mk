# SPDX-License-Identifier: GPL-3.0-or-later
noinst_LTLIBRARIES += libinjector.la
libinjector_la_SOURCES = \
	injector/analysis.c \
	injector/analysis.h \
	injector/arena.c \
	injector/arena.h \
	injector/cache.c \
	injector/codefacts.c \
	injector/codefacts.h \
	injector/codefacts_bytes.c \
	injector/codefacts_calls.c \
	injector/codefacts_cursor.c \
	injector/codefacts_file.c \
	injector/codefacts_file.h \
	injector/codefacts_frames.c \
	injector/codefacts_functions.c \
	injector/codefacts_int.h \
	injector/codefacts_names.c \
	injector/codefacts_pads.c \
	injector/codefacts_parts.c \
	injector/codefacts_slots.c \
	injector/codefacts_taken.c \
	injector/edits.c \
	injector/edits.h \
	injector/elfimage.c \
	injector/elfimage.h \
	injector/frames.c \
	injector/hooks.c \
	injector/load.c \
	injector/maps.c \
	injector/maps.h \
	injector/mirrors.c \
	injector/mirrors.h \
	injector/modules.c \
	injector/objects.c \
	injector/patch.c \
	injector/patch.h \
	injector/plan.c \
	injector/resolve.c \
	injector/session.c \
	injector/session.h \
	injector/sigsites.c \
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
