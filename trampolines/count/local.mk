# SPDX-License-Identifier: GPL-3.0-or-later
libtrampolines_a_SOURCES += \
	trampolines/count/count.c \
	trampolines/count/count.h \
	trampolines/count/keep.c \
	trampolines/count/likely.c \
	trampolines/count/private.h \
	trampolines/count/solve.c \
	trampolines/count/trips.c \
	trampolines/count/weigh.c
