# SPDX-License-Identifier: GPL-3.0-or-later
# The machine is in the runtime, too: freestanding, general registers only.
MACHINE_FILES = \
	memtrace/description.h \
	memtrace/machine.h \
	memtrace/machine/chunk.c \
	memtrace/machine/code.c \
	memtrace/machine/code.h \
	memtrace/machine/enter.c \
	memtrace/machine/enter.h \
	memtrace/machine/fast.c \
	memtrace/machine/fast.h \
	memtrace/machine/live.c \
	memtrace/machine/loop.c \
	memtrace/machine/loop.h \
	memtrace/machine/ops.c \
	memtrace/machine/place.c \
	memtrace/machine/run.c \
	memtrace/machine/state.h \
	memtrace/machine/stride.c \
	memtrace/machine/translate.c \
	memtrace/machine/verify.c \
	memtrace/machine/verify.h \
	memtrace/shared.c \
	memtrace/shared.h

noinst_LIBRARIES += libmemtrace.a
MEMTRACE_LIBS = libmemtrace.a $(TRAMPOLINES_LIBS)
libmemtrace_a_CFLAGS = $(AM_CFLAGS) -fPIC
libmemtrace_a_SOURCES = $(MACHINE_FILES) \
	memtrace/compile.h \
	memtrace/compile/x86-64/asm.c \
	memtrace/compile/x86-64/asm.h \
	memtrace/compile/x86-64/compile.c \
	memtrace/compile/x86-64/compile.h \
	memtrace/compile/x86-64/fix.c \
	memtrace/compile/x86-64/hot.c \
	memtrace/compile/x86-64/loop.c \
	memtrace/compile/x86-64/op.c \
	memtrace/compile/x86-64/piece.c \
	memtrace/compile/x86-64/regs.c \
	memtrace/compile/x86-64/serve.c \
	memtrace/heap.h
