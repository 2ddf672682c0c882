# SPDX-License-Identifier: GPL-3.0-or-later
libtrampolines_la_SOURCES += \
	trampolines/memdesc.h \
	trampolines/memexpand.h \
	trampolines/memory.h \
	trampolines/x86-64/memplan.h
