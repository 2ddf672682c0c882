# SPDX-License-Identifier: GPL-3.0-or-later
# One C file is one module: list it in MODULE_FILES, sorted. It is built as sonde itself would
# build a user's file, without libtool, and installed where `-m NAME` looks.
MODULE_FILES =
MODULE_API =

sondeinclude_HEADERS += $(MODULE_API)
EXTRA_DIST += $(MODULE_FILES)
MODULE_OBJECTS = $(MODULE_FILES:.c=.so)
CLEANFILES += $(MODULE_OBJECTS)
modulesdir = $(pkglibdir)/modules
modules_DATA = $(MODULE_OBJECTS)

MODULE_CFLAGS = $(SONDE_WARN_CFLAGS) -O2 -g
MODULE_COMPILE = $(CC) -I$(top_srcdir)/modules/include $(CPPFLAGS) $(MODULE_CFLAGS) $(CFLAGS) \
	-fPIC -shared $(LDFLAGS)
modules/%.so: modules/%.c $(MODULE_API)
	@$(MKDIR_P) $(@D)
	$(AM_V_CCLD)$(MODULE_COMPILE) -o $@ $< $(MODULE_LIBS)
