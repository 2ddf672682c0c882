# SPDX-License-Identifier: GPL-3.0-or-later
# One fixed set of files for each architecture; SONDE_ARCH is x86_64, the only one so far.
noinst_LTLIBRARIES += libtrampolines.la
libtrampolines_la_SOURCES = \
	trampolines/keep.h \
	trampolines/reasons.c \
	trampolines/trampoline.h \
	trampolines/x86-64/checker.c \
	trampolines/x86-64/decode.c \
	trampolines/x86-64/decode.h \
	trampolines/x86-64/displace.c \
	trampolines/x86-64/displace.h \
	trampolines/x86-64/emit.c \
	trampolines/x86-64/emit.h \
	trampolines/x86-64/enclose.c \
	trampolines/x86-64/enclose.h \
	trampolines/x86-64/keep.c \
	trampolines/x86-64/keeparity.c \
	trampolines/x86-64/keeparity.h \
	trampolines/x86-64/keepbody.c \
	trampolines/x86-64/keepbody.h \
	trampolines/x86-64/keepemit.c \
	trampolines/x86-64/keepflow.c \
	trampolines/x86-64/keepflow.h \
	trampolines/x86-64/keepinsn.c \
	trampolines/x86-64/keepinsn.h \
	trampolines/x86-64/keepsites.c \
	trampolines/x86-64/keepsites.h \
	trampolines/x86-64/patch.c \
	trampolines/x86-64/plan.c \
	trampolines/x86-64/replay.c \
	trampolines/x86-64/scan.c \
	trampolines/x86-64/scan.h \
	trampolines/x86-64/section.c \
	trampolines/x86-64/stub.c
libtrampolines_la_LIBADD = $(ZYDIS_LIBS) $(OPCODES_LIBS)
include %D%/flow.mk
include %D%/memcompile.mk
include %D%/memory.mk
include %D%/mirror.mk
include %D%/probe.mk
