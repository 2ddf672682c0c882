# SPDX-License-Identifier: GPL-3.0-or-later
libtrampolines_la_SOURCES += \
	trampolines/probe.h \
	trampolines/x86-64/probe.c \
	trampolines/x86-64/probeasm.c \
	trampolines/x86-64/probeasm.h \
	trampolines/x86-64/probefilter.c \
	trampolines/x86-64/probegen.h
