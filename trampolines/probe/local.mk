# SPDX-License-Identifier: GPL-3.0-or-later
libtrampolines_a_SOURCES += \
	trampolines/insn/x86-64/asm.c \
	trampolines/insn/x86-64/asm.h \
	trampolines/probe/probe.h \
	trampolines/probe/x86-64/chosen.c \
	trampolines/probe/x86-64/filter.c \
	trampolines/probe/x86-64/gen.c \
	trampolines/probe/x86-64/gen.h \
	trampolines/probe/x86-64/probe.c
