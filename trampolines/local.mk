# SPDX-License-Identifier: GPL-3.0-or-later
noinst_LTLIBRARIES += libtrampolines.la
libtrampolines_la_SOURCES =
libtrampolines_la_LIBADD = $(ZYDIS_LIBS)
