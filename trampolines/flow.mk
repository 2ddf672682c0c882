# SPDX-License-Identifier: GPL-3.0-or-later
libtrampolines_la_SOURCES += trampolines/flow.h \
	trampolines/x86-64/flow.c \
	trampolines/x86-64/flowcode.c \
	trampolines/x86-64/flowcode.h \
	trampolines/x86-64/flowends.c \
	trampolines/x86-64/flowinsn.c \
	trampolines/x86-64/flowinsn.h \
	trampolines/x86-64/flowjump.c \
	trampolines/x86-64/flowkey.c \
	trampolines/x86-64/flowkey.h \
	trampolines/x86-64/flowlive.c \
	trampolines/x86-64/flowloop.c \
	trampolines/x86-64/flowparts.c \
	trampolines/x86-64/flowpriv.h \
	trampolines/x86-64/flowscan.c \
	trampolines/x86-64/flowshards.c \
	trampolines/x86-64/flowtable.c
