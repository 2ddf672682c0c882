# SPDX-License-Identifier: GPL-3.0-or-later
libtrampolines_a_SOURCES += trampolines/flow/flow.h \
	trampolines/flow/arrays.c \
	trampolines/flow/code.c \
	trampolines/flow/code.h \
	trampolines/flow/ends.c \
	trampolines/flow/enter.c \
	trampolines/flow/flow.c \
	trampolines/flow/live.c \
	trampolines/flow/lookup.c \
	trampolines/flow/loop.c \
	trampolines/flow/parts.c \
	trampolines/flow/private.h \
	trampolines/flow/range.c \
	trampolines/flow/shards.c \
	trampolines/flow/sites.c \
	trampolines/flow/x86-64/insn.c \
	trampolines/flow/x86-64/insn.h \
	trampolines/flow/x86-64/jump.c \
	trampolines/flow/x86-64/key.c \
	trampolines/flow/x86-64/key.h \
	trampolines/flow/x86-64/scan.c \
	trampolines/flow/x86-64/shape.c \
	trampolines/flow/x86-64/stack.c \
	trampolines/flow/x86-64/table.c
