# SPDX-License-Identifier: GPL-3.0-or-later
UNIT_TESTS += tests/unit/memfacts_exec
tests_unit_memfacts_exec_SOURCES = tests/unit/memfacts_exec.c \
	tests/unit/memfacts_machine.c tests/unit/memfacts_machine.h \
	tests/unit/memfacts_rig.c tests/unit/memfacts_rig.h \
	tests/unit/trampolines_elf.c tests/unit/trampolines_elf.h \
	tests/unit/trampolines_machine.c tests/unit/trampolines_machine.h
tests_unit_memfacts_exec_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_memfacts_exec_LDADD = libtrampolines.la $(ZYDIS_LIBS) $(LIBELF_LIBS)
