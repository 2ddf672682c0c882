# SPDX-License-Identifier: GPL-3.0-or-later
libtrampolines_la_SOURCES += \
	trampolines/codemap.h \
	trampolines/mirror.h \
	trampolines/x86-64/mirror.c \
	trampolines/x86-64/mirrorcheck.c \
	trampolines/x86-64/mirrorcopy.c \
	trampolines/x86-64/mirroredges.c \
	trampolines/x86-64/mirrorgap.c \
	trampolines/x86-64/mirrorhelp.c \
	trampolines/x86-64/mirrorpatch.c \
	trampolines/x86-64/mirrorplace.c \
	trampolines/x86-64/mirrorplan.h \
	trampolines/x86-64/mirrorprobes.c \
	trampolines/x86-64/mirrorset.c
