# SPDX-License-Identifier: GPL-3.0-or-later
# Descriptions as machine code: in the reading process only.
libtrampolines_la_SOURCES += \
	trampolines/memcompile.h \
	trampolines/x86-64/memcompile.c \
	trampolines/x86-64/memcompile.h \
	trampolines/x86-64/memcompileasm.c \
	trampolines/x86-64/memcompileasm.h \
	trampolines/x86-64/memcompileflags.c \
	trampolines/x86-64/memcompileloop.c \
	trampolines/x86-64/memcompilehot.c \
	trampolines/x86-64/memcompileop.c \
	trampolines/x86-64/memcompilepiece.c \
	trampolines/x86-64/memcompileregs.c \
	trampolines/x86-64/memcompileserve.c \
	trampolines/x86-64/memcompileturns.c
