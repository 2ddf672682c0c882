# SPDX-License-Identifier: GPL-3.0-or-later
libtrampolines_a_SOURCES += \
	trampolines/mirror/codemap.h \
	trampolines/mirror/first.h \
	trampolines/mirror/mirror.h \
	trampolines/mirror/x86-64/ahead.c \
	trampolines/mirror/x86-64/check.c \
	trampolines/mirror/x86-64/copy.c \
	trampolines/mirror/x86-64/count.c \
	trampolines/mirror/x86-64/edges.c \
	trampolines/mirror/x86-64/first.c \
	trampolines/mirror/x86-64/gap.c \
	trampolines/mirror/x86-64/help.c \
	trampolines/mirror/x86-64/mirror.c \
	trampolines/mirror/x86-64/patch.c \
	trampolines/mirror/x86-64/place.c \
	trampolines/mirror/x86-64/plan.h \
	trampolines/mirror/x86-64/probes.c \
	trampolines/mirror/x86-64/set.c \
	trampolines/mirror/x86-64/trips.c \
	trampolines/mirror/x86-64/weigh.c
