# SPDX-License-Identifier: GPL-3.0-or-later
noinst_LIBRARIES += libtags.a
TAGS_LIBS = libtags.a
libtags_a_SOURCES = \
	tags/format.h \
	tags/read.c \
	tags/read.h

# The plugin, in C++ as GCC's headers are, by the compiler that it is for.
TAGS_PLUGIN_FILES = \
	tags/plugin/emit.cc \
	tags/plugin/follow.cc \
	tags/plugin/fortran.cc \
	tags/plugin/notes.cc \
	tags/plugin/plugin.cc \
	tags/plugin/text.cc
TAGS_PLUGIN_PARTS = \
	tags/plugin/gcc.h \
	tags/plugin/notes.h
EXTRA_DIST += $(TAGS_PLUGIN_FILES) $(TAGS_PLUGIN_PARTS)
CLEANFILES += $(TAGS_PLUGIN_FILES:.cc=.o) tags/plugin/sonde-tags.so

tagsdir = $(pkglibdir)/tags
tags_DATA =
if HAVE_GCC_PLUGIN
tags_DATA += tags/plugin/sonde-tags.so
endif

TAGS_CXXFLAGS = -std=gnu++17 -Wall -Wextra $(TAGS_WERROR) -O2 -fPIC -fno-rtti -fvisibility=hidden
$(TAGS_PLUGIN_FILES:.cc=.o): $(TAGS_PLUGIN_PARTS) tags/format.h
tags/plugin/%.o: tags/plugin/%.cc
	@$(MKDIR_P) $(@D)
	$(AM_V_CXX)$(TAGS_CXX) -I$(top_srcdir) -isystem $(TAGS_GCC_HEADERS) $(CPPFLAGS) $(TAGS_CXXFLAGS) -c -o $@ $<
tags/plugin/sonde-tags.so: $(TAGS_PLUGIN_FILES:.cc=.o)
	$(AM_V_CXXLD)$(TAGS_CXX) -shared $(LDFLAGS) -o $@ $^
