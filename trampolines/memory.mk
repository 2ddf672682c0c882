# SPDX-License-Identifier: GPL-3.0-or-later
# The machine: in the runtime, too. Freestanding, general registers only.
MACHINE_FILES = \
	trampolines/memdesc.h \
	trampolines/memexpand.c \
	trampolines/memexpand.h \
	trampolines/memexpandcheck.c \
	trampolines/memexpandchunk.c \
	trampolines/memexpandcode.h \
	trampolines/memexpandenter.c \
	trampolines/memexpandenter.h \
	trampolines/memexpandfast.c \
	trampolines/memexpandfast.h \
	trampolines/memexpandlive.c \
	trampolines/memexpandloop.c \
	trampolines/memexpandloop.h \
	trampolines/memexpandmachine.h \
	trampolines/memexpandops.c \
	trampolines/memexpandplace.c \
	trampolines/memexpandrun.c \
	trampolines/memexpandstride.c \
	trampolines/memshared.c \
	trampolines/memshared.h
libtrampolines_la_SOURCES += $(MACHINE_FILES) \
	trampolines/memheap.h \
	trampolines/memory.h \
	trampolines/x86-64/mememit.c \
	trampolines/x86-64/mememit.h \
	trampolines/x86-64/mememitcheck.c \
	trampolines/x86-64/mememitgate.c \
	trampolines/x86-64/mememitguess.c \
	trampolines/x86-64/mememitlabel.c \
	trampolines/x86-64/mememitnode.c \
	trampolines/x86-64/mememitplain.c \
	trampolines/x86-64/mememitstate.c \
	trampolines/x86-64/mememitstore.c \
	trampolines/x86-64/mememitturns.c \
	trampolines/x86-64/memfacts.c \
	trampolines/x86-64/memfacts.h \
	trampolines/x86-64/memfactsaccess.c \
	trampolines/x86-64/memfactsbits.c \
	trampolines/x86-64/memfactscompute.c \
	trampolines/x86-64/memfactsflags.c \
	trampolines/x86-64/memfactslanes.c \
	trampolines/x86-64/memfactsspecial.c \
	trampolines/x86-64/memplan.c \
	trampolines/x86-64/memplan.h \
	trampolines/x86-64/memplanask.c \
	trampolines/x86-64/memplandecide.c \
	trampolines/x86-64/memplandescribe.c \
	trampolines/x86-64/memplanearly.c \
	trampolines/x86-64/memplanedges.c \
	trampolines/x86-64/memplanfacts.c \
	trampolines/x86-64/memplanheaders.c \
	trampolines/x86-64/memplanpaths.c \
	trampolines/x86-64/memplanunroll.c \
	trampolines/x86-64/memplantails.c \
	trampolines/x86-64/memplanknown.c \
	trampolines/x86-64/memplanloops.c \
	trampolines/x86-64/memplannodes.c \
	trampolines/x86-64/memplanpolls.c \
	trampolines/x86-64/memplanpriv.h \
	trampolines/x86-64/memplanregs.c \
	trampolines/x86-64/memplanroom.c \
	trampolines/x86-64/memplanwant.c \
	trampolines/x86-64/memplanways.c \
	trampolines/x86-64/memplanweights.c
