# SPDX-License-Identifier: GPL-3.0-or-later
# What runs inside the program: one freestanding object that needs no other, and its image for the
# launcher. It keeps its own flags whatever CFLAGS the user or a packager sets: a stack protector,
# a fortified call or an SSE register in here would break the program it is mapped into.
RUNTIME_FILES = $(MACHINE_FILES) \
	runtime/blocks.c \
	runtime/blocks.h \
	runtime/bytes.c \
	runtime/clock.c \
	runtime/config.h \
	runtime/dlnotify.c \
	runtime/exec.c \
	runtime/first.c \
	runtime/gate.c \
	runtime/guest/guest.c \
	runtime/guest/guest.h \
	runtime/guest/layout.h \
	runtime/mail.c \
	runtime/mail.h \
	runtime/mapped.c \
	runtime/memory/analysis-code.c \
	runtime/memory/analysis-compiled.c \
	runtime/memory/analysis-module.c \
	runtime/memory/analysis.c \
	runtime/memory/analysis.h \
	runtime/memory/batches.c \
	runtime/memory/batches.h \
	runtime/memory/memory.c \
	runtime/memory/again.h \
	runtime/memory/memory.h \
	runtime/memory/mempace.c \
	runtime/memory/memsample.c \
	runtime/memory/memsignal.c \
	runtime/memory/work.c \
	runtime/probe.c \
	runtime/probe.h \
	runtime/registry.c \
	runtime/runtime.c \
	runtime/signals/origin.c \
	runtime/signals/origin.h \
	runtime/signals/putback.c \
	runtime/signals/signals.c \
	runtime/signals/signals.h \
	runtime/signals/stepping.c \
	runtime/signals/stepping.h \
	runtime/stack.h \
	runtime/stacks/stacks.c \
	runtime/stacks/stacks.h \
	runtime/thread.h \
	runtime/under.c \
	runtime/unwind.c \
	runtime/values.c \
	runtime/values.h \
	runtime/windows.c \
	runtime/windows.h \
	runtime/writer.c \
	runtime/x86-64/cfi.c \
	runtime/x86-64/exec.S \
	runtime/x86-64/firstgate.S \
	runtime/x86-64/gate.S \
	runtime/x86-64/guestgate.S \
	runtime/x86-64/memgate.S \
	runtime/x86-64/onstack.S \
	runtime/x86-64/probegate.S \
	runtime/x86-64/saved.h \
	runtime/x86-64/sigthunks.S \
	runtime/x86-64/sys.h \
	runtime/x86-64/tables-end.S

EXTRA_PROGRAMS += runtime/sonde-runtime.so
CLEANFILES += runtime/sonde-runtime.so libruntime-image.a
runtime_sonde_runtime_so_SOURCES = $(RUNTIME_FILES)
runtime_sonde_runtime_so_CPPFLAGS = -I$(top_srcdir) -I$(top_srcdir)/modules/include
runtime_sonde_runtime_so_CFLAGS = $(SONDE_WARN_CFLAGS)
runtime_sonde_runtime_so_CCASFLAGS = -I$(top_srcdir)
runtime_sonde_runtime_so_LINK = $(CC) -nostdlib -shared -fPIC -Wl,-z,defs -Wl,-z,now \
	-Wl,-z,noexecstack -Wl,-Bsymbolic -Wl,--hash-style=sysv -Wl,--build-id=none -o $@

RUNTIME_CFLAGS = -O2 -g -ffreestanding -fPIC -mgeneral-regs-only -fno-stack-protector \
	-fvisibility=hidden -fcf-protection=none -fno-asynchronous-unwind-tables -mno-red-zone
$(runtime_sonde_runtime_so_OBJECTS): override CFLAGS = $(RUNTIME_CFLAGS)
$(runtime_sonde_runtime_so_OBJECTS): override CPPFLAGS = -U_FORTIFY_SOURCE

# sonde_runtime_image[], see runtime/image.h
EXTRA_LIBRARIES += libruntime-image.a
libruntime_image_a_SOURCES = runtime/image.S runtime/image.h
runtime/image.$(OBJEXT): runtime/sonde-runtime.so

# The guest's own program: linked dynamically, with the C library, and installed as a file, which the guest's dynamic linker
# loads.  The C library is not called but by what runs in there.
AGENT_FILES = runtime/guest/agent.c runtime/guest/layout.h
EXTRA_DIST += runtime/guest/agent.c
CLEANFILES += runtime/guest/sonde-guest
guestdir = $(pkglibdir)/guest
guest_DATA = runtime/guest/sonde-guest
AGENT_CFLAGS = $(SONDE_WARN_CFLAGS) -D_GNU_SOURCE -O2 -g -fPIC -fno-stack-protector -U_FORTIFY_SOURCE
runtime/guest/sonde-guest: $(AGENT_FILES)
	@$(MKDIR_P) $(@D)
	$(AM_V_CCLD)$(CC) -I$(top_srcdir) $(CPPFLAGS) $(AGENT_CFLAGS) -pie -nostartfiles -Wl,-z,now -Wl,-z,noexecstack \
		-Wl,--hash-style=gnu -o $@ $(top_srcdir)/runtime/guest/agent.c
