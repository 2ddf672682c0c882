# SPDX-License-Identifier: GPL-3.0-or-later
# Descriptions as machine code: in the reading process only.
libtrampolines_la_SOURCES += \
	memtrace/compile.h \
	memtrace/compile/x86-64/compile.c \
	memtrace/compile/x86-64/compile.h \
	memtrace/compile/x86-64/asm.c \
	memtrace/compile/x86-64/asm.h \
	memtrace/compile/x86-64/flags.c \
	memtrace/compile/x86-64/loop.c \
	memtrace/compile/x86-64/hot.c \
	memtrace/compile/x86-64/op.c \
	memtrace/compile/x86-64/piece.c \
	memtrace/compile/x86-64/regs.c \
	memtrace/compile/x86-64/serve.c \
	memtrace/compile/x86-64/turns.c
