# SPDX-License-Identifier: GPL-3.0-or-later
# Unit tests of tracefmt/.
TRACEFMT_SUPPORT = tests/unit/tracefmt_support.c tests/unit/tracefmt_support.h

PURE_TESTS += tests/unit/tracefmt_damage
tests_unit_tracefmt_damage_SOURCES = tests/unit/tracefmt_damage.c $(TRACEFMT_SUPPORT)
tests_unit_tracefmt_damage_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tracefmt_damage_LDADD = libtracefmt.la $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/tracefmt_drain
tests_unit_tracefmt_drain_SOURCES = tests/unit/tracefmt_drain.c $(TRACEFMT_SUPPORT)
tests_unit_tracefmt_drain_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tracefmt_drain_LDADD = libtracefmt.la $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/tracefmt_metadata
tests_unit_tracefmt_metadata_SOURCES = tests/unit/tracefmt_metadata.c $(TRACEFMT_SUPPORT)
tests_unit_tracefmt_metadata_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_tracefmt_metadata_LDADD = libtracefmt.la $(JANSSON_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/tracefmt_roundtrip
tests_unit_tracefmt_roundtrip_SOURCES = tests/unit/tracefmt_roundtrip.c $(TRACEFMT_SUPPORT)
tests_unit_tracefmt_roundtrip_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tracefmt_roundtrip_LDADD = libtracefmt.la $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/tracefmt_stack
tests_unit_tracefmt_stack_SOURCES = tests/unit/tracefmt_stack.c $(TRACEFMT_SUPPORT)
tests_unit_tracefmt_stack_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tracefmt_stack_LDADD = libtracefmt.la $(CMOCKA_LIBS)
