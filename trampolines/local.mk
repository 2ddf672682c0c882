# SPDX-License-Identifier: GPL-3.0-or-later
# One fixed set of files for each architecture; SONDE_ARCH is x86_64, the only one so far.
noinst_LIBRARIES += libtrampolines.a
libtrampolines_a_SOURCES = \
	trampolines/insn/x86-64/checker.c \
	trampolines/insn/x86-64/class.c \
	trampolines/insn/x86-64/class.h \
	trampolines/insn/x86-64/decode.c \
	trampolines/insn/x86-64/decode.h \
	trampolines/insn/x86-64/displace.c \
	trampolines/insn/x86-64/displace.h \
	trampolines/insn/x86-64/emit.c \
	trampolines/insn/x86-64/emit.h \
	trampolines/insn/x86-64/encode.h \
	trampolines/insn/x86-64/zydis.h \
	trampolines/reasons.c \
	trampolines/trampoline.h \
	trampolines/wrap/keep.h \
	trampolines/wrap/stackargs.h \
	trampolines/wrap/x86-64/enclose.c \
	trampolines/wrap/x86-64/enclose.h \
	trampolines/wrap/x86-64/keep.c \
	trampolines/wrap/x86-64/keeparity.c \
	trampolines/wrap/x86-64/keepcalls.c \
	trampolines/wrap/x86-64/keepcalls.h \
	trampolines/wrap/x86-64/keepemit.c \
	trampolines/wrap/x86-64/keeplive.c \
	trampolines/wrap/x86-64/patch.c \
	trampolines/wrap/x86-64/plan.c \
	trampolines/wrap/x86-64/replay.c \
	trampolines/wrap/x86-64/scan.c \
	trampolines/wrap/x86-64/scan.h \
	trampolines/wrap/x86-64/stackargs.c \
	trampolines/wrap/x86-64/stub.c
TRAMPOLINES_LIBS = libtrampolines.a $(ZYDIS_LIBS) $(OPCODES_LIBS)
include %D%/count/local.mk
include %D%/flow/local.mk
include %D%/memory/local.mk
include %D%/mirror/local.mk
include %D%/probe/local.mk
