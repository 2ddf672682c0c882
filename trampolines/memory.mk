# SPDX-License-Identifier: GPL-3.0-or-later
libtrampolines_la_SOURCES += \
	trampolines/memdesc.h \
	trampolines/memexpand.c \
	trampolines/memexpand.h \
	trampolines/memexpandcheck.c \
	trampolines/memexpandchunk.c \
	trampolines/memexpandcode.h \
	trampolines/memexpandlive.c \
	trampolines/memexpandmachine.h \
	trampolines/memexpandops.c \
	trampolines/memexpandplace.c \
	trampolines/memexpandrun.c \
	trampolines/memory.h \
	trampolines/x86-64/mememit.c \
	trampolines/x86-64/mememit.h \
	trampolines/x86-64/mememitcheck.c \
	trampolines/x86-64/mememitstate.c \
	trampolines/x86-64/mememitstore.c \
	trampolines/x86-64/memfacts.c \
	trampolines/x86-64/memfacts.h \
	trampolines/x86-64/memfactsaccess.c \
	trampolines/x86-64/memfactscompute.c \
	trampolines/x86-64/memfactsflags.c \
	trampolines/x86-64/memfactslanes.c \
	trampolines/x86-64/memfactsspecial.c \
	trampolines/x86-64/memplan.c \
	trampolines/x86-64/memplan.h \
	trampolines/x86-64/memplandescribe.c \
	trampolines/x86-64/memplanfacts.c \
	trampolines/x86-64/memplanknown.c \
	trampolines/x86-64/memplannodes.c \
	trampolines/x86-64/memplanpriv.h \
	trampolines/x86-64/memplanregs.c \
	trampolines/x86-64/memplanroom.c
