# SPDX-License-Identifier: GPL-3.0-or-later
noinst_LTLIBRARIES += libinjector.la
libinjector_la_SOURCES =
libinjector_la_LIBADD = libtrampolines.la libtracefmt.la $(BFD_LIBS)
